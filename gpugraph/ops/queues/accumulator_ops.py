"""The ops on gradient accumulators. `gradient_accumulator` has the objects to which their handles
refer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dtypes import as_dtype
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import KernelContext
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.framework.shape_functions import no_outputs, of_rank, unknown
from gpugraph.ops.queues.gradient_accumulator import (
    AccumulatorKind,
    DenseAccumulator,
    SparseAccumulator,
)
from gpugraph.ops.queues.handle_ops import (
    SHARING,
    Run,
    handle_op,
    held_object,
    private_name,
    query_op,
    resource_name,
    resource_op,
    waiting_op,
)

_ACCUMULATED = (dtypes.float32, dtypes.float64, dtypes.float16)
_REDUCTIONS = ("MEAN", "SUM")


def _bind_accumulator(
    container: type[DenseAccumulator], op_type: str, context: KernelContext, handle: Any
) -> Run:
    attrs = context.attrs
    if attrs["reduction_type"] not in _REDUCTIONS:
        raise invalid_argument(
            f"Attr 'reduction_type' of '{op_type}' Op passed string '{attrs['reduction_type']}' "
            f"not in: {', '.join(_REDUCTIONS)}"
        )
    kind = AccumulatorKind(
        op_type, attrs["reduction_type"] == "MEAN", as_dtype(attrs["dtype"]),
        as_shape(attrs["shape"]),
    )  # fmt: skip
    accumulator = context.shared(
        *resource_name(context), lambda: container(kind, private_name(context))
    )
    if not isinstance(accumulator, container) or accumulator.kind != kind:
        raise invalid_argument(
            f"Shared conditional accumulator '{context.name}' differs from the node in kind, "
            "dtype, shape or reduction"
        )
    return lambda: handle.fill(accumulator)


for _type, _container, _what in (
    ("ConditionalAccumulator", DenseAccumulator, "dense"),
    ("SparseConditionalAccumulator", SparseAccumulator, "sparse"),
):
    resource_op(
        _type,
        partial(_bind_accumulator, _container, _type),
        f"An accumulator of {_what} gradients.",
        output="handle",
        dtype=_ACCUMULATED,
        shape=Attr("shape", required=True),
        **SHARING,  # before reduction_type: TensorFlow's order
        reduction_type=Attr("string", "MEAN", allowed=("MEAN", "SUM")),
    )


def _accumulator_of(handle: Any, dtype: Any = None) -> Any:
    accumulator = held_object(handle, DenseAccumulator, "accumulator")
    if dtype is not None and as_dtype(dtype) is not accumulator.kind.dtype:
        raise invalid_argument(
            f"An accumulator of {accumulator.kind.dtype.name} has no {as_dtype(dtype).name}"
        )
    return accumulator


def _bind_apply(context: KernelContext, handle: Any, step: Any, gradient: Any) -> Run:
    dtype = context.attrs["dtype"]
    return lambda: _accumulator_of(handle, dtype).apply(int(step[()]), gradient)


def _bind_apply_sparse(
    context: KernelContext, handle: Any, step: Any, indices: Any, values: Any, shape: Any
) -> Run:
    dtype, has_shape = context.attrs["dtype"], context.attrs["has_known_shape"]

    def apply() -> None:
        gradient = (indices, values, shape.reshape(-1).tolist() if has_shape else None)
        _accumulator_of(handle, dtype).apply(int(step[()]), gradient)

    return apply


def _bind_close(_: KernelContext, handle: Any) -> Run:
    return lambda: _accumulator_of(handle).close()


def _bind_set_step(_: KernelContext, handle: Any, step: Any) -> Run:
    return lambda: _accumulator_of(handle).set_step(int(step[()]))


def _infer_step(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[1], 0, "step")
    return no_outputs(context)


_DTYPE = {"dtype": _ACCUMULATED}
handle_op(
    "AccumulatorApplyGradient",
    _bind_apply,
    inputs="handle: resource, local_step: int64, gradient: dtype",
    doc="Adds a gradient, unless its step number is below the accumulator's step number.",
    attrs=_DTYPE,
    infer=_infer_step,
)
handle_op(
    "SparseAccumulatorApplyGradient",
    _bind_apply_sparse,
    inputs="handle: resource, local_step: int64, gradient_indices: int64, "
    "gradient_values: dtype, gradient_shape: int64",
    doc="Adds rows of a gradient, unless its step number is below the accumulator's step number.",
    attrs={**_DTYPE, "has_known_shape": Attr("bool", required=True)},
    infer=_infer_step,
)
handle_op(
    "AccumulatorSetGlobalStep",
    _bind_set_step,
    inputs="handle: resource, new_global_step: int64",
    doc=(
        "Sets the accumulator's step number. Gradients with a smaller step number are then dropped."
    ),
    infer=_infer_step,
)
handle_op("AccumulatorClose", _bind_close, "Cancel takes that wait, and later ones.")
query_op(
    "AccumulatorNumAccumulated",
    "num_accumulated: int32",
    lambda handle: _accumulator_of(handle).count,
    "Return the number of gradients collected since the last take.",
)


def _bind_take(context: KernelContext, handle: Any, required: Any) -> Run:
    dtype = context.attrs["dtype"]
    return lambda: [_accumulator_of(handle, dtype).take(int(required[()]))]


def _bind_take_sparse(context: KernelContext, handle: Any, required: Any) -> Run:
    dtype = context.attrs["dtype"]
    return lambda: _accumulator_of(handle, dtype).take(int(required[()]))


def _infer_rows(_: InferContext) -> Sequence[TensorShape]:
    return [TensorShape.of((None,)), TensorShape.of(None), TensorShape.of((None,))]


_TAKING: dict[str, Any] = {"inputs": "handle: resource, num_required: int32", "attrs": _DTYPE}
waiting_op(
    "AccumulatorTakeGradient",
    _bind_take,
    "Take the average or sum of the gradients, once there are num_required.",
    outputs="average: dtype", infer=unknown, **_TAKING,
)  # fmt: skip
waiting_op(
    "SparseAccumulatorTakeGradient",
    _bind_take_sparse,
    "Take the rows of the average or sum of the gradients, once there are num_required.",
    outputs="indices: int64, values: dtype, shape: int64", infer=_infer_rows, **_TAKING,
)  # fmt: skip
