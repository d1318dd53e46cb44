"""Dilated windows for ops without dilation. Pixels that are `rate` apart are moved into the batch,
where they are neighbours.

input --space_to_batch_nd, padded to whole blocks--> op --batch_to_space_nd, cropped--> result
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import int32
from gpugraph.graph.attr_values import text_of, whole_number
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.arrays.space_to_batch_and_depth import batch_to_space_nd, space_to_batch_nd
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.gather import gather


def required_space_to_batch_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return the paddings of `space_to_batch_nd` and the crops of the later `batch_to_space_nd`.

    Both results are int32 [N, 2]. Raises ValueError if N is unknown, or differs between the
    arguments.

    Args:
      input_shape, block_shape: vectors of N elements.
      base_paddings: paddings [N, 2] that are always applied, by default zeros. At the end of each
        dimension, the smallest padding that gives whole blocks is added.
    """
    with op_scope(name, "required_space_to_batch_paddings", input_shape, block_shape):
        sizes = convert_to_tensor(input_shape, int32, name="input_shape")
        block = convert_to_tensor(block_shape, int32, name="block_shape")
        if block.shape.rank != 1 or block.shape[0].value is None:
            raise ValueError(f"block_shape must be a vector of known size, but is {block.shape}")
        count = int(block.shape[0].value)
        if count == 0:
            none = convert_to_tensor(np.zeros((0, 2), np.int32))
            return none, none
        sizes.shape.assert_is_compatible_with([count])
        paddings_argument = (
            np.zeros((count, 2), np.int32) if base_paddings is None else base_paddings
        )
        base = convert_to_tensor(paddings_argument, int32, name="base_paddings")
        base.shape.assert_is_compatible_with([count, 2])
        known = [constant_value(value) for value in (sizes, block, base)]
        if all(value is not None for value in known):
            return _paddings(*known)
        start, end = base[:, 0], base[:, 1]
        extra = (block - (sizes + start + end) % block) % block
        end = end + extra
        pairs = [[start[axis], end[axis]] for axis in range(count)]
        paddings = stack(pairs, name="paddings")
        return paddings, stack([[0, extra[axis]] for axis in range(count)], name="crops")


def _paddings(sizes: Any, block: Any, base: Any) -> tuple[Tensor, Tensor]:
    extra = -(sizes + base.sum(axis=1)) % block
    zeros = np.zeros_like(extra)
    paddings = np.asarray(base + np.stack([zeros, extra], 1), np.int32)
    crops = np.asarray(np.stack([zeros, extra], 1), np.int32)
    return convert_to_tensor(paddings, name="paddings"), convert_to_tensor(crops, name="crops")


def with_space_to_batch(
    input: Any,
    dilation_rate: Any,
    padding: str,
    op: Callable[[Tensor, int, str], Tensor],
    filter_shape: Any = None,
    spatial_dims: Sequence[int] | None = None,
    data_format: str | None = None,
) -> Tensor:
    """Apply `op` with windows whose elements are `dilation_rate` apart.

    Raises ValueError if a rate is below 1, if `spatial_dims` are not ascending positive numbers, if
    the padding is unknown, or if it is "SAME" and there is no `filter_shape`.

    Args:
      dilation_rate: int32 [N], a number for each of `spatial_dims`.
      spatial_dims: the dilated dimensions. By default, they are the N dimensions after the batch,
        or after batch and channels if `data_format` starts with "NC".
      op: a function that is called as op(batches, N, padding). The padding is "VALID" if any rate
        is above 1.
      filter_shape: a shape whose first N sizes are the sizes of the window. It is required if the
        padding is "SAME".
    """
    source = convert_to_tensor(input, name="input")
    rate = convert_to_tensor(dilation_rate, int32, name="dilation_rate")
    if rate.shape.rank != 1 or rate.shape[0].value is None:
        raise ValueError(f"rank of dilation_rate must be one, of known size, but is {rate.shape}")
    count = int(rate.shape[0].value)
    places = _spatial_axes(count, spatial_dims, data_format)
    known = constant_value(rate)
    if known is not None:
        if np.any(known < 1):
            raise ValueError(f"dilation_rate must be positive, but is {known.tolist()}")
        if np.all(known == 1):
            return op(source, count, padding)
    base = _base_paddings(filter_shape, count, rate if known is None else known, padding)
    paddings, crops = required_space_to_batch_paddings(_sizes_at(source, places), rate, base)
    block = _at_dimensions(rate if known is None else known, places, 1)
    batches = space_to_batch_nd(source, block, _at_dimensions(paddings, places, 0))
    result = op(batches, count, "VALID")
    return batch_to_space_nd(result, block, _at_dimensions(crops, places, 0))


def _spatial_axes(
    count: int, spatial_dims: Sequence[int] | None, data_format: str | None
) -> list[int]:
    first = 2 if text_of("data_format", data_format or "").startswith("NC") else 1
    places = (
        list(range(first, first + count))
        if spatial_dims is None
        else [whole_number("spatial_dims", axis) for axis in spatial_dims]
    )
    if places != sorted(set(places)) or any(place < 1 for place in places):
        raise ValueError(
            f"spatial_dims must be a monotonically increasing sequence of positive integers, but "
            f"is {places}"
        )
    if len(places) != count:
        raise ValueError(f"There are {count} rates for the dimensions {places}")
    return places


def _base_paddings(filter_shape: Any, count: int, rate: Any, padding: str) -> Any:
    """Return the padding [N, 2]. For "SAME", half of it is before and half after the input. For
    "VALID", the padding is 0.
    """
    if padding == "VALID":
        return np.zeros((count, 2), np.int32)
    if padding != "SAME":
        raise ValueError(f"Invalid padding method {padding!r}")
    if filter_shape is None:
        raise ValueError("filter_shape must be specified for SAME padding")
    sizes = convert_to_tensor(filter_shape, int32, name="filter_shape")
    known = constant_value(sizes)
    window = (sizes if known is None else known)[:count]
    extra = (window - 1) * rate
    start = extra // 2
    pairs = [[start[axis], extra[axis] - start[axis]] for axis in range(count)]
    return np.array(pairs, np.int32) if not isinstance(extra, Tensor) else stack(pairs)


def _sizes_at(source: Tensor, places: list[int]) -> Any:
    sizes = source.shape.sizes
    if sizes is not None and len(sizes) <= places[-1]:
        raise ValueError(f"The input has no dimension {places[-1]}, its shape is {source.shape}")
    known = [None if sizes is None else sizes[place] for place in places]
    if None not in known:
        return np.array(known, np.int32)
    return gather(shape(source), np.array(places, np.int32))


def _at_dimensions(values: Any, places: list[int], fill: int) -> Any:
    """Return a list with one value for each dimension except the batch. `values` has the values of
    the dimensions in `places`.

    All other dimensions have the value `fill`.
    """
    if places == list(range(1, 1 + len(places))):
        return values
    known = constant_value(values) if isinstance(values, Tensor) else values
    if known is not None:
        all_of = np.full((places[-1], *known.shape[1:]), fill, np.int32)
        all_of[np.array(places) - 1] = known
        return all_of
    rest = [int(size.value) for size in values.shape[1:]]
    row = np.full((1, *rest), fill, np.int32)
    rows = [reshape(values[places.index(axis)], [1, *rest]) if axis in places else row
            for axis in range(1, places[-1] + 1)]  # fmt: skip
    return concat(rows, 0)
