"""Declarations of ops that NumPy computes on every device, possibly by the kernel of another op."""

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
    """Declare an op type; signature: its inputs and outputs, `"x: T, y: T -> z: T"`."""
    inputs, _, outputs = signature.partition("->")
    kernels = numpy_kernels(call)
    op(name, inputs=inputs, outputs=outputs, attrs=attrs, infer=infer, grad=grad, doc=doc,
       **kernels, **others)  # fmt: skip


def like(op_type: str, **attrs: Any) -> Callable[..., Any]:
    """Return a `make` of `Call` that binds the CPU kernel of another op type.

    attrs: of that op type, in addition to those of the node.
    """
    DECLARATIONS[op_type]
    entry = find_kernel(op_type, "CPU", {})
    assert entry is not None and isinstance(entry.kernel, Call) and entry.kernel.make is not None
    make = entry.kernel.make
    return lambda context, *arrays: make(with_attrs(context, attrs), *arrays)
