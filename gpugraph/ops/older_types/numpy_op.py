"""Functions that declare ops whose kernel runs in NumPy on every device. The kernel may be the
kernel of another op type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.graph.inference_context import InferFunction
from gpugraph.kernel import Call
from gpugraph.ops.framework.kernel_helpers import numpy_kernels, with_attrs
from gpugraph.ops.framework.kernel_registry import find_kernel
from gpugraph.ops.framework.op_declaration import DECLARATIONS, NO_GRADIENT, op


def numpy_op(
    name: str,
    signature: str,
    attrs: dict[str, Any],
    infer: InferFunction,
    call: Call,
    doc: str,
    grad: Any = NO_GRADIENT,
    **others: Any,
) -> None:
    """Declare an op type whose kernel is `call` on every device.

    Args:
      signature: the op's inputs and outputs, such as `"x: T, y: T -> z: T"`.
      others: additional keyword arguments of `op`.
    """
    inputs, _, outputs = signature.partition("->")
    kernels = numpy_kernels(call)
    op(name, inputs=inputs, outputs=outputs, attrs=attrs, infer=infer, grad=grad, doc=doc,
       **kernels, **others)  # fmt: skip


def like(op_type: str, **attrs: Any) -> Callable[..., Any]:
    """Return a function that binds the CPU kernel of `op_type`. The function is used as the
    argument `make` of `Call`.

    Args:
      attrs: values of attrs that `op_type` has and the node does not have.
    """
    DECLARATIONS[op_type]
    entry = find_kernel(op_type, "CPU", {})
    assert entry is not None and isinstance(entry.kernel, Call) and entry.kernel.make is not None
    make = entry.kernel.make
    return lambda context, *arrays: make(with_attrs(context, attrs), *arrays)
