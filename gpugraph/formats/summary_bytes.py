"""Serialization of TensorFlow's messages `Summary` and `Event` without protobuf.

The bytes are equal to the bytes that protobuf writes, in which fields are sorted by number. The
declarations are in `messages/training_messages.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gpugraph.formats.message_bytes import (
    LENGTH,
    bytes_field,
    double_field,
    doubles_field,
    fields_of,
    float_field,
    int_field,
    nested_field,
)

_VALUE = 1  # number of the field in a Summary
_TAG, _SIMPLE, _IMAGE, _HISTOGRAM, _AUDIO, _NODE_NAME, _TENSOR, _METADATA = 1, 2, 4, 5, 6, 7, 8, 9


class SummaryValue(NamedTuple):
    """One serialized value of a summary, with its tag, and whether it has a SummaryMetadata."""

    content: bytes
    tag: str = ""
    has_metadata: bool = False


def _value(tag: bytes, *parts: Any) -> bytes:
    tag_field = bytes_field(_TAG, tag) if tag else b""
    return b"".join(nested_field(_VALUE, [tag_field, *parts]))


def scalar_summary(tag: bytes, value: float) -> bytes:
    """Return a Summary of one number."""
    return _value(tag, float_field(_SIMPLE, value))


def histogram_summary(
    tag: bytes, statistics: Sequence[float], limits: Sequence[float], counts: Sequence[float]
) -> bytes:
    """Return a Summary of one histogram.

    Args:
      statistics: the minimum, maximum, number, sum, and sum of squares of the values.
      limits: the upper ends of the buckets.
      counts: the number of values in each bucket.
    """
    parts = [double_field(number, value) for number, value in enumerate(statistics, 1)]
    content = b"".join(parts) + doubles_field(6, limits) + doubles_field(7, counts)
    return _value(tag, bytes_field(_HISTOGRAM, content))


def image_summary(tag: bytes, height: int, width: int, channels: int, png: bytes) -> bytes:
    """Return a Summary of one image.

    Args:
      png: the content of the image's PNG file.
    """
    sizes = int_field(1, height) + int_field(2, width) + int_field(3, channels)
    return _value(tag, *nested_field(_IMAGE, [sizes, *nested_field(4, [png])]))


def audio_summary(tag: bytes, rate: float, channels: int, frames: int, wav: bytes) -> bytes:
    """Return a Summary of one recording.

    Args:
      rate: the sample rate in Hz.
      frames: the number of samples per channel.
      wav: the content of the recording's WAV file.
    """
    sizes = float_field(1, rate) + int_field(2, channels) + int_field(3, frames)
    content = [sizes, *nested_field(4, [wav]), bytes_field(5, b"audio/wav")]
    return _value(tag, *nested_field(_AUDIO, content))


def tensor_summary(
    tag: bytes, tensor: Sequence[Any], metadata: bytes, node_name: bytes = b""
) -> bytes:
    """Return a Summary of one tensor.

    Args:
      tensor: the parts of a serialized TensorProto, as from `tensor_message`.
      metadata: a serialized SummaryMetadata.
    """
    name_field = bytes_field(_NODE_NAME, node_name) if node_name else b""
    return _value(tag, name_field, *nested_field(_TENSOR, tensor), bytes_field(_METADATA, metadata))


def tensor_message(
    dtype: int, shape: Sequence[int], strings: Sequence[bytes] | None, content: Any = b""
) -> list[Any]:
    """Return the parts of a serialized TensorProto of strings. If `strings` is None, the
    TensorProto contains `content` instead, bytes or a memoryview of bytes.
    """
    sizes = b"".join(bytes_field(2, int_field(1, size)) for size in shape)
    head = int_field(1, dtype) + bytes_field(2, sizes)
    if strings is not None:
        return [head, *(bytes_field(8, string) for string in strings)]
    return [head, *(nested_field(4, [content]) if len(content) else ())]


def summary_values(summary: bytes) -> Iterator[SummaryValue]:
    """Yield the values of a serialized Summary. Raises ValueError if the bytes are malformed."""
    for number, kind, content, _, _ in fields_of(summary):
        if number == _VALUE and kind == LENGTH:
            tag, has_metadata = "", False
            for part, part_kind, text, _, _ in fields_of(content):
                if part == _TAG and part_kind == LENGTH:
                    tag = text.decode("utf-8")
                has_metadata |= part == _METADATA
            yield SummaryValue(content, tag, has_metadata)


def without_metadata(value: bytes) -> bytes:
    """Return a serialized value without its metadata. A file contains the metadata of a tag only
    once.
    """
    fields = fields_of(value)
    return b"".join(value[start:end] for number, *_, start, end in fields if number != _METADATA)


def summary_of_values(values: Sequence[bytes]) -> bytes:
    """Return a Summary of serialized values."""
    return b"".join(bytes_field(_VALUE, value) for value in values)


EVENT_FIELDS = {
    "file_version": 3,
    "graph_def": 4,
    "summary": 5,
    "session_log": 7,
    "tagged_run_metadata": 8,
    "meta_graph_def": 9,
}
"""The field number of each kind of content that an event can have."""


def event_message(wall_time: float, step: int, kind: str, content: bytes) -> bytes:
    """Return a serialized Event.

    Args:
      wall_time: the time in seconds since 1970.
      kind, content: a key of EVENT_FIELDS, and the serialized value of that field.
    """
    fields = double_field(1, wall_time) + int_field(2, step)
    return fields + bytes_field(EVENT_FIELDS[kind], content)


def tagged_run_metadata(tag: str, run_metadata: bytes) -> bytes:
    """Return a TaggedRunMetadata, which contains the serialized RunMetadata of a run under the name
    `tag`.
    """
    return bytes_field(1, tag.encode()) + bytes_field(2, run_metadata)


def plugin_metadata(
    plugin: str, display_name: str = "", description: str = "", content: bytes = b""
) -> bytes:
    """Return a SummaryMetadata.

    Args:
      plugin: the TensorBoard plugin that shows the values.
      display_name, description: the texts that the plugin shows with the values.
      content: a message about the values, whose format the plugin defines.
    """
    settings = bytes_field(2, content) if content else b""
    parts = bytes_field(1, bytes_field(1, plugin.encode()) + settings) if plugin else b""
    if display_name:
        parts += bytes_field(2, display_name.encode())
    return parts + (bytes_field(3, description.encode()) if description else b"")


def file_version_event(wall_time: float) -> bytes:
    """Return the Event with which every event file starts. This event contains the version of the
    file format.
    """
    return event_message(wall_time, 0, "file_version", b"brain.Event:2")
