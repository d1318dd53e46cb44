"""Ops that copy a tensor and replace or update the copy's elements at given coordinates.

All coordinates are checked before anything is written. A run raises InvalidArgumentError if
coordinates are out of range. If several updates have the same position, they are applied in the
order in which `updates` contains them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any, Protocol

import numpy as np

from gpugraph.base.dtypes import ALL, NUMERIC, REAL
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Arg, Launch, OpMemory, Signature, Source
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.op_declaration import op, raw_ops
from gpugraph.ops.framework.public_function import public_function
from gpugraph.ops.framework.row_update_launches import (
    ADD,
    LARGER,
    SMALLER,
    SUB,
    UpdateRule,
    combine_changes,
    copy_elements,
    keep_last,
)
from gpugraph.ops.indexing import row_sources
from gpugraph.ops.indexing.coordinate_gather_scatter import (
    by_coordinates,
    check_updates,
    scattering,
)

_RULES = {
    "Update": row_sources.SET,
    "Add": row_sources.ADD,
    "Sub": row_sources.SUB,
    "Max": row_sources.MAX,
    "Min": row_sources.MIN,
}


def _infer_tensor_scatter(context: InferContext) -> Sequence[TensorShape]:
    tensor, indices, updates = context.shapes
    check_updates(tensor, indices, updates, "tensor")
    return [tensor]


def _launch_tensor_scatter(way: UpdateRule | None, signature: Signature) -> list[Launch]:
    sizes, indices = signature.input_shapes[:2]
    dtype = signature.output_types[0]
    order, changes = by_coordinates(Arg(1), signature.input_types[1], indices, sizes)
    launches = [*order, copy_elements(Arg(0), Arg(3), prod(sizes), dtype)]
    if way is None:
        return launches + keep_last(Arg(3), Arg(2), changes, dtype)
    return launches + combine_changes(Arg(3), Arg(2), changes, dtype, way)


def _update_back(op: Any, dy: Any) -> list[Any]:
    indices, updates = op.inputs[1:]
    dtensor = raw_ops.TensorScatterUpdate(dy, indices, raw_ops.ZerosLike(updates))
    return [dtensor, None, raw_ops.GatherNd(dy, indices)]


def _declare_tensor_scatter(
    what: str, combine: Any, way: UpdateRule | None, grad: Any, types: Any, doc: str
) -> Any:
    kernel = scattering(combine)
    return public_function(
        op(
            f"TensorScatter{what}",
            inputs="tensor: T, indices: Tindices, updates: T",
            outputs="output: T",
            attrs={"T": types, "Tindices": INDEX},
            infer=_infer_tensor_scatter,
            memory=OpMemory(alias={0: 0}),
            cpu=kernel,
            gpu=Source("scatter_combine.cu", partial(_launch_tensor_scatter, way), kernel),
            native=row_sources.scattered_in_tensor(_RULES[what]),
            grad=grad,
            doc=doc,
        )
    )


def _extreme_back(op: Any, dy: Any) -> list[Any]:
    """Return the gradients of TensorScatterMax or TensorScatterMin.

    The gradient of each element of the result is divided equally among the tensor's element and the
    updates, if they are equal to the result.
    """
    tensor, indices, updates = op.inputs
    result, element = op.outputs[0], dy.dtype.base_dtype
    by_tensor = raw_ops.Cast(raw_ops.Equal(tensor, result), DstT=element)
    is_extreme = raw_ops.Equal(updates, raw_ops.GatherNd(result, indices))
    by_updates = raw_ops.Cast(is_extreme, DstT=element)
    shape = raw_ops.Shape(tensor, out_type=indices.dtype.base_dtype)
    count = raw_ops.AddV2(by_tensor, raw_ops.ScatterNd(indices, by_updates, shape))
    shared = raw_ops.RealDiv(dy, count)
    slices = raw_ops.Mul(raw_ops.GatherNd(shared, indices), by_updates)
    return [raw_ops.Mul(shared, by_tensor), None, slices]


class _TensorScatter(Protocol):
    def __call__(
        self, tensor: Any, indices: Any, updates: Any, name: str | None = None
    ) -> Tensor: ...


tensor_scatter_update: _TensorScatter = _declare_tensor_scatter(
    "Update",
    None,
    None,
    _update_back,
    ALL,
    "`tensor` with `updates` at the coordinates that the last dimension of `indices` holds. "
    "updates: of shape indices.shape[:-1] + tensor.shape[indices.shape[-1]:]. Of several updates "
    "of one place the last stays. InvalidArgumentError in a run for coordinates outside.",
)
tensor_scatter_add: _TensorScatter = _declare_tensor_scatter(
    "Add",
    np.add,
    ADD,
    lambda op, dy: [dy, None, raw_ops.GatherNd(dy, op.inputs[1])],
    NUMERIC,
    "`tensor` with `updates` added in order at coordinates (see `tensor_scatter_update`).",
)
tensor_scatter_sub: _TensorScatter = _declare_tensor_scatter(
    "Sub",
    np.subtract,
    SUB,
    lambda op, dy: [dy, None, raw_ops.Neg(raw_ops.GatherNd(dy, op.inputs[1]))],
    NUMERIC,
    "`tensor` with `updates` subtracted at coordinates (see `tensor_scatter_update`).",
)
tensor_scatter_max: _TensorScatter = _declare_tensor_scatter(
    "Max",
    np.maximum,
    LARGER,
    _extreme_back,
    REAL,
    "`tensor`, or the larger `updates` at coordinates (see `tensor_scatter_update`).",
)
tensor_scatter_min: _TensorScatter = _declare_tensor_scatter(
    "Min",
    np.minimum,
    SMALLER,
    _extreme_back,
    REAL,
    "`tensor`, or the smaller `updates` at coordinates (see `tensor_scatter_update`).",
)
