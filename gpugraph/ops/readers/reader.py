"""The object to which a reader's handle refers. It reads the records of one file after another.

The names of files come from a queue. A read that needs another name may wait for it. Concurrent
reads run one after another.
"""

from __future__ import annotations

import os
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.errors import OpError, UnimplementedError, invalid_argument
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.formats.example_bytes import varints
from gpugraph.formats.message_bytes import LENGTH, VARINT, bytes_field, fields_of, int_field
from gpugraph.ops.queues.element_queue import ElementQueue
from gpugraph.ops.readers.record_sources import OpenWork, Records
from gpugraph.plan import check_run

_SLICE_S = 0.05  # seconds between two checks whether the run of a waiting read was cancelled


class Reader:
    """A reader's position in a file, and its counts of records and files.

    Args:
      open_work: a function that opens a file by name and returns an iterator over its records.
      is_whole: whether each file is a single record. Only such a reader has a serializable state.
    """

    def __init__(self, op_type: str, name: str, open_work: OpenWork, is_whole: bool) -> None:
        self.op_type, self.name = op_type, name
        self._open_work = open_work
        self._is_whole = is_whole
        self._turn = new_lock()
        self._clear()

    def _clear(self) -> None:
        self.num_started = self.num_finished = self.num_records = 0
        self._work = b""
        self._records: Records | None = None

    def read(self, queue: ElementQueue) -> tuple[bytes, bytes]:
        """Return (key, value) of the next record. At the end of a file, open the next file, whose
        name comes from the queue.
        """
        return self.read_up_to(queue, 1)[0]

    def read_up_to(self, queue: ElementQueue, count: int) -> list[tuple[bytes, bytes]]:
        """Return the next records of one file as (key, value) pairs. There are at least one and at
        most `count` records.
        """
        if count < 0:
            raise invalid_argument(f"num_records must be >= 0, not {count}")
        self._wait_for_turn()
        try:
            return self._read(queue, count)
        finally:
            self._turn.release()

    def _wait_for_turn(self) -> None:
        while not self._turn.acquire(timeout=_SLICE_S):
            check_run("while ReaderRead waited")

    def _read(self, queue: ElementQueue, count: int) -> list[tuple[bytes, bytes]]:
        records: list[tuple[bytes, bytes]] = []
        while len(records) < count:
            if self._records is None:
                self._start(_next_name(queue))
            record = self._next_record()
            if record is not None:
                records.append(record)
                self.num_records += 1
            if record is None or self._is_whole:
                self._records = None
                self.num_finished = self.num_started
            if record is None and records:
                break
        return records

    def _start(self, name: bytes) -> None:
        self._records = self._open_work(name)
        self._work = name
        self.num_started += 1

    def _next_record(self) -> tuple[bytes, bytes] | None:
        assert self._records is not None
        try:
            return next(self._records, None)
        except OpError as error:  # as in TensorFlow, each later read fails too
            self._records = _Failing(error)
            raise

    def reset(self) -> None:
        """Close the file and set all counts to 0. The next read takes a new name from the queue."""
        self._wait_for_turn()
        try:
            self._clear()
        finally:
            self._turn.release()

    def state(self) -> bytes:
        """Return the counts and the file's name as a serialized message.

        Raises UnimplementedError unless each file is a single record.
        """
        if not self._is_whole:
            raise UnimplementedError.of_no_node("Reader SerializeState")
        numbers = (self.num_started, self.num_finished, self.num_records)
        fields = b"".join(int_field(field, value) for field, value in enumerate(numbers, 1))
        return fields + (bytes_field(4, self._work) if self._work else b"")

    def restore(self, state: bytes) -> None:
        """Set the counts and the file's name from `state`, a result of `state()`.

        Raises UnimplementedError unless each file is a single record, and InvalidArgumentError if
        the bytes are invalid.
        """
        if not self._is_whole:
            raise UnimplementedError.of_no_node("Reader RestoreState")
        try:
            numbers, work = _read_state(state)
        except ValueError:
            kind, text = self.op_type.removesuffix("V2"), state.decode("utf-8", "backslashreplace")
            raise invalid_argument(
                f"Could not parse state for {kind} '{self.name}': {text}"
            ) from None
        self._wait_for_turn()
        try:
            self._clear()
            self.num_started, self.num_finished, self.num_records = numbers
            self._work = work
        finally:
            self._turn.release()


class _Failing:
    """An iterator over the records of an unreadable file. Each attempt to read a record raises the
    same error.
    """

    def __init__(self, error: OpError) -> None:
        self._class: Any = type(error)
        self._message = error.message

    def __iter__(self) -> _Failing:
        return self

    def __next__(self) -> Any:
        raise self._class(None, None, self._message)


def _next_name(queue: ElementQueue) -> bytes:
    """Return the next name from the queue, and wait while the queue is empty.

    Raises InvalidArgumentError if the elements of the queue are not single strings.
    """
    element = queue.dequeue()
    if len(element) != 1:
        raise invalid_argument("Expected single component queue")
    if queue.kind.dtypes[0] is not dtypes.string:
        raise invalid_argument("Expected queue with single string component")
    if element[0].size != 1:
        raise invalid_argument("Expected to dequeue a one-element string tensor")
    return os.fsencode(element[0].reshape(())[()])


def _read_state(state: bytes) -> tuple[list[int], bytes]:
    """Return the numbers of started files, finished files and records as a list, and the last
    file's name.

    Raises ValueError if the bytes or the counts are invalid.
    """
    numbers, work = [0, 0, 0], b""
    for field, kind, content, _, _ in fields_of(state):
        if field in (1, 2, 3) and kind == VARINT:
            numbers[field - 1] = int(varints(content)[0])
        elif field == 4 and kind == LENGTH:
            work = content
        else:
            raise ValueError(f"a field {field}")
    started, finished, records = numbers
    if not 0 <= finished <= started or records < 0 or finished != started:
        raise ValueError("inconsistent counts")
    return numbers, work
