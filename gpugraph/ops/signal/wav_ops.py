"""DecodeWav and EncodeWav: recordings as WAV files of 16 bits per sample."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.errors import invalid_argument as refusal
from gpugraph.base.lfs_pointers import pointer_text
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.signal.wav_format import encoded_wav

_HOST = HostOnly("files are decoded and encoded by the host")
_FORMAT = struct.Struct("<HHIIHH")
_PCM, _BITS = 1, 16


class DecodedWav(NamedTuple):
    """A recording, float32 [samples, channels] in [-1, 1), and its samples per second."""

    audio: Tensor
    sample_rate: Tensor


def _expected(data: bytes, start: int, name: bytes) -> int:
    """Return the position after the name `name`, which must be at `start` in a file. Raises
    InvalidArgumentError if it is not.
    """
    name_in_file = data[start : start + len(name)]
    if len(name_in_file) < len(name):
        raise refusal(f"Data too short when trying to read string{pointer_text(data)}")
    if name_in_file != name:
        raise refusal(
            f"Header mismatch: Expected {name.decode()} but found "
            f"{name_in_file.decode('latin-1')}{pointer_text(data)}"
        )
    return start + len(name)


def wav_samples(data: bytes) -> tuple[Any, int]:
    """Return the samples of a WAV file, float32 [samples, channels], and the samples per second.

    Raises InvalidArgumentError if the file is damaged, or does not have 16 bits per sample.
    """
    position = _expected(data, 0, b"RIFF") + 4
    position = _expected(data, position, b"WAVE")
    position = _expected(data, position, b"fmt ")
    if len(data) < position + 4 + _FORMAT.size:
        raise refusal("Data too short when trying to read the format of a WAV file")
    (length,) = struct.unpack_from("<I", data, position)
    if length not in (16, 18):
        raise refusal(f"Bad fmt chunk size for WAV: Expected 16 or 18, but got {length}")
    kind, channels, rate, _, frame, bits = _FORMAT.unpack_from(data, position + 4)
    if kind != _PCM:
        raise refusal(f"Bad audio format for WAV: Expected 1 (PCM), but got{kind}")
    if bits != _BITS:
        raise refusal(f"Bad bits per sample for WAV: Expected 16, but got {bits}")
    if not channels or frame != channels * _BITS // 8:
        raise refusal(f"Bad bytes per sample in WAV header: {frame} for {channels} channels")
    position += 4 + length
    while position + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, position)
        position += 8
        if name == b"data":
            whole = data[position : position + size // frame * frame]
            if len(whole) < size // frame * frame:
                raise refusal("Data too short when trying to read the samples of a WAV file")
            samples = np.frombuffer(whole, "<i2").reshape(-1, channels)
            return samples.astype(np.float32) / np.float32(1 << 15), rate
        position += size
    raise refusal("No data chunk found in WAV")


def _infer_decoded(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 0, "contents")
    sizes = (context.attrs["desired_samples"], context.attrs["desired_channels"])
    for name, size in zip(("desired_samples", "desired_channels"), sizes):
        if size != -1 and size <= 0:
            raise ValueError(f"{name} must be a positive number or -1, not {size}")
    known = TensorShape.of(tuple(None if size == -1 else size for size in sizes))
    return [known, TensorShape.of(())]


def _bind_decode(context: KernelContext, contents: Any) -> Callable[[], Any]:
    length, channels = context.attrs["desired_samples"], context.attrs["desired_channels"]

    def run() -> list[Any]:
        samples, rate = wav_samples(contents[()])
        if channels != -1:
            last = samples.shape[1] - 1
            samples = samples[:, [min(channel, last) for channel in range(channels)]]
        if length != -1:
            samples = samples[:length]
            samples = np.pad(samples, ((0, length - len(samples)), (0, 0)))
        return [np.ascontiguousarray(samples), np.array(rate, np.int32)]

    return run


decode_wav_op = op(
    "DecodeWav",
    inputs="contents: string",
    outputs="audio: float32, sample_rate: int32",
    attrs={"desired_channels": Attr("int", -1), "desired_samples": Attr("int", -1)},
    infer=_infer_decoded,
    cpu=Call(make=_bind_decode, dynamic=True),
    gpu=_HOST,
    grad=NO_GRADIENT,
    doc="The samples [samples, channels] of a WAV file, in [-1, 1), and the samples per second.",
)


def _infer_encoded(context: InferContext) -> Sequence[TensorShape]:
    of_rank(context.shapes[0], 2, "audio")
    of_rank(context.shapes[1], 0, "sample_rate")
    return [TensorShape.of(())]


def _encode(audio: Any, sample_rate: Any, out: Any) -> None:
    if not 0 < int(sample_rate) < 1 << 32:
        raise refusal(f"sample_rate must be positive, got {int(sample_rate)}")
    if not 0 < audio.shape[1] < 1 << 15:
        raise refusal(f"audio must have channels, but has the shape {shape_text(audio.shape)}")
    out[()] = encoded_wav(audio, int(sample_rate))


encode_wav_op = op(
    "EncodeWav",
    inputs="audio: float32, sample_rate: int32",
    outputs="contents: string",
    infer=_infer_encoded,
    cpu=Call(_encode),
    gpu=_HOST,
    grad=NO_GRADIENT,
    doc="The WAV file of samples [samples, channels] in [-1, 1), with 16 bits per sample.",
)


def decode_wav(
    contents: Any, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None
) -> DecodedWav:
    """Decode a WAV file of 16 bits per sample, a string scalar.

    A run raises InvalidArgumentError if the string is not such a file.

    Args:
      desired_channels: the number of channels of the result, or -1 for the channels of the file.
        The last channel is repeated if the file has fewer channels.
      desired_samples: the number of samples of the result, or -1 for all samples. Zeros are
        appended if the file has fewer samples.

    Returns:
      `audio`, float32 [samples, channels] in [-1, 1), and `sample_rate`, the samples per second.
    """
    outputs = decode_wav_op(
        contents, desired_channels=desired_channels, desired_samples=desired_samples, name=name
    )
    return DecodedWav(*outputs)


def encode_wav(audio: Any, sample_rate: Any, name: str | None = None) -> Tensor:
    """Encode samples [samples, channels] in [-1, 1) as a WAV file of 16 bits per sample.

    Samples outside the range are clipped.

    Args:
      sample_rate: the samples per second, an int32 scalar.
    """
    return encode_wav_op(audio, sample_rate, name=name)
