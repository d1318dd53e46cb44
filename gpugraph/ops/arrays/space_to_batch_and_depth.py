"""Ops that move blocks of space (height and width) into channels or batches and back again.

SpaceToDepth   [b, h, w, c]          -> [b, h / n, w / n, n * n * c]
SpaceToBatchND [b, s1, ..., rest]    -> [b * prod(block), padded s1 / block1, ..., rest]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.attr_values import whole_number
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import OpMemory, Signature
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.kernel_helpers import Pairs, copying, ints
from gpugraph.ops.framework.numpy_conversion import zero_of
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import attrs_of
from gpugraph.ops.framework.shape_functions import UNKNOWN, of_rank

# -- depth

_DEPTH_ATTRS = {
    "block_size": Attr("int", required=True, minimum=2),
    "data_format": Attr("string", "NHWC", allowed=("NHWC", "NCHW", "NCHW_VECT_C")),
}


def _axes(attrs: Any) -> tuple[int, int, int]:
    """Return the indices of the axes (height, width, channels) for the attr data_format. Raises
    ValueError if data_format is NCHW_VECT_C.
    """
    form = attrs["data_format"]
    name = form.decode() if isinstance(form, bytes) else form
    if name not in ("NHWC", "NCHW"):
        raise ValueError(f"data_format must be NHWC or NCHW, but is {name}")
    return (1, 2, 3) if name == "NHWC" else (2, 3, 1)


def _block(attrs: Any) -> int:
    size: int = attrs["block_size"]
    if size < 2:
        raise ValueError(f"Block size should be > 1, but is {size}")
    return size


def _divided(size: int | None, by: int, what: str) -> int | None:
    if size is not None and size % by:
        raise Misfit(f"Dimension size must be evenly divisible by {by} but is {size}", detail=what)
    return None if size is None else size // by


def _times(size: int | None, by: int) -> int | None:
    return None if size is None else size * by


def _infer_depth(to_depth: bool, context: InferContext) -> Sequence[TensorShape]:
    sizes, block = list(of_rank(context.shapes[0], 4, "input")), _block(context.attrs)
    height, width, depth = _axes(context.attrs)
    smaller = ((height, "height"), (width, "width")) if to_depth else ((depth, "depth"),)
    for axis, what in smaller:
        by = block if to_depth else block * block
        sizes[axis] = _divided(sizes[axis], by, f"The {what}")
    for axis in (depth,) if to_depth else (height, width):
        sizes[axis] = _times(sizes[axis], block * block if to_depth else block)
    return [TensorShape.of(tuple(sizes))]


def _split_space(signature: Signature, deep: Any, wide: Any) -> tuple[Any, Any]:
    """Return views of `deep` and `wide` in which corresponding elements have the same indices.

    The axes of the views are batch, block row, block column, row within a block, column within a
    block, and channel.

    Args:
      deep: the array in which blocks were moved into channels.
      wide: the array with full height and width.
    """
    block = _block(signature.attrs)
    if _axes(signature.attrs)[2] == 3:
        batch, rows, columns, _ = deep.shape
        inner = wide.shape[3]
        split = wide.reshape(batch, rows, block, columns, block, inner).transpose(0, 1, 3, 2, 4, 5)
        return deep.reshape(batch, rows, columns, block, block, inner), split
    batch, _, rows, columns = deep.shape
    inner = wide.shape[1]
    split = wide.reshape(batch, inner, rows, block, columns, block).transpose(0, 2, 4, 3, 5, 1)
    apart = deep.reshape(batch, block, block, inner, rows, columns)
    return apart.transpose(0, 4, 5, 1, 2, 3), split


def _depth_views(to_depth: bool, signature: Signature, source: Any, out: Any) -> Pairs:
    deep, wide = (out, source) if to_depth else (source, out)
    views = _split_space(signature, deep, wide)
    return [views[::-1] if to_depth else views]


def _depth_gradient(inverse: str) -> Callable[[Any, Any], Any]:
    return lambda op, dy: getattr(raw_ops, inverse)(dy, **attrs_of(op, _DEPTH_ATTRS))


for _name, _inverse, _to_depth, _doc in (
    ("SpaceToDepth", "DepthToSpace", True, "Squares of block_size pixels as channels of a pixel."),
    ("DepthToSpace", "SpaceToDepth", False, "Channels of a pixel as squares of block_size pixels."),
):
    op(
        _name,
        inputs="input: T",
        outputs="output: T",
        attrs={"T": ALL, **_DEPTH_ATTRS},
        infer=partial(_infer_depth, _to_depth),
        **copying(partial(_depth_views, _to_depth)),
        grad=_depth_gradient(_inverse),
        doc=_doc,
    )


def space_to_depth(
    input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """Move squares of n x n pixels into channels, with n = `block_size`.

    For `data_format` NHWC, the shape [b, h, w, c] becomes [b, h / n, w / n, n * n * c]. Raises
    ValueError if height or width is not a multiple of block_size.

    >>> session.run(tf.space_to_depth(tf.ones([1, 2, 2, 1]), 2)).shape
    (1, 1, 1, 4)
    """
    return raw_ops.SpaceToDepth(input, block_size=block_size, data_format=data_format, name=name)


def depth_to_space(
    input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """Move channels into squares of n x n pixels, with n = `block_size`. This is the inverse of
    `space_to_depth`.

    Raises ValueError if the number of channels is not a multiple of the square of block_size.
    """
    return raw_ops.DepthToSpace(input, block_size=block_size, data_format=data_format, name=name)


# -- batches


def _blocks(context: Any) -> tuple[list[int], list[tuple[int, int]]] | None:
    """Return the block's sizes, and the (before, after) paddings or crops of each axis.

    Return None if these are inputs whose values are not known yet.
    """
    size = context.attrs.get("block_size")
    block = context.value(1) if size is None else np.array([size, size])
    edges = context.value(2 if size is None else 1)
    if block is None or edges is None:
        return None
    sizes, flat = list(ints(block)), ints(edges)
    pairs = list(zip(flat[::2], flat[1::2], strict=True))
    if len(pairs) != len(sizes):
        raise ValueError(f"A block of {len(sizes)} dimensions needs as many pairs: {pairs}")
    if any(size < 1 for size in sizes) or any(min(pair) < 0 for pair in pairs):
        raise ValueError(f"Blocks must be positive and edges not negative: {sizes}, {pairs}")
    return sizes, pairs


def _infer_blocks(to_batch: bool, context: InferContext) -> Sequence[TensorShape]:
    sizes, known = context.shapes[0].sizes, _blocks(context)
    if sizes is None:
        return [UNKNOWN]
    if known is None:
        by_size = "block_size" in context.attrs
        moved = 2 if by_size else of_rank(context.shapes[1], 1, "block_shape")[0]
        rest = () if moved is None else sizes[1 + moved :]
        return [TensorShape.of((*(None,) * (len(sizes) - len(rest)), *rest))]
    block, pairs = known
    count = len(block)
    if len(sizes) < 1 + count:
        raise ValueError(
            f"The input must be of rank {1 + count} at least, but is {shape_text(sizes)}"
        )
    area = prod(block)
    if to_batch:
        space = [
            _divided(None if n is None else n + sum(pair), by, "A padded size")
            for n, by, pair in zip(sizes[1:], block, pairs)
        ]
        return [TensorShape.of((_times(sizes[0], area), *space, *sizes[1 + count :]))]
    cropped = [
        None if n is None else n * by - sum(pair) for n, by, pair in zip(sizes[1:], block, pairs)
    ]
    if any(size is not None and size < 0 for size in cropped):
        raise ValueError(f"The crops {pairs} exceed the size to crop: {shape_text(sizes)}")
    batch = _divided(sizes[0], area, "The batch size")
    return [TensorShape.of((batch, *cropped, *sizes[1 + count :]))]


def _within(size: int, by: int, offset: int, before: int, count: int) -> tuple[slice, slice]:
    """Return two slices, (blocks, positions), that select the elements at `offset` in each block
    along one axis.

    The axis has `size` elements. `count` blocks of `by` elements cover the axis and its padding, of
    which `before` elements precede the axis. The first slice selects the blocks in which the
    element at `offset` is not padding. The second slice selects the positions of these elements on
    the axis.
    """
    start = offset - before
    first = max(0, -(start // by))
    last = min(count, (size - 1 - start) // by + 1)
    if last <= first:
        return slice(0, 0), slice(0, 0)
    begin = first * by + start
    return slice(first, last), slice(begin, begin + (last - first - 1) * by + 1, by)


def _block_views(to_batch: bool, signature: Signature, source: Any, out: Any) -> Pairs:
    """Return pairs (source view, target view), one for each offset in a block.

    The pair for an offset copies the elements at this offset of all blocks to their batches, or
    back to the blocks. If there is padding, an additional first pair fills the whole output with
    zeros.
    """
    known = _blocks(signature)
    assert known is not None
    block, edges = known
    small, large = (out, source) if to_batch else (source, out)
    batches = small.reshape(*block, large.shape[0], *small.shape[1:])
    space = list(zip(large.shape[1:], block, edges, small.shape[1:]))
    pairs: list[tuple[Any, Any]] = []
    if to_batch and any(sum(pair) for pair in edges):
        pairs.append((np.array(zero_of(out.dtype), out.dtype), out))
    for place in np.ndindex(*block):
        slices = [
            _within(size, by, offset, pair[0], count)
            for (size, by, pair, count), offset in zip(space, place)
        ]
        if all(part.stop > part.start for part, _ in slices):
            in_batch = batches[place][(slice(None), *(part for part, _ in slices), ...)]
            in_space = large[(slice(None), *(positions for _, positions in slices), ...)]
            pairs.append((in_space, in_batch) if to_batch else (in_batch, in_space))
    return pairs


def _blocks_gradient(inverse: str, *attrs: str) -> Callable[[Any, Any], list[Any]]:
    def gradient(op: Any, dy: Any) -> list[Any]:
        function, edges = getattr(raw_ops, inverse), op.inputs[1:]
        return [function(dy, *edges, **attrs_of(op, attrs)), *[None] * len(edges)]

    return gradient


def _infer_images(to_batch: bool, context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 4, "input")
    edges = context.shapes[1]
    if edges.sizes is not None and not edges.is_compatible_with(TensorShape.of((2, 2))):
        what = "paddings" if to_batch else "crops"
        raise ValueError(f"{what} should be a 2 x 2 matrix: {shape_text(edges)}")
    return _infer_blocks(to_batch, context)


for _name, _inverse, _edges, _index, _to_batch, _what in (
    (
        "SpaceToBatchND",
        "BatchToSpaceND",
        "paddings",
        "Tpaddings",
        True,
        "padded by zeros and made batches",
    ),
    ("BatchToSpaceND", "SpaceToBatchND", "crops", "Tidx", False, "made of batches and cropped"),
):
    op(
        _name,
        inputs=f"input: T, block_shape: Tblock_shape, {_edges}: T{_edges}",
        outputs="output: T",
        attrs={"T": ALL, "Tblock_shape": INDEX, f"T{_edges}": INDEX},
        infer=partial(_infer_blocks, _to_batch),
        memory=OpMemory(host_inputs=[1, 2]),
        **copying(partial(_block_views, _to_batch)),
        grad=_blocks_gradient(_inverse),
        doc=f"Blocks of the dimensions after the first {_what}.",
    )
    op(
        _name[:-2],
        inputs=f"input: T, {_edges}: {_index}",
        outputs="output: T",
        attrs={"T": ALL, _index: INDEX, "block_size": Attr("int", required=True, minimum=2)},
        infer=partial(_infer_images, _to_batch),
        memory=OpMemory(host_inputs=[1]),
        **copying(partial(_block_views, _to_batch)),
        grad=_blocks_gradient(_inverse[:-2], "block_size"),
        doc=f"Squares of images, [batch, height, width, depth], {_what}.",
    )


def space_to_batch_nd(
    input: Any, block_shape: Any, paddings: Any, name: str | None = None
) -> Tensor:
    """Move blocks of the M axes after the batch axis into the batch axis, which is the first axis.

    Raises ValueError if a padded size is not a multiple of the block's size.

    Args:
      block_shape: an int vector, the block's size along each of the M axes.
      paddings: ints [M, 2], the numbers of zeros that are first added before and after each axis.
    """
    return raw_ops.SpaceToBatchND(input, block_shape, paddings, name=name)


def batch_to_space_nd(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """Move batches back into blocks of the M axes after the batch axis. This is the inverse of
    `space_to_batch_nd`.

    Raises ValueError if the batch size is not a multiple of the product of `block_shape`.

    Args:
      crops: ints [M, 2], the numbers of elements to remove at the start and the end of each axis.
    """
    return raw_ops.BatchToSpaceND(input, block_shape, crops, name=name)


def space_to_batch(
    input: Any, paddings: Any, block_size: Any = None, name: str | None = None,
    block_shape: Any = None,
) -> Tensor:  # fmt: skip
    """Apply `space_to_batch_nd` to the height and width of a 4-D `input`.

    Args:
      block_size: one int for both axes. If it is None, `block_shape`, a vector of two ints, is used
        instead.
    """
    return space_to_batch_nd(input, _square(block_size, block_shape), paddings, name)


def batch_to_space(
    input: Any, crops: Any, block_size: Any, name: str | None = None, block_shape: Any = None
) -> Tensor:
    """Apply `batch_to_space_nd` to the height and width of a 4-D `input`.

    Args:
      block_size: one int for both axes. If it is None, `block_shape`, a vector of two ints, is used
        instead.

    >>> session.run(tf.batch_to_space(tf.ones([4, 1, 1, 1]), [[0, 0], [0, 0]], 2)).shape
    (1, 2, 2, 1)
    """
    return batch_to_space_nd(input, _square(block_size, block_shape), crops, name)


def _square(block_size: Any, block_shape: Any) -> Any:
    if block_size is None:
        return block_shape
    return np.full(2, whole_number("block_size", block_size), np.int64)
