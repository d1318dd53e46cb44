"""summary_iterator, which reads the events of an event file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpugraph.base.errors import DataLossError
from gpugraph.base.whole_files import open_to_read, system_errors
from gpugraph.formats import messages_pb2
from gpugraph.formats.tf_record import read_records

_FRAME = 16
"""The number of bytes that a record adds to its content: its length and two checksums."""


def summary_iterator(path: Any) -> Iterator[Any]:
    """Yield the Event messages of an event file, in order.

    Raises, during iteration:
      NotFoundError: there is no such file.
      DataLossError: a record is truncated, has a wrong checksum, or is not an Event. The
        message states the record's offset.
    """
    with system_errors(path), open_to_read(path) as source:
        offset = 0
        for record in read_records(source, path):
            try:
                event = messages_pb2.Event.FromString(record)
            except messages_pb2.DecodeError as error:
                raise DataLossError(
                    None, None, f"the record at {offset} is not an Event: {error}: {path}"
                ) from error
            yield event
            offset += len(record) + _FRAME
