"""The declaration of an op that NumPy computes on every device."""

from __future__ import annotations

from typing import Any

from gpugraph.graph.inference_context import InferFunction
from gpugraph.kernel import Call
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, op


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
    """Declares an op type; signature: its inputs and outputs, `"x: T, y: T -> z: T"`."""
    inputs, _, outputs = signature.partition("->")
    kernels = numpy_kernels(call)
    op(name, inputs=inputs, outputs=outputs, attrs=attrs, infer=infer, grad=grad, doc=doc,
       **kernels, **others)  # fmt: skip
