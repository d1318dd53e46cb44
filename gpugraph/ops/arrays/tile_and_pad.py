"""Ops that enlarge tensors: tile, and padding with a value or a mirror image."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL, NUMERIC, as_dtype
from gpugraph.base.misfit import Misfit, value_error
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.attr_values import text_of
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Arg, Call, KernelContext, Launch, OpMemory, Signature
from gpugraph.ops.arrays.reshape_and_transpose import INDEX, by_index
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of
from gpugraph.ops.framework.kernel_helpers import Pairs, copying, cuda_kernels, ints
from gpugraph.ops.framework.numpy_conversion import zero_of
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import int_argument, shape_of
from gpugraph.ops.framework.shape_functions import UNKNOWN, of_rank

Widths = list[tuple[int, int]]


# -- tile


def _infer_tile(context: InferContext) -> Sequence[TensorShape]:
    length = of_rank(context.shapes[1], 1, "multiples")[0]
    sizes = context.shapes[0].sizes
    rank = length if sizes is None else len(sizes)
    if rank is None:
        return [UNKNOWN]
    if length is not None and length != rank:
        raise Misfit(
            f"Shape must be rank {rank} but is rank {length}",
            f"Expected multiples argument to be a vector of length {rank} but got length {length}",
            detail=f"multiples has {length} entries for an input of rank {rank}",
        )
    counts = context.value(1)
    if not context.is_building and counts is not None and (counts < 0).any():
        raise ValueError(f"Expected multiples >= 0, but got {counts.tolist()}")
    times = context.value_as_shape(1).sizes
    if sizes is None or times is None:
        return [TensorShape.of((None,) * rank)]
    pairs = zip(sizes, times, strict=True)
    tiled = tuple([None if None in pair else pair[0] * pair[1] for pair in pairs])  # type: ignore[operator]
    return [TensorShape.of(tiled)]


def _tiles(signature: Signature, source: Any, out: Any) -> Pairs:
    split, once = [], []
    for count, size in zip(ints(signature.value(1)), source.shape, strict=True):
        split += [count, size]
        once += [1, size]
    return [(source.reshape(once), out.reshape(split))]


def _tile_back(op: Any, dy: Any) -> list[Any]:
    source, multiples = op.inputs
    index = multiples.dtype.base_dtype
    sizes = source.shape.sizes
    times = constant_value(multiples)
    if times is not None and sizes is not None and None not in sizes:
        pairs = np.stack([times.astype(np.int64), np.array(sizes, np.int64)], 1).reshape(-1)
        axes: Any = np.arange(0, pairs.size, 2, dtype=np.int32)
        split: Any = pairs.astype(np.int32)
    else:
        shape = raw_ops.Shape(source, out_type=index)
        split = raw_ops.Reshape(raw_ops.Pack([multiples, shape], axis=1), np.array([-1], np.int32))
        axes = raw_ops.Range(0, raw_ops.Size(split), 2)
    dx = raw_ops.Sum(raw_ops.Reshape(dy, split), axes)
    dx.set_shape(source.shape)
    return [dx, None]


_tile = op(
    "Tile",
    **by_index("input: T, multiples: Tmultiples"),
    infer=_infer_tile,
    **copying(_tiles),
    grad=_tile_back,
    doc="The input repeated multiples[i] times along dimension i.",
)


def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """Repeat `input` `multiples[i]` times along each axis i.

    Args:
      multiples: an int vector with one number for each axis. Raises ValueError if its length is
        wrong.

    >>> session.run(tf.tile([1, 2], [2]))
    array([1, 2, 1, 2], dtype=int32)
    """
    return _tile(input, int_argument(multiples), name=name)


# -- paddings


def _pairs(value: Any) -> Widths:
    flat = ints(value)
    return list(zip(flat[::2], flat[1::2], strict=True))


def _infer_padded(context: InferContext, sign: int) -> tuple[TensorShape, Widths | None]:
    rows, columns = of_rank(context.shapes[1], 2, "paddings")
    if columns not in (2, None):
        raise value_error(
            f"paddings must have two columns, but has {columns}",
            f"Dimension must be 2 but is {columns}",
        )
    sizes = context.shapes[0].sizes
    rank = rows if sizes is None else len(sizes)
    if rank is None:
        return UNKNOWN, None
    if rows not in (rank, None):
        raise Misfit(
            f"Shape must be rank {rows} but is rank {rank}",
            "The first dimension of paddings must be the rank of inputs"
            f"{shape_text(context.shapes[1])} {shape_text(sizes)}",
            detail=f"paddings has {rows} rows for an input of rank {rank}",
        )
    value = context.value(1)
    if value is None:
        return TensorShape.of((None,) * rank), None
    pairs = _pairs(value)
    if any(before < 0 or after < 0 for before, after in pairs):
        wrong = next(pair for pair in pairs if min(pair) < 0)
        message = "Paddings must be non-negative"
        raise Misfit(message, in_run=f"{message}: {wrong[0]} {wrong[1]}")
    if sizes is None:
        return TensorShape.of((None,) * rank), pairs
    padded = tuple(
        None if size is None else size + sign * (before + after)
        for size, (before, after) in zip(sizes, pairs, strict=True)
    )
    return TensorShape.of(padded), pairs


def _infer_pad(context: InferContext) -> Sequence[TensorShape]:
    return [_infer_padded(context, 1)[0]]


def _interior(array: Any, pairs: Widths) -> Any:
    """Return the view of a padded array without its paddings.

    Args:
      pairs: for each axis, the numbers of padding elements (before, after).
    """
    index = tuple(
        slice(before, size - after)
        for (before, after), size in zip(pairs, array.shape, strict=True)
    )
    return array[index + (...,)]


def _padded(signature: Signature, source: Any, *rest: Any) -> Pairs:
    *value, out = rest
    around = value[0] if value else np.array(zero_of(out.dtype), out.dtype)
    return [(around, out), (source, _interior(out, _pairs(signature.value(1))))]


def _pad_back(op: Any, dy: Any) -> list[Any]:
    source, paddings = op.inputs[:2]
    value = constant_value(paddings)
    if value is not None:
        begin: Any = value[:, 0].copy()
    else:
        begin = raw_ops.Unpack(paddings, num=2, axis=1)[0]
    dx = raw_ops.Slice(dy, begin, shape_of(source, paddings.dtype.base_dtype))
    return [dx, None] if len(op.inputs) == 2 else [dx, None, None]


_PAD: dict[str, Any] = {
    "outputs": "output: T",
    "attrs": {"T": ALL, "Tpaddings": INDEX},
    "infer": _infer_pad,
    "memory": OpMemory(host_inputs=[1]),
    **copying(_padded),
    "grad": _pad_back,
}

_pad = op(
    "Pad",
    inputs="input: T, paddings: Tpaddings",
    **_PAD,
    doc="The input with paddings[i] = (before, after) zeros along dimension i.",
)

_pad_v2 = op(
    "PadV2",
    inputs="input: T, paddings: Tpaddings, constant_values: scalar T",
    **_PAD,
    doc=(
        "The input padded along dimension i with paddings[i] = (before, after) copies of a scalar."
    ),
)


# -- mirror


def _edge(context: Any) -> int:
    """Return 0 if the border element is repeated (mode SYMMETRIC), or 1 if it is not (mode
    REFLECT).
    """
    mode = context.attrs["mode"]
    name = mode.decode() if isinstance(mode, bytes) else mode
    if name not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(f"mode must be REFLECT or SYMMETRIC, but is {name!r}")
    return int(name == "REFLECT")


def _check_mirror(inner: TensorShape, pairs: Widths | None, edge: int, result: TensorShape) -> None:
    """Raise a Misfit for a run, as TensorFlow does, if a padding is wider than the elements."""
    for axis, (size, pair) in enumerate(zip(inner.sizes or (), pairs or (), strict=False)):
        if size is not None and max(pair) > max(size - edge, 0):
            raise Misfit(
                f"Dimension {axis} of size {size} can be mirrored over {size - edge} elements, but "
                f"paddings are {pair}",
                shapes=[result],
            )


def _infer_mirror_pad(sign: int, context: InferContext) -> Sequence[TensorShape]:
    """Infer the shape of the input after adding padding (sign 1), or after removing it (sign
    -1).
    """
    shape, pairs = _infer_padded(context, sign)
    _check_mirror(context.shapes[0] if sign > 0 else shape, pairs, _edge(context), shape)
    return [shape]


def _mirrors(array: Any, pairs: Widths, edge: int) -> list[tuple[Any, Any]]:
    """Return pairs of views of a padded array: a border, and the elements that are mirrored into
    it.

    The pairs are in the order in which borders must be filled, axis by axis. The border along an
    axis includes the borders along all earlier axes, which are already filled.

    Args:
      edge: 0 if the outermost interior element is repeated, 1 if it is not.
    """
    mirrors = []
    for axis, (before, after) in enumerate(pairs):
        size = array.shape[axis]
        index = [slice(None)] * axis + [
            slice(first, length - last)
            for (first, last), length in zip(pairs[axis:], array.shape[axis:], strict=True)
        ]

        def part(start: int, stop: int, flip: bool, axis: int = axis, index: Any = index) -> Any:
            chosen = [*index[:axis], slice(start, stop), *index[axis + 1 :]]
            view = array[tuple(chosen)]
            return view[(slice(None),) * axis + (slice(None, None, -1),)] if flip else view

        if before:
            start = before + edge
            mirrors.append((part(0, before, False), part(start, start + before, True)))
        if after:
            stop = size - after - edge
            mirrors.append((part(size - after, size, False), part(stop - after, stop, True)))
    return mirrors


def _mirrored(signature: Signature, source: Any, out: Any) -> Pairs:
    pairs = _pairs(signature.value(1))
    mirrors = _mirrors(out, pairs, _edge(signature))
    return [(source, _interior(out, pairs)), *((inside, border) for border, inside in mirrors)]


def _bind_mirror_pad_grad(context: KernelContext, source: Any, out: Any) -> Callable[[], Any]:
    pairs = _pairs(context.value(1))
    whole = context.scratch(source.shape, as_dtype(source.dtype))
    interior = _interior(whole, pairs)
    mirrors = _mirrors(whole, pairs, _edge(context))[::-1]

    def run() -> None:
        np.copyto(whole, source)
        for border, inside in mirrors:
            np.add(inside, border, out=inside)
        np.copyto(out, interior)

    return run


def _merged_lines(sizes: Sequence[int], pairs: Widths) -> list[tuple[int, int, int]]:
    """Return (size, before, after) for each axis, after merging adjacent axes without padding into
    one.
    """
    lines: list[tuple[int, int, int]] = []
    for size, (before, after) in zip(sizes, pairs, strict=True):
        if not before and not after and lines and not any(lines[-1][1:]):
            lines[-1] = (lines[-1][0] * size, 0, 0)
        else:
            lines.append((size, before, after))
    return lines


def _launch_mirror_pad_grad(signature: Signature) -> list[Launch]:
    shape = signature.output_shapes[0]
    lines = _merged_lines(shape, _pairs(signature.value(1)))
    if len(lines) > 4:
        raise NotImplementedError(f"there are kernels for 4 axes, these are {len(lines)}")
    whole = [(1, 0, 0)] * (4 - len(lines)) + lines
    count = prod(shape)
    numbers = (count, _edge(signature), *(number for line in whole for number in line))
    arguments, types = (Arg(0), Arg(1), *numbers), {"T": signature.output_types[0]}
    return [Launch("gg_mirror_back", grid_of(count), (THREADS, 1, 1), arguments, types)]


_MODE = Attr("string", required=True, allowed=("REFLECT", "SYMMETRIC"))
_MIRROR: dict[str, Any] = {
    "inputs": "input: T, paddings: Tpaddings",
    "outputs": "output: T",
    "memory": OpMemory(host_inputs=[1]),
}

_mirror_pad = op(
    "MirrorPad",
    **_MIRROR,
    attrs={"T": ALL, "Tpaddings": INDEX, "mode": _MODE},
    infer=partial(_infer_mirror_pad, 1),
    **copying(_mirrored),
    grad=lambda op, dy: [raw_ops.MirrorPadGrad(dy, op.inputs[1], mode=op.attrs["mode"]), None],
    doc=(
        "The input padded by its own mirror image. In mode SYMMETRIC the mirror image "
        "includes the border element, in mode REFLECT it does not."
    ),
)

_MIRROR_PAD_GRAD = Call(make=_bind_mirror_pad_grad)
op(
    "MirrorPadGrad",
    **_MIRROR,
    attrs={"T": NUMERIC, "Tpaddings": INDEX, "mode": _MODE},
    infer=partial(_infer_mirror_pad, -1),
    **cuda_kernels("mirror_pad_gradient.cu", _launch_mirror_pad_grad, _MIRROR_PAD_GRAD),
    grad=lambda op, dy: [raw_ops.MirrorPad(dy, op.inputs[1], mode=op.attrs["mode"]), None],
    doc=(
        "The gradient of MirrorPad. The gradient of the padding is added to the gradient of the "
        "elements that it mirrors, and the padding is removed."
    ),
)


def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: Any = 0,
) -> Tensor:
    """Add elements before and after `tensor` along each axis i. `paddings[i]` is (number before,
    number after).

    Args:
      mode: CONSTANT adds copies of `constant_values`, a scalar. SYMMETRIC mirrors the tensor
        including its border element, and REFLECT mirrors it without the border element.

    >>> session.run(tf.pad([[1, 2]], [[0, 1], [1, 0]]))
    array([[0, 1, 2],
           [0, 0, 0]], dtype=int32)

    Raises ValueError if the mode is unknown. Raises ValueError if a mirrored padding is larger than
    the size of the axis, or, for REFLECT, than the size - 1.
    """
    mode = text_of("mode", mode).upper()
    if mode not in ("CONSTANT", "REFLECT", "SYMMETRIC"):
        raise ValueError(f"Unknown padding mode: {mode}")
    if mode != "CONSTANT":
        padded = _mirror_pad(tensor, paddings, mode=mode, name=name)
    elif not isinstance(constant_values, Tensor) and constant_values == 0:
        padded = _pad(tensor, paddings, name=name)
    else:
        padded = _pad_v2(tensor, paddings, constant_values, name=name)
    if padded.shape.sizes is not None and None in padded.shape.sizes:
        _set_known_sizes(padded)
    return padded


def _set_known_sizes(padded: Tensor) -> None:
    """Set the known static sizes of `padded` if the paddings are a list of numbers and tensors.

    Such a list becomes a Pack op, some of whose inputs may be constant.
    """
    source, paddings = padded.op.inputs[:2]
    if source.shape.sizes is None or paddings.op.type != "Pack" or paddings.op.attrs["axis"]:
        return
    rows = [_known_row(row) for row in paddings.op.inputs]
    if len(rows) == len(source.shape.sizes):
        pairs = zip(source.shape.sizes, rows, strict=True)
        sizes = tuple(None if None in (size, *row) else size + sum(row) for size, row in pairs)
        padded.set_shape(TensorShape.of(sizes))


def _known_row(row: Tensor) -> list[Any]:
    """Return the paddings [before, after] of one axis, with None for an unknown number.

    If the structure of `row` is unknown, return [None].
    """
    value = constant_value(row)
    if value is not None:
        return list(ints(value))
    if row.op.type != "Pack":
        return [None]
    values = [constant_value(entry) for entry in row.op.inputs]
    return [None if value is None else ints(value)[0] for value in values]
