"""Pooling by a fractional ratio, which divides each axis into windows of two sizes in random order.

B. Graham, "Fractional max-pooling", 2014. The same seed gives the same windows as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import ceil, prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import float32, float64, int32, int64
from gpugraph.base.errors import invalid_argument
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.random.philox import Philox
from gpugraph.ops.random.seeds_and_streams import SEED_ATTRS, Stream, stream_of

_TYPES = (float32, float64, int32, int64)
_OVERLAPPING = {"overlapping": Attr("bool", False), "T": _TYPES}


# -- windows


def _share(place: Philox) -> float:
    """Return a float in [0, 1) with 52 random bits, which are taken from the next two words
    (uint32) of the generator.
    """
    high, low = (int(word) for word in place.words(2))
    return float(((high & 0xFFFFF) << 32 | low) / 2**52)


def _pseudo_random(size: int, count: int, stream: Stream) -> Any:
    """Return the sizes of `count` windows that cover `size` elements and differ by at most 1.

    Window i starts at ceil(alpha (i + u)), where alpha = size / count. u is a random number that is
    the same for all windows.
    """
    alpha, smallest = size / count, size // count
    largest_share = min((smallest + 2) / alpha - 1, (size + 1 - smallest) / alpha - (count - 1))
    share = _share(stream.reserve(1)) * largest_share
    starts = [1, *(ceil(alpha * (index + share)) for index in range(1, count)), size + 1]
    return np.diff(starts)


def _in_random_order(size: int, count: int, stream: Stream) -> Any:
    sizes = [size // count + (index < size % count) for index in range(count)]
    words = stream.reserve(-(-count // 4)).words(count).tolist()
    for index in range(count - 1):
        other = index + words[index] % (count - index)
        sizes[index], sizes[other] = sizes[other], sizes[index]
    return np.array(sizes)


def _starts(size: int, count: int, pseudo_random: bool, stream: Stream) -> Any:
    """Return the starts of `count` windows that cover `size` elements, and the end of the last
    window.
    """
    if size % count == 0:
        sizes: Any = np.full(count, size // count)
    else:
        choose = _pseudo_random if pseudo_random else _in_random_order
        sizes = choose(size, count, stream)
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _windows(starts: Any, overlapping: bool, size: int) -> list[slice]:
    """Return the windows along one dimension. If `overlapping` is true, each window includes the
    first element of the next window.
    """
    return [slice(int(start), min(int(end) + overlapping, size)) for start, end in pairwise(starts)]


def _places(rows: Any, columns: Any, overlapping: bool, image: Any) -> Any:
    """Yield (slices of the output, slices of the images) for each window.

    Raises InvalidArgumentError if a window is empty or not inside the images.

    Args:
      image: an array of shape [batch, height, width, depth].
      rows, columns: the starts of the windows along each axis, and the end of the last window.
    """
    _check_starts("row_pooling_sequence", rows, image.shape[1])
    _check_starts("col_pooling_sequence", columns, image.shape[2])
    down = _windows(rows, overlapping, image.shape[1])
    across = _windows(columns, overlapping, image.shape[2])
    for i, row in enumerate(down):
        for j, column in enumerate(across):
            yield (slice(None), i, j), (slice(None), row, column)


def _check_starts(name: str, starts: Any, size: int) -> None:
    if starts.size and (starts[0] < 0 or starts[-1] > size or (np.diff(starts) <= 0).any()):
        raise invalid_argument(f"{name} must grow from 0 on up to {size}, got {starts.tolist()}")


# -- forward


def _infer(context: InferContext) -> Sequence[TensorShape]:
    sizes = of_rank(context.shapes[0], 4, "value")
    ratio = list(context.attrs["pooling_ratio"])
    if len(ratio) != 4:
        raise ValueError(f"pooling_ratio field must specify 4 dimensions: {ratio}")
    outside = {ratio[0], ratio[3]}
    if outside != {1}:
        raise ValueError(
            "Fractional pooling is not yet supported on the batch nor channel dimension: "
            f"pooling_ratio {ratio}"
        )
    if min(ratio) < 1:
        raise ValueError(f"pooling_ratio cannot be smaller than 1, got: {min(ratio)}")
    pooled = tuple(None if n is None else int(n / by) for n, by in zip(sizes, ratio))
    bounds = [TensorShape.of((None if n is None else n + 1,)) for n in pooled[1:3]]
    return [TensorShape.of(pooled), *bounds]


def _infer_max_grad(context: InferContext) -> Sequence[TensorShape]:
    image = TensorShape.of(of_rank(context.shapes[0], 4, "orig_input"))
    _check_slopes(context, image, ("orig_output", "out_backprop"))
    return [image]


def _infer_mean_grad(context: InferContext) -> Sequence[TensorShape]:
    image = context.value_as_shape(0)
    if image.sizes is None:
        image = TensorShape.of((None,) * 4)
    _check_slopes(context, image, ("out_backprop",))
    return [image]


def _check_slopes(context: InferContext, image: TensorShape, names: Sequence[str]) -> None:
    """Raise a Misfit, which is an error only in a run, unless the inputs called `names` have the
    shape of the pooled images.

    Args:
      image: the shape of the images.
      names: the names of the inputs that follow the first input.
    """
    sizes = image.sizes or ()
    if len(sizes) != 4:
        message = f"orig_input_tensor_shape must hold 4 sizes, got {shape_text(image)}"
        raise Misfit(message, shapes=[image])
    lengths = [shape.sizes[0] if shape.sizes else None for shape in context.shapes[-2:]]
    windows = [None if length is None else length - 1 for length in lengths]
    pooled = TensorShape.of((sizes[0], *windows, sizes[3]))
    for name, shape in zip(names, context.shapes[1:]):
        if shape.rank not in (None, 4):
            message = f"{name} must be 4-dimensional, got shape {shape_text(shape)}"
            raise Misfit(message, shapes=[image])
        if not shape.is_compatible_with(pooled):
            message = (
                f"{name} has shape {shape_text(shape)}, but the images and the pooling sequences "
                f"give {shape_text(pooled)}"
            )
            raise Misfit(message, shapes=[image])


def _largest(part: Any, _: Any) -> Any:
    return part.max((1, 2))


def _mean(part: Any, dtype: Any) -> Any:
    count = part.shape[1] * part.shape[2]
    total = part.sum((1, 2))
    if dtype.kind == "i":  # integers are rounded towards zero, as C's division does
        return np.trunc(total / count).astype(dtype)
    return total / count


def _bind(reduce: Callable[[Any, Any], Any]) -> Callable[..., Callable[[], Any]]:
    def bind(
        context: KernelContext, x: Any, out: Any, rows: Any, columns: Any
    ) -> Callable[[], Any]:
        attrs, stream = context.attrs, stream_of(context)
        fixed = context.attrs["deterministic"]
        kept: list[Any] = []

        def run() -> None:
            if not (fixed and kept):
                kept[:] = [
                    _starts(size, count, attrs["pseudo_random"], stream)
                    for size, count in zip(x.shape[1:3], out.shape[1:3])
                ]
            np.copyto(rows, kept[0])
            np.copyto(columns, kept[1])
            for window, place in _places(kept[0], kept[1], attrs["overlapping"], x):
                out[window] = reduce(x[place], out.dtype)

        return run

    return bind


# -- backward


def _max_grad(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    x, _, slopes, rows, columns, out = arrays

    def run() -> None:
        out.fill(0)
        for window, place in _places(rows, columns, context.attrs["overlapping"], x):
            part, target = x[place], out[place]
            flat = part.transpose(0, 3, 1, 2).reshape(*part.shape[::3], prod(part.shape[1:3]))
            down, across = np.unravel_index(flat.argmax(-1), part.shape[1:3])
            batch, depth = np.indices(flat.shape[:2])
            target[batch, down, across, depth] += slopes[window]

    return run


def _mean_grad(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
    slopes, rows, columns, out = arrays
    whole = out.dtype.kind == "i"

    def run() -> None:
        out.fill(0)
        for window, place in _places(rows, columns, context.attrs["overlapping"], out):
            target = out[place]
            share = slopes[window][:, None, None] / (target.shape[1] * target.shape[2])
            target += np.trunc(share).astype(out.dtype) if whole else share

    return run


def _max_back(op: Any, slope: Any, *_: Any) -> Any:
    pooled, rows, columns = op.outputs
    return raw_ops.FractionalMaxPoolGrad(
        op.inputs[0], pooled, slope, rows, columns, overlapping=op.attrs["overlapping"]
    )


def _mean_back(op: Any, slope: Any, *_: Any) -> Any:
    shape = raw_ops.Shape(op.inputs[0], out_type=int64)
    result = raw_ops.FractionalAvgPoolGrad(
        shape, slope, *op.outputs[1:], overlapping=op.attrs["overlapping"]
    )
    result.set_shape(op.inputs[0].shape)
    return result


for _name, _reduce, _gradient, _what in (
    ("FractionalMaxPool", _largest, _max_back, "largest elements"),
    ("FractionalAvgPool", _mean, _mean_back, "means"),
):
    op(
        _name,
        inputs="value: T",
        outputs="output: T, row_pooling_sequence: int64, col_pooling_sequence: int64",
        attrs={
            "pooling_ratio": Attr("list(float)", required=True, minimum=4),
            "pseudo_random": Attr("bool", False),
            **_OVERLAPPING,
            "deterministic": Attr("bool", False),
            **SEED_ATTRS,
        },
        stateful=True,
        infer=_infer,
        grad=_gradient,
        **numpy_kernels(Call(make=_bind(_reduce))),
        doc=f"The {_what} of windows of images, [batch, height, width, depth], whose sizes are "
        "random, and the windows' bounds.",
    )
_BACKWARD: tuple[dict[str, Any], ...] = (
    {
        "name": "FractionalMaxPoolGrad",
        "inputs": "orig_input: T, orig_output: T",
        "infer": _infer_max_grad,
        "doc": "at the first largest element of each window.",
        **numpy_kernels(Call(make=_max_grad)),
    },
    {
        "name": "FractionalAvgPoolGrad",
        "inputs": "orig_input_tensor_shape: vector int64",
        "infer": _infer_mean_grad,
        "memory": OpMemory(host_inputs=[0]),
        "doc": "equally to the elements of each window.",
        **numpy_kernels(Call(make=_mean_grad)),
    },
)
for _declared in _BACKWARD:
    _windows_given = (
        "out_backprop: T, row_pooling_sequence: vector int64, col_pooling_sequence: vector int64"
    )
    _declared["inputs"] += f", {_windows_given}"
    _declared["doc"] = f"The gradient of {_declared['name'][:-4]}: {_declared['doc']}"
    op(**_declared, outputs="output: T", attrs=_OVERLAPPING, grad=NO_GRADIENT)


def _pooled(op_type: str, value: Any, ratio: Any, seed: int, seed2: int, **attrs: Any) -> Any:
    return getattr(raw_ops, op_type)(value, pooling_ratio=ratio, seed=seed, seed2=seed2, **attrs)


def fractional_max_pool(
    value: Any,
    pooling_ratio: Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Any:
    """Pool images [batch, height, width, depth] by windows of two sizes, in random order.

    The output has int(height / ratio) rows and int(width / ratio) columns. Each element is the
    maximum of one window in one channel.

    Args:
      pooling_ratio: [1, ratio of heights, ratio of widths, 1], each 1 or more.
      pseudo_random: whether a single random number determines the order of the windows' sizes, so
        that they alternate evenly. Otherwise the sizes are shuffled.
      overlapping: whether neighbouring windows both contain the elements on their common edge.
      deterministic: whether the windows are the same in each run of a session.
      seed, seed2: the op's two seeds. If both are 0, the windows differ between sessions.

    Returns:
      (output, row_pooling_sequence, col_pooling_sequence). The sequences, int64, are the windows'
        starts and the end of the last window.
    """
    return _pooled(
        "FractionalMaxPool", value, pooling_ratio, seed, seed2, pseudo_random=pseudo_random,
        overlapping=overlapping, deterministic=deterministic, name=name,
    )  # fmt: skip


def fractional_avg_pool(
    value: Any,
    pooling_ratio: Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> Any:
    """Pool images in the same way as `fractional_max_pool`, but return the mean of each window."""
    return _pooled(
        "FractionalAvgPool", value, pooling_ratio, seed, seed2, pseudo_random=pseudo_random,
        overlapping=overlapping, deterministic=deterministic, name=name,
    )  # fmt: skip
