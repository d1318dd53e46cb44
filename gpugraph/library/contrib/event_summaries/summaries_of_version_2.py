"""`tf.compat.v2.summary` in graphs: writes tensors with the metadata that TensorBoard's pages
read.
"""

from __future__ import annotations

import io
import struct
import wave
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType, float32, float64, int64, string
from gpugraph.formats.summary_bytes import plugin_metadata
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.library.contrib.event_summaries.summary_state import (
    SummaryWriter,
    create_file_writer,
    get_step,
    write_summary,
)
from gpugraph.library.summary.summary_functions import summary_scope as tag_scope
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.control.py_func import py_func
from gpugraph.ops.framework.numpy_conversion import constant_array
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.summaries.tensor_summary_ops import tensor_summary_op

_WAV = b"\x10\x0b"
"""AudioPluginData: the field `encoding` is WAV."""


@contextmanager
def summary_scope(
    name: str, default_name: str = "summary", values: Any = None
) -> Iterator[tuple[str, str]]:
    """Enter the name scope of a summary. Yield the tag and the name scope.

    The tag is the name, prefixed with the current name scope.
    """
    with tag_scope(name or default_name, None, values=values) as (tag, scope):
        yield tag, scope


def write(
    tag: str, tensor: Any, step: Any = None, metadata: Any = None, name: str | None = None
) -> Any:
    """Write a tensor, or the result of a function, if summaries are recorded. Return a bool tensor.
    A run writes the summary when it computes this tensor.

    Raises ValueError if there is no step.

    Args:
      step: by default the step that `set_step` set.
      metadata: a SummaryMetadata message, or its bytes.
    """
    chosen = get_step() if step is None else step
    if chosen is None:
        raise ValueError("No step set via 'step' argument or tf.summary.experimental.set_step()")
    content = metadata.SerializeToString() if hasattr(metadata, "SerializeToString") else metadata
    about = plugin_metadata("", "", "") if content is None else content

    def summarize() -> Any:
        with name_scope(name, "write_summary"):
            value = tensor() if callable(tensor) else tensor
            return tensor_summary_op(tag, convert_to_tensor(value), about)

    return write_summary(summarize, convert_to_tensor(chosen, dtype=int64), is_default=True)


def _plugin(
    plugin: str, name: str, value: Callable[[], Any], step: Any, description: str | None,
    content: bytes = b"",
) -> Any:  # fmt: skip
    metadata = plugin_metadata(plugin, "", description or "", content)
    with tag_scope(name, None, f"{plugin}_summary") as (tag, _):
        return write(tag, value, step, metadata)


def _computed(function: Callable[..., Any], inputs: list[Any], dtype: DType) -> Any:
    return py_func(function, inputs, dtype, stateful=False)


def scalar(name: str, data: Any, step: Any = None, description: str | None = None) -> Any:
    """Write a number as float32, if summaries are recorded. Return a bool tensor. A run writes the
    summary when it computes this tensor.
    """
    return _plugin("scalars", name, lambda: cast(data, float32), step, description)


def text(name: str, data: Any, step: Any = None, description: str | None = None) -> Any:
    """Write texts, which TensorBoard shows as Markdown."""
    return _plugin("text", name, lambda: convert_to_tensor(data, string), step, description)


def histogram(
    name: str,
    data: Any,
    step: Any = None,
    buckets: int | None = None,
    description: str | None = None,
) -> Any:
    """Write a histogram with `buckets` buckets of equal width, by default 30. Each bucket has a
    left edge, a right edge and a count.
    """
    count = 30 if buckets is None else buckets

    def counted(values: Any) -> Any:
        flat = values.ravel()
        if not flat.size or not count:
            return np.zeros((0, 3))
        low, high = flat.min(), flat.max()
        if low == high:
            return np.array([[low - 0.5, high + 0.5, flat.size]])
        counts, edges = np.histogram(flat, count, (low, high))
        return np.stack([edges[:-1], edges[1:], counts], axis=1)

    def value() -> Any:
        return _computed(counted, [cast(data, float64)], float64)

    return _plugin("histograms", name, value, step, description)


def image(
    name: str, data: Any, step: Any = None, max_outputs: int = 3, description: str | None = None
) -> Any:
    """Write the first `max_outputs` images of a batch [n, h, w, channels] as PNG.

    Floating-point numbers must be in [0, 1]. Integers are converted to uint8. The images have 1 to
    4 channels.
    """

    def encoded(values: Any) -> Any:
        pixels = values
        if pixels.dtype.kind == "f":
            pixels = np.clip(pixels * 255.999, 0, 255)
        files = [_png(frame) for frame in pixels[:max_outputs].astype(np.uint8)]
        height, width = pixels.shape[1:3]
        result = np.empty(2 + len(files), object)
        result[:] = [b"%d" % width, b"%d" % height, *files]
        return result

    return _plugin(
        "images", name, lambda: _computed(encoded, [convert_to_tensor(data)], string), step,
        description,
    )  # fmt: skip


def _png(pixels: Any) -> bytes:
    height, width, channels = pixels.shape
    rows = np.insert(pixels.reshape(height, -1), 0, 0, axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)

    data = zlib.compress(rows.tobytes())
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    )


def audio(
    name: str,
    data: Any,
    sample_rate: Any,
    step: Any = None,
    max_outputs: int = 3,
    encoding: str | None = None,
    description: str | None = None,
) -> Any:
    """Write the first `max_outputs` recordings of a batch [n, frames, channels] as WAV.

    The values must be in [-1, 1].
    """
    if encoding not in (None, "wav"):
        raise ValueError(f"Unknown encoding: {encoding!r}")

    def encoded(values: Any, rate: Any) -> Any:
        files = [_wav(samples, int(rate)) for samples in values[:max_outputs]]
        result = np.empty((len(files), 2), object)
        for row, file in zip(result, files):
            row[:] = [file, b""]
        return result

    inputs = [cast(data, float32), convert_to_tensor(sample_rate)]
    return _plugin(
        "audio", name, lambda: _computed(encoded, inputs, string), step, description, _WAV
    )


def _wav(samples: Any, rate: int) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(samples.shape[1])
        writer.setsampwidth(2)
        writer.setframerate(rate)
        writer.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())
    return file.getvalue()


def create_file_writer_v2(
    logdir: Any,
    max_queue: Any = None,
    flush_millis: Any = None,
    filename_suffix: Any = None,
    name: str | None = None,
) -> SummaryWriter:
    """Return a writer to a new event file. Raises ValueError if `logdir` is None."""
    if logdir is None:
        raise ValueError("Argument `logdir` cannot be None")
    return create_file_writer(
        logdir, _number(max_queue), _number(flush_millis), filename_suffix, name
    )


def _number(value: Any) -> int | None:
    return None if value is None else int(constant_array(value))
