"""Stages of sizes: native code that computes the sizes of a run, and writes them into the blocks of
its calls.

    stages = SizeStages(rows, ...)           one stage at the start of a run, and one after each
    stages.registers[...] = fed sizes        kernel that reports a size
    status = stages.run(0)                   writes the words of all calls up to the next report

`StageRows` has the work of a stage as rows of numbers, whose columns are the fields of the C
structures in host_sizes.c. If the arena is too small for the sizes of a run, the caller enlarges
it. This module enlarges tables and scratch memory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from enum import IntFlag
from typing import Any

import numpy as np

from gpugraph.config.environment import thread_count
from gpugraph.devices.native.native_runtime import RUNTIME, Call, address_of
from gpugraph.devices.native.open_calls import SCRATCH_KINDS, BlockWords, OpenCall

_LINE = 64
_MOST_ROOM_OF_NEW_TABLES = 16

Rows = list[tuple[int, ...]]

ELEMENT_KINDS = {np.dtype(kind): n for n, kind in enumerate(("i4", "i8", "f4", "f8"))}
"""The dtypes of constants whose elements a stage writes, with their numbers in host_sizes.c."""


class StageStatus(IntFlag):
    """The reasons why a stage returns to Python, as flags that host_sizes.c also defines."""

    DONE = 0
    UNFIT = 1
    ARENA = 2
    ASIDE = 4
    TABLES = 8
    SCRATCH = 16
    UNMET = 32


@dataclass
class StageRows:
    """The work of a stage, as rows of the tables below. A register holds the value of a size.

    Args:
      reported: (register, its value in the last run, address of the size or 0) of the sizes that
        become known.
      steps: (kind, register, left, right, factor) of arithmetic on registers.
      conditions: (comparison with 0, register, outcome, call or -1).
      owners: (call, 1 if the call is bound for each set of sizes).
      buffers: (number, register of the size, slice of `below`) of the buffers in the arena.
      asides: (register of the size, room) of buffers outside of the arena.
      tables: (address of the word, base, register of the offset, slice of `axes`, room, entries).
      axes: (register of the size, register of the stride).
      words: (address, register, base).
      elements: (address, dtype, register) of elements of constants.
      cuts: (function, block, address of the number of threads, call).
      scratch: (block, kind, bytes of an element, room, call, bytes needed).
      works: (address, whether it is a float, limit).
    """

    reported: Rows = field(default_factory=list)
    steps: Rows = field(default_factory=list)
    conditions: Rows = field(default_factory=list)
    owners: Rows = field(default_factory=list)
    buffers: Rows = field(default_factory=list)
    asides: Rows = field(default_factory=list)
    tables: Rows = field(default_factory=list)
    words: Rows = field(default_factory=list)
    elements: Rows = field(default_factory=list)
    cuts: Rows = field(default_factory=list)
    scratch: Rows = field(default_factory=list)
    works: Rows = field(default_factory=list)
    axes: Rows = field(default_factory=list)
    scratch_owners: list[tuple[int, Callable[[int], Any]]] = field(default_factory=list)

    def add_call(self, owner: int, words: BlockWords, call: OpenCall) -> None:
        """Add the rows that divide the work of a call among threads, and the rows that compute the
        size of its scratch memory.
        """
        block = ctypes.addressof(words.block)
        if call.cut:
            self.cuts.append((call.cut, block, words.place("threads"), owner))
        for index, (kind, item) in call.scratch.items():
            self._add_scratch(words.block.at + 8 * index, _new_bytes, block, kind, item, owner)
        if call.new_scratch is not None:
            self._add_scratch(words.place("scratch"), call.new_scratch, block, "source", 1, owner)
        name, limit = call.work
        if name:
            self.works.append((words.place(name), int(words.is_real(name)), int(limit)))

    def _add_scratch(
        self, place: int, new: Callable[[int], Any], block: int, kind: str, item: int, owner: int
    ) -> None:
        self.scratch.append((block, SCRATCH_KINDS.index(kind), item, -1, owner, 0))
        self.scratch_owners.append((place, new))


class _Sizes(ctypes.Structure):
    """The C structure `gg_sizes` of host_sizes.c: the state that all stages share."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("registers", "bases", "ends", "below", "unmet")),
        *((name, ctypes.c_int64) for name in ("arena", "room", "threads", "version", "status")),
        ("needed", ctypes.c_int64),
    )


_ROWS = tuple(item.name for item in fields(StageRows))[:-2]
"""The names of the rows whose numbers are fields of `gg_stage`, in their order."""


class _Stage(ctypes.Structure):
    """The C structure `gg_stage` of host_sizes.c: one stage."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("entry", "all", "before")),
        *((name, ctypes.c_int64) for name in ("version", "high", "releases", "left")),
        ("replaced", ctypes.c_int64),
        *((f"num_{name}", ctypes.c_int64) for name in _ROWS),
        *((name, ctypes.c_void_p) for name in (*_ROWS, "axes")),
    )


class SizeStages:
    """The stages of one program.

    Attributes:
      registers: the values of all sizes. The caller stores the fed sizes, and kernels store the
        sizes that they report.
      bases: an array with 0, followed by the address of each buffer.
      unmet: for each call, whether it must be bound to arrays for the current sizes.
      calls: a native call for each stage. It returns a nonzero status if Python must act before the
        run can continue.
    """

    def __init__(
        self,
        registers: Sequence[int],
        num_bases: int,
        num_calls: int,
        below: Sequence[int],
        rows: Sequence[StageRows],
    ) -> None:
        """Create the stages. The arena has no memory yet.

        Args:
          num_bases: the number of buffers.
          below: the numbers of the buffers below each buffer of the arena, as one list for all
            buffers. Each row of `StageRows.buffers` refers to a slice of this list.
        """
        runtime = RUNTIME.get(True)
        assert runtime is not None, "there are calls, so there is a runtime"
        self.registers = np.array(registers, np.int64)
        self.bases = np.zeros(1 + num_bases, np.int64)
        self.unmet = np.zeros(num_calls + 1, np.int64)
        self._ends, self._below = np.zeros(num_bases + 1, np.int64), np.array(below, np.int64)
        shared = self.registers, self.bases, self._ends, self._below, self.unmet
        self._sizes = _Sizes(*(array.ctypes.data for array in shared))
        self._rows = rows
        self._tables = [_matrix(stage.tables) for stage in rows]
        self._asides = [_matrix(stage.asides) for stage in rows]
        self._scratch = [_matrix(stage.scratch) for stage in rows]
        keep = self._sizes, shared, self._tables, self._asides, self._scratch
        self._memory: dict[int, Any] = {}  # tables and scratch, by the address of the word
        self._stages: list[_Stage] = []
        self.calls: list[Call] = []
        entry = address_of(runtime.library.gg_run_stage)
        for number, stage in enumerate(rows):
            block, matrices = self._new_stage(entry, number, stage)
            self._stages.append(block)
            held = matrices, tuple(self._stages), self._memory, *keep
            self.calls.append(runtime.call(block, held, False))

    def _new_stage(self, entry: int, number: int, rows: StageRows) -> tuple[_Stage, list[Any]]:
        before = ctypes.addressof(self._stages[-1]) if self._stages else None
        block = _Stage(entry, ctypes.addressof(self._sizes), before)
        arrays = {"tables": self._tables, "asides": self._asides, "scratch": self._scratch}
        kept = []
        for name in (*_ROWS, "axes"):
            items = getattr(rows, name)
            matrix = arrays[name][number] if name in arrays else _matrix(items)
            setattr(block, name, matrix.ctypes.data)
            if name != "axes":
                setattr(block, f"num_{name}", len(items))
            kept.append(matrix)
        return block, kept

    def run(self, number: int) -> StageStatus:
        """Run a stage with the values in the registers, and enlarge tables and scratch memory if
        necessary. The result tells whether the caller must act before the run can continue, and
        why.
        """
        if not number:
            self._sizes.threads = thread_count()
        while self.calls[number]():
            status = StageStatus(self._sizes.status)
            if status is StageStatus.TABLES:
                self._grow_tables(number)
            elif status & StageStatus.SCRATCH:
                self._grow_scratch(number)
            else:
                return status
        return StageStatus.DONE

    def set_replaced(self, number: int, is_replaced: bool) -> None:
        """Set whether Python has replaced calls of a stage for the current sizes. If it has, each
        run of the stage returns to Python.
        """
        self._stages[number].replaced = int(is_replaced)

    def forget(self) -> None:
        """Let the next run compute the words of all stages again, even if no size has changed."""
        self._sizes.version += 1
        for stage in self._stages:
            stage.version = 0

    @property
    def releases(self) -> bool:
        """Whether a run with the current sizes should release the GIL."""
        return any(stage.releases for stage in self._stages)

    @property
    def needed(self) -> int:
        """The number of bytes that the arena must have."""
        return int(self._sizes.needed)

    def set_arena(self, address: int, room: int) -> None:
        """Set the address and the size of the arena's memory."""
        self._sizes.arena, self._sizes.room = address, room

    def set_aside(self, number: int, row: int, room: int) -> None:
        """Set the size of the memory of a buffer outside of the arena.

        Args:
          number: the number of the stage that computes the buffer's size.
          row: the index of the buffer's row in the `asides` of the stage.
        """
        self._asides[number][row, 1] = room

    def _grow_tables(self, number: int) -> None:
        matrix, axes = self._tables[number], self._rows[number].axes
        for row in matrix:
            place, _, _, first, last, room, _ = row.tolist()
            count = 1
            for size, _ in axes[first:last]:
                count *= int(self.registers[size])
            if count > room:
                entries = np.empty(max(count, _MOST_ROOM_OF_NEW_TABLES), np.int64)
                self._memory[place] = entries
                row[5:] = entries.size, entries.ctypes.data

    def _grow_scratch(self, number: int) -> None:
        rows = self._rows[number].scratch_owners
        for row, (place, new) in zip(self._scratch[number], rows):
            _, _, _, room, owner, needed = row.tolist()
            if needed > room and not self.unmet[owner]:
                buffer = new(needed + _LINE)
                buffer = buffer[-buffer.ctypes.data % _LINE :]
                self._memory[place] = buffer
                row[3] = buffer.nbytes
                ctypes.c_int64.from_address(place).value = buffer.ctypes.data


def _matrix(rows: Rows) -> Any:
    return np.array(rows, np.int64)


def _new_bytes(size: int) -> Any:
    return np.empty(size, np.uint8)
