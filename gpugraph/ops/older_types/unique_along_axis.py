"""UniqueV2 and UniqueWithCountsV2, which return the distinct slices of a tensor along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import ALL
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.kernel_helpers import ints
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.framework.shape_functions import UNKNOWN, of_rank
from gpugraph.ops.indexing.row_sources import different_elements
from gpugraph.ops.older_types.numpy_op import numpy_op


def _infer(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[1], 1, "axis")
    open_vector = TensorShape.of((None,))
    counts = [open_vector] * (context.num_outputs - 2)
    sizes, value = context.shapes[0].sizes, context.value(1)
    if sizes is None or value is None:
        slices = UNKNOWN if sizes is None else TensorShape.of((None,) * len(sizes))
        return [slices, open_vector, *counts]
    kept, axis = list(sizes), _axis_of(value, len(sizes))
    index, kept[axis] = TensorShape.of((kept[axis],)), None
    return [TensorShape.of(tuple(kept)), index, *counts]


def _axis_of(value: Any, rank: int) -> int:
    """Return the axis, which is the only element of `value`, or 0 if `value` is empty.

    Raises ValueError if there are several elements, if the axis is out of range, or if `value` is
    empty and the tensor is not a vector.
    """
    if len(value) > 1:
        raise ValueError(f"axis does not support input tensors larger than 1 elements: {value}")
    if not len(value):
        if rank != 1:
            raise ValueError(f"unique expects a 1D vector, but the rank is {rank}")
        return 0
    axis = ints(value)[0]
    if not -rank <= axis < rank:
        raise ValueError(f"axis has to be between [0, {rank}), but is {axis}")
    return axis % rank


def _bind(context: KernelContext, x: Any, axis: Any) -> Callable[[], list[Any]]:
    index_type = context.output_types[1].as_numpy_dtype
    counts = len(context.output_types) > 2

    def run() -> list[Any]:
        try:
            rows = np.moveaxis(x, _axis_of(axis, x.ndim), 0)
        except ValueError as error:
            raise invalid_argument(str(error)) from error
        places: dict[Any, int] = {}
        keys = [tuple(row) for row in rows.reshape(len(rows), prod(rows.shape[1:])).tolist()]
        index = np.array([places.setdefault(key, len(places)) for key in keys], index_type)
        first = np.unique(index, return_index=True)[1]
        result = [np.moveaxis(rows[first], 0, _axis_of(axis, x.ndim)), index]
        if counts:
            result.append(np.bincount(index, minlength=len(places)).astype(index_type))
        return result

    return run


for _name, _extra_outputs, _what in (
    ("UniqueV2", "", "the index of each slice among them."),
    ("UniqueWithCountsV2", ", count: out_idx", "the index of each slice, and how often each is."),
):
    numpy_op(
        _name, f"x: T, axis: Taxis -> y: T, idx: out_idx{_extra_outputs}", {
            "T": ALL, "Taxis": INDEX, "out_idx": Attr("type", dtypes.int32, allowed=INDEX),
        }, _infer,
        Call(make=_bind, dynamic=True),
        f"The distinct slices along `axis` (a vector of one number, or of none for a vector x) "
        f"in order of appearance, {_what}",
        native=different_elements(with_axis=True),
    )  # fmt: skip
