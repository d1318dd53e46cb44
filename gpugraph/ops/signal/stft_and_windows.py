"""The division of signals into frames, overlap-add, windows, and short-time Fourier transforms.

Allen, "Short term spectral analysis, synthesis, and modification by discrete Fourier transform",
1977; Griffin, Lim, "Signal estimation from modified short-time Fourier transform", 1984. Each
length is an int, or a scalar tensor whose value is known only in a run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import as_dtype
from gpugraph.graph.attr_values import whole_number
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import ones
from gpugraph.ops.elementwise.unary_functions import cos
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.numpy_conversion import constant_array
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope, shape_of, size_at
from gpugraph.ops.framework.shape_functions import normalize_axis
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.reductions.ranges_and_running_sums import range as count_up
from gpugraph.ops.reductions.reduction_functions import reduce_sum
from gpugraph.ops.signal.fourier_transforms import irfft, rfft


def _length(value: Any, name: str) -> Any:
    """Return an int, or a scalar int32 tensor if the value is known only in a run.

    Raises ValueError if the value is not a scalar.
    """
    tensor = convert_to_tensor(value, name=name)
    tensor.shape.assert_has_rank(0)
    known = constant_value(tensor)
    return cast(tensor, dtypes.int32) if known is None else whole_number(name, known)


def _size(tensor: Tensor, axis: int) -> Any:
    size = size_at(tensor, axis)
    return size if isinstance(size, Tensor) else int(size)


def _vector(*sizes: Any) -> Any:
    """Return a vector of sizes, which are ints or scalar tensors. It is an array if all sizes are
    ints, otherwise a tensor.
    """
    if any(isinstance(size, Tensor) for size in sizes):
        return raw_ops.Pack([convert_to_tensor(size, dtypes.int32) for size in sizes])
    return constant_array(list(sizes), dtypes.int32)


def _larger(one: Any, other: Any) -> Any:
    if isinstance(one, Tensor) or isinstance(other, Tensor):
        return raw_ops.Maximum(one, other)
    return max(one, other)


def _pad(tensor: Tensor, after: list[Any], value: Any = 0) -> Tensor:
    """Append `after[i]` copies of `value` along each of the last len(after) axes."""
    rank = tensor.shape.rank or 0
    rows = [_vector(0, 0)] * (rank - len(after)) + [_vector(0, count) for count in after]
    filler = tensor.dtype.as_numpy_dtype(value)
    return raw_ops.PadV2(tensor, raw_ops.Pack(rows), filler)


def _with_rank(tensor: Tensor, min_rank: int) -> int:
    """Return the rank of a tensor. Raises ValueError if it is not known or below `min_rank`."""
    if tensor.shape.rank is None:
        raise ValueError("The rank of a signal must be known")
    return tensor.shape.with_rank_at_least(min_rank).rank or 0


# -- frames


def frame(
    signal: Any,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Divide `signal` along `axis` into frames. Each frame starts `frame_step` elements after the
    start of the previous frame.

    The shape of the result is signal.shape[:axis] + [frames, frame_length] + signal.shape[axis +
    1:]. Incomplete frames at the end are dropped or, if `pad_end` is true, padded with `pad_value`.
    Raises ValueError if the rank of the signal is unknown, or if a length is not a scalar. A run
    raises InvalidArgumentError if `frame_step` is 0.
    """
    with op_scope(name, "frame", signal, frame_length, frame_step, pad_value):
        source = convert_to_tensor(signal, name="signal")
        length = _length(frame_length, "frame_length")
        step = _length(frame_step, "frame_step")
        if not isinstance(step, Tensor) and step == 0:
            step = convert_to_tensor(
                0
            )  # a step of 0: the run raises the error of the division by 0
        place = normalize_axis(axis, _with_rank(source, 1))
        size = _size(source, place)
        if pad_end:
            count = -(-size // step)
            missing = _larger(0, length + step * (count - 1) - size)
            source = _pad_axis(source, missing, pad_value, place)
        else:
            count = _larger(0, 1 + (size - length) // step)
        # The gradient of gather's input is IndexedSlices, but the gradient of a signal should be
        # dense.
        source = raw_ops.Reshape(source, shape_of(source))
        starts = raw_ops.ExpandDims(count_up(count) * step, np.array(1, np.int32))
        return gather(source, starts + count_up(length), axis=place)


def _pad_axis(source: Tensor, missing: Any, value: Any, axis: int) -> Tensor:
    rank = source.shape.rank or 0
    return _pad(source, [missing, *[0] * (rank - axis - 1)], constant_number(value))


def constant_number(value: Any) -> Any:
    """Return the number in a scalar. Raises ValueError if the scalar is a tensor whose value is
    known only in a run.
    """
    known = constant_value(convert_to_tensor(value))
    if known is None or known.ndim:
        raise ValueError("The number must be known before a run")
    return known[()]


def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Tensor:
    """Add overlapping frames, [..., frames, frame_length]. Each frame starts `frame_step` elements
    after the start of the previous frame.

    The shape of the result is [..., (frames - 1) * frame_step + frame_length]. Raises ValueError if
    the rank is below 2 or unknown. Also raises ValueError if `frame_step` is not an integer scalar,
    or is known to be below 1.
    """
    with op_scope(name, "overlap_and_add", signal, frame_step):
        source = convert_to_tensor(signal, name="signal")
        rank = _with_rank(source, 2)
        _checked_step(frame_step)
        step = _length(frame_step, "frame_step")
        if not isinstance(step, Tensor) and step < 1:
            raise ValueError(f"frame_step must be at least 1. Got {step}")
        count, length = _size(source, rank - 2), _size(source, rank - 1)
        parts = -(-length // step)
        rows = count + parts
        outer = [_size(source, axis) for axis in range(rank - 2)]
        source = _pad(source, [parts, parts * step - length])
        source = raw_ops.Reshape(source, _vector(*outer, rows, parts, step))
        order = [*range(rank - 2), rank - 1, rank - 2, rank]
        source = raw_ops.Transpose(source, np.array(order, np.int32))
        source = raw_ops.Reshape(source, _vector(*outer, rows * parts, step))
        source = source[
            ..., : (rows - 1) * parts, :
        ]  # each part is shifted by one row from the previous part
        source = raw_ops.Reshape(source, _vector(*outer, parts, rows - 1, step))
        source = reduce_sum(source, -3)
        source = raw_ops.Reshape(source, _vector(*outer, (rows - 1) * step))
        return source[..., : (count - 1) * step + length]


def _checked_step(frame_step: Any) -> None:
    step = convert_to_tensor(frame_step, name="frame_step")
    step.shape.assert_has_rank(0)
    if not step.dtype.is_integer:
        raise ValueError(f"frame_step must be an integer. Got {step.dtype.name}")


# -- windows


def _raised_cosine(
    name: str | None, default: str, length: Any, periodic: Any, dtype: Any, a: float, b: float
) -> Tensor:
    """Return the vector a - b cos(2 pi i / n) of `length` elements.

    n is the length, or the length minus 1 if the length is odd or `periodic` is False.
    """
    element = as_dtype(dtype)
    if not element.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {element}")
    with op_scope(name, default, length, periodic):
        size = convert_to_tensor(length, dtypes.int32, name="window_length")
        size.shape.assert_has_rank(0)
        if constant_value(size) == 1:
            return ones([1], element)
        is_periodic = cast(convert_to_tensor(periodic, dtypes.bool, name="periodic"), dtypes.int32)
        even = 1 - raw_ops.FloorMod(size, np.array(2, np.int32), name="mod")
        last = cast(size + is_periodic * even - 1, element)
        angles = 2 * math.pi * cast(count_up(size), element) / last
        return a - b * cos(angles)


def hann_window(
    window_length: Any, periodic: Any = True, dtype: Any = dtypes.float32, name: str | None = None
) -> Tensor:
    """Return 0.5 - 0.5 cos(2 pi i / n), i = 0, 1, ..., a vector of `window_length` elements.

    As in TensorFlow, n is the length, or the length minus 1 if the length is odd or `periodic` is
    False. Raises ValueError if the dtype is not floating-point.
    """
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5, 0.5)


def hamming_window(
    window_length: Any, periodic: Any = True, dtype: Any = dtypes.float32, name: str | None = None
) -> Tensor:
    """Return 0.54 - 0.46 cos(2 pi i / n). See `hann_window` for i, n and the arguments."""
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54, 0.46)


WindowFunction = Callable[..., Any]
"""A function window_fn(length, dtype=...) that returns a vector: a factor for each element of a
frame.
"""


# -- spectra


def _whole_power(length: Any) -> Any:
    """Return the smallest power of 2 that is at least `length`, as an int, or as a tensor if
    `length` is a tensor.
    """
    if not isinstance(length, Tensor):
        return int(2 ** math.ceil(math.log2(length)))
    power = raw_ops.Ceil(raw_ops.Log(cast(length, dtypes.float32)) / math.log(2.0))
    return cast(raw_ops.Pow(np.float32(2), power), dtypes.int32)


def stft(
    signals: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: WindowFunction | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the complex spectra of frames of the real `signals` [..., samples].

    The shape of the result is [..., frames, fft_length // 2 + 1].

    Args:
      frame_length, frame_step, pad_end: see `frame`.
      fft_length: the length of the transforms, by default the smallest power of 2 that is at least
        `frame_length`.
      window_fn: a function that is called as window_fn(frame_length, dtype=...), and returns a
        vector with the factor of each element of a frame. None means no window.
    """
    with op_scope(name, "stft", signals, frame_length, frame_step):
        source = convert_to_tensor(signals, name="signals")
        _with_rank(source, 1)
        length = _length(frame_length, "frame_length")
        frames = frame(source, length, frame_step, pad_end=pad_end)
        whole = _whole_power(length) if fft_length is None else _length(fft_length, "fft_length")
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return rfft(frames, _vector(whole))


def inverse_stft(
    stfts: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: WindowFunction | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """Return real signals [..., samples] from the spectra of their frames, [..., frames, bins].

    To invert `stft`, pass `inverse_stft_window_fn(frame_step)` as `window_fn`. For the remaining
    arguments, see `stft`.
    """
    with op_scope(name, "inverse_stft", stfts):
        source = convert_to_tensor(stfts, name="stfts")
        rank = _with_rank(source, 2)
        length = _length(frame_length, "frame_length")
        whole = _whole_power(length) if fft_length is None else _length(fft_length, "fft_length")
        frames = irfft(source, _vector(whole))
        if isinstance(length, Tensor) or isinstance(whole, Tensor):
            missing = _larger(0, length - _size(frames, rank - 1))
            frames = _pad(frames, [missing])[..., :length]
        elif length > whole:
            frames = _pad(frames, [length - whole])
        elif length < whole:
            frames = frames[..., :length]
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return overlap_and_add(frames, frame_step)


def inverse_stft_window_fn(
    frame_step: Any, forward_window_fn: WindowFunction = hann_window, name: str | None = None
) -> Callable[..., Tensor]:
    """Return a function to pass as `window_fn` to `inverse_stft`, so that it inverts `stft`.

    Args:
      frame_step, forward_window_fn: the arguments `frame_step` and `window_fn` of the call of
        `stft`.
    """

    def window(frame_length: Any, dtype: Any = dtypes.float32) -> Tensor:
        with op_scope(name, "inverse_stft_window_fn", frame_length):
            length = _length(frame_length, "frame_length")
            step = _length(frame_step, "frame_step")
            forward = forward_window_fn(length, dtype=dtype)
            overlaps = -(-length // step)
            weights = _pad(raw_ops.Square(forward), [overlaps * step - length])
            weights = raw_ops.Reshape(weights, _vector(overlaps, step))
            weights = raw_ops.Tile(reduce_sum(weights, 0, True), _vector(overlaps, 1))
            weights = raw_ops.Reshape(weights, _vector(overlaps * step))
            return forward / weights[:length]

    return window
