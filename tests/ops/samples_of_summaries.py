"""Samples of the summary ops, and the bytes of their messages put together by hand."""

from __future__ import annotations

import bisect
import io
import struct
import sys
import wave
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import REAL, as_dtype
from gpugraph.ops.image.files.png_format import encoded_png

from .samples_of_strings import texts
from .sampling import Values, add, case, representatives

__all__ = ["TAG"]

TAG = texts("t")


def _bytes(number: int, content: bytes) -> bytes:
    assert len(content) < 1 << 14
    size = [len(content)] if len(content) < 128 else [len(content) % 128 + 128, len(content) // 128]
    return bytes([number << 3 | 2, *size]) + content


def _scalar(tags: Any, values: Any) -> Any:
    pairs = zip(tags.reshape(-1), values.reshape(-1), strict=True)
    parts = [_bytes(1, tag) + b"\x15" + struct.pack("<f", value) for tag, value in pairs]
    return texts(b"".join(_bytes(1, part) for part in parts))


def _histogram(tag: Any, values: Any) -> Any:
    """Each value is put into its bucket, one after another."""
    ends = [1e-12]
    while ends[-1] * 1.1 < 1e20:
        ends.append(ends[-1] * 1.1)
    ends.append(sys.float_info.max)
    limits = [*(-end for end in reversed(ends)), 0.0, *ends]
    counts = [0] * len(limits)
    numbers = [float(value) for value in values.reshape(-1)]
    for number in numbers:
        counts[bisect.bisect_right(limits, number)] += 1
    kept = [
        index
        for index, count in enumerate(counts)
        if count or index + 1 == len(counts) or counts[index + 1]
    ]
    squares = sum(number * number for number in numbers)
    end = sys.float_info.max
    statistics = [min(numbers, default=end), max(numbers, default=-end), len(numbers), sum(numbers)]
    content = b"".join(
        bytes([number << 3 | 1]) + struct.pack("<d", value)
        for number, value in enumerate([*statistics, squares], 1)
        if value
    )
    for number, row in ((6, limits), (7, counts)):
        content += _bytes(number, struct.pack(f"<{len(kept)}d", *[row[index] for index in kept]))
    return texts(_bytes(1, _bytes(1, tag[()]) + _bytes(5, content)))


def _image(tag: Any, tensor: Any, max_images: int = 3) -> Any:
    parts = []
    for index, image in enumerate(tensor[:max_images]):
        scaled, kind = image, image.dtype.type
        if image.dtype != np.uint8:
            share = np.float32(127) / np.abs(image).max().astype(np.float32)
            scaled = image * kind(share) + kind(128)
        png = encoded_png(scaled.astype(np.uint8))
        sizes = bytes([8, image.shape[0], 16, image.shape[1], 24, image.shape[2]])
        name = b"%s/image/%d" % (tag[()], index) if max_images > 1 else tag[()] + b"/image"
        parts.append(_bytes(1, _bytes(1, name) + _bytes(4, sizes + _bytes(4, png))))
    return texts(b"".join(parts))


def _audio(tag: Any, tensor: Any, rate: Any = None, max_outputs: int = 3, **attrs: Any) -> Any:
    parts, hertz = [], float(attrs["sample_rate"] if rate is None else rate)
    for index, samples in enumerate(tensor.reshape(*tensor.shape, 1)[:max_outputs]):
        frames = samples.reshape(len(samples), -1)
        file = io.BytesIO()
        with wave.open(file, "wb") as writer:
            writer.setparams((frames.shape[1], 2, int(hertz), 0, "NONE", ""))
            words = np.floor(np.abs(frames) * 32768 + 0.5) * np.sign(frames)
            writer.writeframes(np.clip(words, -32768, 32767).astype("<i2").tobytes())
        sizes = b"\x0d" + struct.pack("<f", hertz) + bytes([16, frames.shape[1], 24, len(frames)])
        name = b"%s/audio/%d" % (tag[()], index) if max_outputs > 1 else tag[()] + b"/audio"
        content = sizes + _bytes(4, file.getvalue()) + _bytes(5, b"audio/wav")
        parts.append(_bytes(1, _bytes(1, name) + _bytes(6, content)))
    return texts(b"".join(parts))


def _merged(inputs: Any) -> Any:
    return texts(b"".join(part for source in inputs for part in source.reshape(-1).tolist()))


def _tensor(tensor: Any) -> bytes:
    sizes = b"".join(_bytes(2, bytes([8, size]) if size else b"") for size in tensor.shape)
    start = bytes([8, as_dtype(tensor.dtype).as_datatype_enum]) + _bytes(2, sizes)
    if tensor.dtype == object:
        return start + b"".join(_bytes(8, text) for text in tensor.reshape(-1))
    return start + (_bytes(4, tensor.tobytes()) if tensor.size else b"")


def _with_metadata(tag: Any, tensor: Any, metadata: Any) -> Any:
    value = _bytes(1, tag[()]) + _bytes(8, _tensor(tensor)) + _bytes(9, metadata[()])
    return texts(_bytes(1, value))


def _tags(*shape: int) -> Any:
    words = [f"t{index}" for index in range(int(np.prod(shape)))]
    return texts(*words, shape=shape)


_NO_TEXT = texts("")
_NUMBERS = representatives(REAL)
_PIXELS = [dtypes.float32, dtypes.float64, dtypes.float16, dtypes.uint8]
_ALL = representatives((*dtypes.NUMERIC, dtypes.bool, dtypes.string))
add(
    "ScalarSummary",
    *[lambda v, shape=shape: case(_tags(*shape), v(*shape)) for shape in ((), (3,), (2, 1), (0,))],
    types=_NUMBERS,
    reference=_scalar,
)
add(
    "HistogramSummary",
    lambda v: case(TAG, v(2, 3)),
    lambda v: case(TAG, v()),
    lambda v: case(TAG, v(0, 3)),
    types=_NUMBERS,
    reference=_histogram,
    exact=True,
)
add(
    "ImageSummary",
    lambda v: case(TAG, v(2, 3, 2, 3)),
    lambda v: case(TAG, v(4, 1, 2, 1), max_images=1),
    lambda v: case(TAG, v(0, 1, 2, 4)),
    types=_PIXELS,
    reference=_image,
    exact=True,
)
add(
    "AudioSummaryV2",
    lambda v: case(TAG, v(2, 3), np.array(44100, np.float32)),
    lambda v: case(TAG, v(2, 3, 2), np.array(8000, np.float32), max_outputs=1),
    lambda v: case(TAG, v(0, 3), np.array(1, np.float32)),
    types=[dtypes.float32],
    reference=_audio,
    exact=True,
)
add(
    "AudioSummary",
    lambda v: case(TAG, v(2, 3), sample_rate=44100.0),
    lambda v: case(TAG, v(0, 3, 1), sample_rate=8000.0),
    types=[dtypes.float32],
    reference=_audio,
    exact=True,
)
add(
    "MergeSummary",
    lambda _: case([texts(_bytes(1, _bytes(1, b"a"))), texts(_bytes(1, _bytes(1, b"b")))]),
    lambda _: case([texts(""), np.empty(0, object)]),
    reference=_merged,
)


def _form(v: Values, *shape: int) -> Any:
    return case(TAG, v(*shape), _NO_TEXT)


add(
    "TensorSummaryV2",
    *[lambda v, shape=shape: _form(v, *shape) for shape in ((2, 3), (), (0, 3))],
    types=_ALL,
    exact=True,
    reference=_with_metadata,
)
