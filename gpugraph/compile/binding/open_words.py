"""The words of a plan's native calls that depend on sizes, as tables for the stages of a run.

    word = register of a size + address of a buffer (or 0)

A stage computes the registers that have become known, and then all words of the calls up to the
next report (`devices/native/size_stages.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpugraph.base.sizes import FedSizes, SizeRegisters, SizeTrace
from gpugraph.compile.binding.open_steps import Opened
from gpugraph.compile.unit.compile_unit import Storage
from gpugraph.devices.native import Address, OpenTable, SizeStages, StageRows
from gpugraph.devices.native.size_stages import ELEMENT_KINDS
from gpugraph.memory import Stacking


class OpenWords:
    """An object that builds the stages of a program. Its methods fill `rows`, and `finish` creates
    the stages from them.

    Attributes:
      registers: the registers of all sizes.
      constants: for each stage, the constants that Python writes, as (array, registers of its
        elements).
    """

    def __init__(
        self,
        trace: SizeTrace,
        fed: FedSizes,
        reports: Sequence[Sequence[Sequence[str]]],
        storages: Sequence[Storage],
    ) -> None:
        """Create the builder.

        Args:
          reports: for each stage after the first, the names of each size that is reported before
            it.
          storages: the buffers in the arena, followed by all other buffers.
        """
        stage_of = {
            name: (stage, names[0])
            for stage, several in enumerate(reports, 1)
            for names in several
            for name in names
        }
        self.registers = SizeRegisters(trace, fed, stage_of)
        for name, number in self.registers.reported.items():
            self.registers.values[number] = trace.reported[name]
        self.rows = [StageRows() for _ in range(1 + len(reports))]
        self.constants: list[list[tuple[Any, Any]]] = [[] for _ in self.rows]
        self._bases: dict[Any, int] = {id(s): i + 1 for i, s in enumerate(storages)}
        self._storages = storages
        self._below: list[int] = []
        self._buffer_numbers: list[int] = []
        self._num_calls = 0
        self._conditions = [(*row, -1) for row in self.registers.conditions]

    def add_reports(self, stage: int, names: Sequence[str], places: Sequence[int]) -> None:
        """Add the sizes that are reported before a stage.

        Args:
          names: the first name of each size.
          places: the address where a kernel stores each size, or 0 if Python stores it.
        """
        numbers = self.registers.reported
        self.rows[stage].reported = [
            (numbers.get(name, 0), -1, place) for name, place in zip(names, places)
        ]

    def add_call(self, stage: int, native: Opened) -> None:
        """Add the words of a native call. The calls must be added in the order of the program."""
        rows, owner = self.rows[stage], self._num_calls
        self._num_calls += 1
        if native.conditions or not native.calls:
            rows.owners.append((owner, int(not native.calls)))
        self._conditions += [
            (*self.registers.condition(condition), owner) for condition in native.conditions
        ]
        for words, call in native.calls:
            self.add_words(stage, words.values)
            rows.add_call(owner, words, call)

    def add_words(self, stage: int, values: Mapping[int, Any]) -> None:
        """Add words to a stage.

        Args:
          values: maps the address of a word to its value: a size, an address, or an address table.
        """
        rows, number = self.rows[stage], self.registers.number
        for place, value in values.items():
            if isinstance(value, OpenTable):
                self._add_table(rows, place, value)
                continue
            base, offset = value if isinstance(value, Address) else (0, value)
            rows.words.append((place, number(offset), self._base(base)))

    def _base(self, base: Any) -> int:
        return 0 if base == 0 else self._bases[id(base)]

    def _add_table(self, rows: StageRows, place: int, table: OpenTable) -> None:
        number, first = self.registers.number, len(rows.axes)
        rows.axes += [(number(size), number(stride)) for size, stride in table.axes]
        start, offset = table.start
        rows.tables.append((place, self._base(start), number(offset), first, len(rows.axes), 0, 0))

    def add_constant(self, kept: Any, value: Any) -> None:
        """Add a constant whose elements are Sizes.

        Args:
          kept: the array that calls read.
          value: the elements.
        """
        numbers = [self.registers.number(size) for size in value.reshape(-1)]
        stages = self.registers.stages
        kind = ELEMENT_KINDS.get(kept.dtype)
        if kind is None:
            last = max((stages[number] for number in numbers), default=0)
            self.constants[last].append((kept, np.array(numbers, np.intp).reshape(kept.shape)))
            return
        for index, number in enumerate(numbers):
            place = kept.ctypes.data + index * kept.itemsize
            self.rows[stages[number]].elements.append((place, kind, number))

    def add_arena(self, stacking: Stacking, stages: Sequence[int]) -> None:
        """Add the buffers of the arena.

        Args:
          stages: for each buffer, the stage that computes its offset.
        """
        self._buffer_numbers = [0] * len(stages)
        for buffer, below in stacking.steps:
            begin = len(self._below)
            self._below += below
            size = self.registers.number(self._storages[buffer].size)
            self._buffer_numbers[buffer] = size
            row = buffer, size, begin, len(self._below)
            self.rows[stages[buffer]].buffers.append(row)

    def add_aside(self, num_bytes: Any) -> tuple[int, int]:
        """Add a buffer outside of the arena. Return its stage, and its index among the stage's
        buffers outside of the arena.

        Args:
          num_bytes: the size for which the buffer must have room.
        """
        size = self.registers.number(num_bytes)
        stage = self.registers.stages[size]
        self.rows[stage].asides.append((size, -1))
        return stage, len(self.rows[stage].asides) - 1

    def buffer_sizes(self, registers: Any) -> list[int]:
        """Return the current sizes of the buffers in the arena, in the order of the storages."""
        sizes: list[int] = registers[self._buffer_numbers].tolist()
        return sizes

    def base_of(self, storage: Storage) -> int:
        """Return the index in `SizeStages.bases` of the address of a buffer."""
        return self._bases[id(storage)]

    def finish(self) -> SizeStages:
        """Return the stages. After this call, no registers may be added."""
        stages = self.registers.stages
        for step in self.registers.steps:
            self.rows[stages[step.to]].steps.append(tuple(step))
        last = {owner: i for i, rows in enumerate(self.rows) for owner, _ in rows.owners}
        for size, kind, outcome, owner in self._conditions:
            stage = stages[size] if owner < 0 else last[owner]
            self.rows[stage].conditions.append((kind, size, outcome, owner))
        values = self.registers.values
        count = len(self._storages)
        return SizeStages(values, count, self._num_calls, self._below, self.rows)
