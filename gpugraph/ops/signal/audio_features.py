"""AudioSpectrogram and Mfcc: features of recordings for the recognition of speech.

Sources: Davis and Mermelstein, Comparison of Parametric Representations for Monosyllabic Word
Recognition (1980), and the HTK Book, for the mel scale and the bank of triangular filters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument as refusal
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import of_rank

_HOST = HostOnly("features of recordings are computed by the host, in double precision")
_FLOOR = 1e-12


def _bins(window_size: int) -> int:
    """Return the number of frequencies. The length of the Fourier transform is `window_size`,
    rounded up to a power of 2.
    """
    return 1 + (1 << (window_size - 1).bit_length()) // 2


def _infer_spectrogram(context: InferContext) -> Sequence[TensorShape]:
    length, channels = of_rank(context.shapes[0], 2, "input")
    window, stride = context.attrs["window_size"], context.attrs["stride"]
    if window < 2:
        raise ValueError(f"Window size must be >= 2, got {window}")
    if stride <= 0:
        raise ValueError(f"Stride must be strictly positive, got {stride}")
    frames = None if length is None else max(0, (length - window) // stride + 1)
    return [TensorShape.of((channels, frames, _bins(window)))]


def _bind_spectrogram(context: KernelContext, input: Any, out: Any) -> Callable[[], Any]:
    window, stride = context.attrs["window_size"], context.attrs["stride"]
    is_squared = context.attrs["magnitude_squared"]
    weights = 0.5 - 0.5 * np.cos(2 * math.pi * np.arange(window) / window)
    length = 2 * (out.shape[2] - 1)

    def run() -> None:
        if out.shape[1]:
            slices = np.lib.stride_tricks.sliding_window_view(input, window, axis=0)[::stride]
            spectrum = np.fft.rfft(slices.astype(np.float64) * weights, length)
            squares = spectrum.real**2 + spectrum.imag**2
            values = squares if is_squared else np.sqrt(squares)
            out[...] = values.transpose(1, 0, 2)

    return run


audio_spectrogram_op = op(
    "AudioSpectrogram",
    inputs="input: float32",
    outputs="spectrogram: float32",
    attrs={
        "window_size": Attr("int", required=True),
        "stride": Attr("int", required=True),
        "magnitude_squared": Attr("bool", False),
    },
    infer=_infer_spectrogram,
    cpu=Call(make=_bind_spectrogram),
    gpu=_HOST,
    grad=NO_GRADIENT,
    doc="The spectra [channels, frames, frequencies] of Hann windows of samples [n, channels].",
)


def _infer_mfcc(context: InferContext) -> Sequence[TensorShape]:
    channels, frames, _ = of_rank(context.shapes[0], 3, "spectrogram")
    of_rank(context.shapes[1], 0, "sample_rate")
    return [TensorShape.of((channels, frames, context.attrs["dct_coefficient_count"]))]


def _mel(frequency: Any) -> Any:
    return 1127.0 * np.log1p(frequency / 700.0)


def mel_filters(bins: int, rate: float, count: int, lower: float, upper: float) -> Any:
    """Return the weights [bins, count] of triangular filters, equally spaced on the mel scale."""
    low, high = _mel(lower), _mel(upper)
    centers = low + (high - low) / (count + 1) * np.arange(count + 2)
    step = 0.5 * rate / (bins - 1)
    numbers = np.arange(bins)
    used = (numbers >= int(1.5 + lower / step)) & (numbers <= int(upper / step))
    mel = _mel(numbers * step)
    left = np.searchsorted(centers, mel, side="left") - 1
    weights = np.zeros((bins, count + 2))
    rows = numbers[used & (left >= 0) & (left <= count)]
    starts = left[rows]
    share = (centers[starts + 1] - mel[rows]) / (centers[starts + 1] - centers[starts])
    weights[rows, starts], weights[rows, starts + 1] = share, 1 - share
    return weights[:, 1:-1]


def _check_bank(attrs: Any, bins: int) -> None:
    lower, upper = attrs["lower_frequency_limit"], attrs["upper_frequency_limit"]
    if lower < 0 or upper <= lower or bins < 2:
        raise refusal(f"Mfcc initialization failed: the limits are {lower} and {upper}")
    if attrs["dct_coefficient_count"] > attrs["filterbank_channel_count"]:
        raise refusal(
            "Mfcc initialization failed: dct_coefficient_count must be at most "
            f"filterbank_channel_count, but is {attrs['dct_coefficient_count']}"
        )


def _bind_mfcc(
    context: KernelContext, spectrogram: Any, sample_rate: Any, out: Any
) -> Callable[[], Any]:
    attrs, bins = context.attrs, spectrogram.shape[2]
    count, coefficients = attrs["filterbank_channel_count"], attrs["dct_coefficient_count"]
    places = np.outer(np.arange(count) + 0.5, np.arange(coefficients)) * math.pi / count
    cosines = math.sqrt(2.0 / count) * np.cos(places)

    def run() -> None:
        _check_bank(attrs, bins)
        if int(sample_rate) <= 0:
            raise refusal(f"sample_rate must be positive, got {int(sample_rate)}")
        limits = attrs["lower_frequency_limit"], attrs["upper_frequency_limit"]
        bank = mel_filters(bins, float(sample_rate), count, *limits)
        energies = np.sqrt(spectrogram.astype(np.float64)) @ bank
        out[...] = np.log(np.maximum(energies, _FLOOR)) @ cosines

    return run


mfcc_op = op(
    "Mfcc",
    inputs="spectrogram: float32, sample_rate: int32",
    outputs="output: float32",
    attrs={
        "upper_frequency_limit": Attr("float", 4000.0),
        "lower_frequency_limit": Attr("float", 20.0),
        "filterbank_channel_count": Attr("int", 40),
        "dct_coefficient_count": Attr("int", 13),
    },
    infer=_infer_mfcc,
    cpu=Call(make=_bind_mfcc),
    gpu=_HOST,
    grad=NO_GRADIENT,
    doc="The mel-frequency cepstral coefficients of squared spectra [channels, frames, bins].",
)


def audio_spectrogram(
    input: Any,
    window_size: int,
    stride: int,
    magnitude_squared: bool = False,
    name: str | None = None,
) -> Tensor:
    """Compute the magnitudes of Fourier transforms of Hann windows of a recording.

    Args:
      input: samples, float32 [samples, channels].
      window_size: the number of samples of a window. The length of the transform is this number,
        rounded up to a power of 2.
      stride: the number of samples between the starts of two windows.
      magnitude_squared: whether to return squared magnitudes.

    Returns:
      float32 [channels, frames, frequencies].
    """
    return audio_spectrogram_op(
        input,
        window_size=window_size,
        stride=stride,
        magnitude_squared=magnitude_squared,
        name=name,
    )


def mfcc(
    spectrogram: Any,
    sample_rate: Any,
    upper_frequency_limit: float = 4000.0,
    lower_frequency_limit: float = 20.0,
    filterbank_channel_count: int = 40,
    dct_coefficient_count: int = 13,
    name: str | None = None,
) -> Tensor:
    """Compute mel-frequency cepstral coefficients of a spectrogram of squared magnitudes.

    A run raises InvalidArgumentError if the limits or counts do not form a bank of filters.

    Args:
      spectrogram: squared magnitudes, float32 [channels, frames, frequencies].
      sample_rate: the samples per second, an int32 scalar.

    Returns:
      float32 [channels, frames, dct_coefficient_count].
    """
    return mfcc_op(
        spectrogram,
        sample_rate,
        upper_frequency_limit=upper_frequency_limit,
        lower_frequency_limit=lower_frequency_limit,
        filterbank_channel_count=filterbank_channel_count,
        dct_coefficient_count=dct_coefficient_count,
        name=name,
    )
