"""Discrete cosine transforms, mel spectra, and functions that shift spectra.

Cosine transforms are computed with Fourier transforms of twice the length. See Ahmed,
Natarajan, Rao, "Discrete cosine transform", 1974; Makhoul, "A fast cosine transform in one
and two dimensions", 1980.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import as_dtype
from gpugraph.graph.attr_values import whole_number
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.elementwise.complex_parts import complex as complex_of, real
from gpugraph.ops.elementwise.unary_functions import exp
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.numpy_conversion import constant_array
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope, size_at
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.indexing.sort_and_search import roll
from gpugraph.ops.reductions.ranges_and_running_sums import range as count_up
from gpugraph.ops.signal.fourier_transforms import irfft, rfft

# -- cosine transforms


def _check(type: int, n: int | None, axis: int, norm: str | None) -> None:
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if n is not None and whole_number("n", n) < 1:
        raise ValueError("n should be a positive integer or None")
    if type not in (1, 2, 3, 4):
        raise ValueError(f"Types I, II, III and IV (I)DCT are supported, not {type}")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization: {norm!r}, not None or 'ortho'")
    if type == 1 and norm == "ortho":
        raise ValueError("Normalization is not supported for the Type-I DCT.")


def _of_length(source: Tensor, n: int | None) -> tuple[Tensor, Any]:
    """Return the tensor with its last axis truncated or zero-padded to `n` elements, and the size
    of this axis.
    """
    size = size_at(source, -1)
    if n is None:
        return source, size
    zeros = raw_ops.ZerosLike(source[..., :1])
    if isinstance(size, Tensor):
        rank = source.shape.rank or 0
        tiles = raw_ops.Pack([*[1] * (rank - 1), raw_ops.Maximum(0, n - size)])
        return concat([source, raw_ops.Tile(zeros, tiles)], -1)[..., :n], np.array(n, np.int32)
    if n > size:
        fill = np.array([*[1] * (int(source.shape.rank or 0) - 1), n - int(size)], np.int32)
        source = concat([source, raw_ops.Tile(zeros, fill)], -1)
    return source[..., :n], np.array(n, np.int32)


def _rotations(size: Any, element: Any, sign: float) -> Any:
    """Return the vector 2 exp(i sign pi k / (2 n)) for k = 0, 1, ..., n - 1, where n is `size`.

    Args:
      element: the dtype of the real and imaginary parts.
    """
    angles = sign * cast(count_up(size), element) * math.pi * 0.5 / cast(size, element)
    return 2.0 * exp(complex_of(raw_ops.ZerosLike(angles), angles))


def _weights(size: Any, element: Any, first: float, others: float) -> Any:
    """Return a vector of `size` elements. It is `first` at position 0 and `others` elsewhere."""
    is_first = raw_ops.Equal(count_up(size), np.array(0, np.int32))
    number = element.as_numpy_dtype
    return raw_ops.SelectV2(is_first, number(first), number(others))


def dct(
    input: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the discrete cosine transform of type 1, 2, 3 or 4 along the last axis. The types are
    defined as in SciPy.

    For example, type 2 is 2 sum_i x_i cos(pi k (2 i + 1) / (2 n)).

    Raises ValueError if the type or the norm is unknown, and NotImplementedError if the axis is not
    -1.

    Args:
      n: the size to which the axis is cut or zero-padded, by default the size of the axis.
      norm: None, or "ortho", which scales the result so that type 3 inverts type 2.
    """
    _check(type, n, axis, norm)
    with op_scope(name, "dct", input):
        source = convert_to_tensor(input, name="input")
        source, size = _of_length(source, n)
        element = source.dtype.base_dtype
        root = raw_ops.Sqrt(cast(size, element)) if norm else None
        if type == 1:
            return real(rfft(concat([source, source[..., -2:0:-1]], -1)))
        if type == 2:
            return _second(source, size, root)
        if type == 3:
            return _third(source, size, root)
        spectrum, _ = _of_length(source, None)
        doubled = concat([spectrum, raw_ops.ZerosLike(spectrum)], -1)
        fourth = _second(doubled, 2 * size, None)[..., 1::2]
        return fourth if root is None else fourth * math.sqrt(0.5) / root


def _second(source: Tensor, size: Any, root: Any) -> Any:
    element = source.dtype.base_dtype
    whole = rfft(source, raw_ops.Pack([2 * size]))[..., :size]
    cosines = real(whole * _rotations(size, element, -1.0))
    if root is None:
        return cosines
    return cosines * _weights(size, element, 0.5, math.sqrt(0.5)) / root


def _third(source: Tensor, size: Any, root: Any) -> Any:
    element = source.dtype.base_dtype
    if root is None:
        scaled = source * cast(size, element)
    else:
        scaled = source * _weights(size, element, 1.0, math.sqrt(0.5)) * root
    spectrum = _rotations(size, element, 1.0) * complex_of(scaled, raw_ops.ZerosLike(scaled))
    return irfft(spectrum, raw_ops.Pack([2 * size]))[..., :size]


_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def idct(
    input: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the inverse of the `dct` of this type. See `dct` for the arguments.

    If `norm` is None, the result is the inverse multiplied by 2 n, or by 2 (n - 1) for type 1.
    """
    _check(type, n, axis, norm)
    return dct(input, _INVERSE[type], n, axis, norm, name)


# -- shifts of spectra


def _shift(x: Any, axes: Any, name: str | None, default: str, back: bool) -> Tensor:
    with op_scope(name, default, x) as scope:
        source = convert_to_tensor(x)
        if axes is None:
            rank = source.shape.rank
            if rank is None:
                raise ValueError("A tensor that is shifted along all axes must be of known rank")
            axes = np.arange(rank, dtype=np.int32)
        axes = constant_array(axes, dtypes.int32)
        halves = raw_ops.FloorDiv(raw_ops.GatherV2(raw_ops.Shape(source), axes, 0), 2)
        return roll(source, raw_ops.Neg(halves) if back else halves, axes, name=scope)


def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """Roll `x` along `axes`, by default all axes, so that the element for frequency 0 is in the
    middle.
    """
    return _shift(x, axes, name, "fftshift", False)


def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """Reverse the effect of `fftshift`: roll `x` along `axes`, by default all axes, so that the
    element in the middle is at index 0.
    """
    return _shift(x, axes, name, "ifftshift", True)


# -- mel spectra


def _mel(hertz: Any) -> Any:
    """Convert hertz to mels (O'Shaughnessy, "Speech communication", 1987)."""
    return 1127.0 * np.log(1.0 + hertz / 700.0)


def _check_mel(bins: int, rate: float, low: float, high: float, dtype: Any) -> None:
    if bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {bins}")
    if low < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {low}")
    if low >= high:
        raise ValueError(f"lower_edge_hertz {low:.1f} >= upper_edge_hertz {high:.1f}")
    if rate <= 0.0:
        raise ValueError(f"sample_rate must be positive. Got: {rate}")
    if high > rate / 2:
        raise ValueError(
            "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). "
            f"Got {high} for sample_rate: {rate}"
        )
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {dtype}")


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: int = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Return the matrix [num_spectrogram_bins, num_mel_bins] that maps spectra to mel spectra.

    The caller multiplies spectra [..., num_spectrogram_bins] by this matrix. Each column is a
    triangle over frequencies. The corners of the triangles are equally spaced in mels, from
    `lower_edge_hertz` to `upper_edge_hertz`. Raises ValueError if the edges are out of order or
    beyond half the `sample_rate`, or if the rate is known only in a run.
    """
    element = as_dtype(dtype)
    with op_scope(name, "linear_to_mel_weight_matrix"):
        if isinstance(sample_rate, Tensor):
            known = constant_value(sample_rate)
            if known is None:
                raise ValueError("sample_rate must be known")
            sample_rate = float(known)
        _check_mel(num_mel_bins, sample_rate, lower_edge_hertz, upper_edge_hertz, element)
        hertz = np.linspace(0.0, sample_rate / 2.0, num_spectrogram_bins)[1:]
        corners = np.linspace(_mel(lower_edge_hertz), _mel(upper_edge_hertz), num_mel_bins + 2)
        low, middle, high = corners[:-2], corners[1:-1], corners[2:]
        mel = _mel(hertz)[:, None]
        sides = np.minimum((mel - low) / (middle - low), (high - mel) / (high - middle))
        weights = np.pad(np.maximum(0.0, sides), [(1, 0), (0, 0)])
        return constant(weights.astype(element.as_numpy_dtype))


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Tensor:
    """Return mel frequency cepstral coefficients [..., bins] of log mel spectra [..., bins].

    They are the orthonormal cosine transform of type 2, except that the first coefficient has a
    different factor, as in the toolkit HTK. Raises ValueError if there are no bins.
    """
    with op_scope(name, "mfccs_from_log_mel_spectrograms", log_mel_spectrograms):
        source = convert_to_tensor(log_mel_spectrograms)
        bins = size_at(source, -1)
        if not isinstance(bins, Tensor) and bins == 0:
            raise ValueError("num_mel_bins must be positive. Got: 0")
        scale = raw_ops.Rsqrt(cast(bins, source.dtype) * 2.0)
        return dct(source, type=2) * scale
