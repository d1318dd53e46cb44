"""CountUpTo, which returns the value of a counter variable and adds 1 to it, up to a limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.errors import OutOfRangeError
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import SCALAR, of_rank
from gpugraph.ops.state.resource_variable_ops import Lowering, lowered_op

_ATTRS = {"limit": Attr("int", required=True), "T": (dtypes.int32, dtypes.int64)}


def _infer(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "The variable")
    return [SCALAR]


def _infer_handle(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.variable_shape(0), 0, "The variable")
    return [SCALAR]


def _bind(context: KernelContext, ref: Any, out: Any) -> Callable[[], Any]:
    limit = context.attrs["limit"]

    def run() -> None:
        if ref[()] >= limit:
            raise OutOfRangeError.of_no_node(f"Reached limit of {limit}")
        out[...] = ref
        np.add(ref, 1, out=ref)

    return run


_count_up_to = op(
    "CountUpTo",
    inputs="ref: Ref(T)",
    outputs="output: T",
    attrs=_ATTRS,
    infer=_infer,
    memory=OpMemory(writes=[0]),
    **numpy_kernels(Call(make=_bind)),
    grad=NO_GRADIENT,
    stateful=True,
    doc=(
        "The value of a variable, to which the op adds 1. If the value is the limit, raises "
        "OutOfRangeError and changes nothing."
    ),
)
_count_by_handle = lowered_op(
    "ResourceCountUpTo",
    Lowering("CountUpTo"),
    inputs="resource: resource",
    outputs="output: T",
    attrs=_ATTRS,
    infer=_infer_handle,
    doc=(
        "The value of a variable, to which the op adds 1, as in CountUpTo. The variable is passed "
        "as a handle."
    ),
)


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """Return the value of the scalar variable `ref`, int32 or int64, and add 1 to the variable.

    A run raises OutOfRangeError, and changes nothing, if the value is `limit`.
    """
    if getattr(ref, "_is_distributed", False):
        result: Tensor = ref._in_copies(lambda copy: count_up_to(copy, limit, name))
        return result
    if hasattr(ref, "_after_change"):
        return _count_by_handle(ref.handle, limit=limit, T=ref.dtype.base_dtype, name=name)
    return _count_up_to(ref, limit=limit, name=name)
