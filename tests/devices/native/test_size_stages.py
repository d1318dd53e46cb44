"""Stages of sizes: registers, conditions, buffers and words, against arithmetic in Python."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

from gpugraph.base.sizes import FedSizes, SizeRegisters, SizeTrace
from gpugraph.devices.native import SizeStages, StageRows, StageStatus, runtime_reason
from gpugraph.memory import Lifetime, Stacking, buffers_below

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(autouse=True)
def _runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    assert runtime_reason(wait=True) == ""


def expressions(random: Random, atoms: list[Any]) -> list[Any]:
    """Return random expressions of sizes."""
    known = list(atoms)
    for _ in range(30):
        one, other = random.choice(known), random.choice(known)
        kind = random.randrange(5)
        if kind == 0:
            known.append(one + other * random.randint(-3, 3))
        elif kind == 1:
            known.append(one * other)
        elif kind == 2:
            known.append(one // random.randint(2, 7))
        elif kind == 3:
            known.append(one % random.randint(2, 7))
        else:
            known.append(one - random.randint(0, 5))
    return known


def stages_of(
    registers: SizeRegisters, sizes: Sequence[Any], count: int = 1
) -> tuple[SizeStages, Any]:
    """Return stages that write these sizes as words, and the words."""
    words = np.zeros(len(sizes), np.int64)
    rows = [StageRows() for _ in range(count)]
    for index, size in enumerate(sizes):
        number = registers.number(size)
        place = words.ctypes.data + 8 * index
        rows[registers.stages[number]].words.append((place, number, 0))
    for step in registers.steps:
        rows[registers.stages[step.to]].steps.append(tuple(step))
    for number, kind, outcome in registers.conditions:
        rows[registers.stages[number]].conditions.append((kind, number, outcome, -1))
    return SizeStages(registers.values, 0, 0, [], rows), words


@pytest.mark.parametrize("seed", range(5))
def test_words_are_the_values_of_their_expressions(seed: int) -> None:
    random = Random(seed)
    trace = SizeTrace([7, 11])
    sizes = expressions(random, trace.sizes)
    fed = FedSizes([[0, 3], [2]], {1: 5})
    registers = SizeRegisters(trace, fed, {})
    stages, words = stages_of(registers, sizes)
    for _ in range(20):
        one, other = random.randint(1, 40), random.randint(1, 40)
        stages.registers[registers.fed] = [one, 5, other, one]
        expected = trace.values([one, other])
        status = stages.run(0)
        assert (status is StageStatus.DONE) == (expected is not None)
        if expected is not None:
            assert words.tolist() == [expected.of(size) for size in sizes]


def test_sizes_that_do_not_fit_are_unfit() -> None:
    trace = SizeTrace([7, 11])
    one, other = trace.sizes
    assert one < other
    cubes = one * one * one * other
    registers = SizeRegisters(trace, FedSizes([[0], [1]], {}), {})
    stages, words = stages_of(registers, [cubes, one // (other - 20)])

    def status(*sizes: int) -> StageStatus:
        stages.registers[registers.fed] = sizes
        return stages.run(0)

    assert status(2, 3) is StageStatus.DONE
    assert words.tolist() == [24, 2 // -17]
    assert status(3, 3) is StageStatus.UNFIT  # a condition
    assert status(1 << 20, 1 << 21) is StageStatus.UNFIT  # more than 63 bits
    assert status(2, 20) is StageStatus.UNFIT  # a division by 0
    assert status(4, 5) is StageStatus.DONE


def test_buffers_are_stacked_and_the_arena_must_have_room() -> None:
    trace = SizeTrace([100, 3])
    one, other = trace.sizes
    sizes = [one * 4, other * 100, one * other, one - 50]
    registers = SizeRegisters(trace, FedSizes([[0], [1]], {}), {})
    lifetimes = [Lifetime(400, 0, 2), Lifetime(300, 1, 3), Lifetime(300, 2, 4), Lifetime(50, 4, 5)]
    stacking = Stacking(buffers_below(lifetimes, [0, 448, 768, 0]))
    rows, below = StageRows(), []
    for buffer, under in stacking.steps:
        first = len(below)
        below += under
        rows.buffers.append((buffer, registers.number(sizes[buffer]), first, len(below)))
    rows.steps = [tuple(step) for step in registers.steps]
    stages = SizeStages(registers.values, 4, 0, below, [rows])
    stages.set_arena(1 << 20, 4000)
    for fed in ((100, 3), (60, 12), (150, 2)):
        stages.registers[registers.fed] = fed
        assert stages.run(0) is StageStatus.DONE
        plan = stacking.plan([trace.values(fed).of(size) for size in sizes])
        assert (stages.bases[1:] - (1 << 20)).tolist() == plan.offsets
    stages.registers[registers.fed] = 1000, 3
    assert stages.run(0) is StageStatus.ARENA
    assert stages.needed == stacking.plan([4000, 300, 3000, 950]).size
    stages.registers[registers.fed] = 40, 3  # a buffer of -10 bytes
    assert stages.run(0) is StageStatus.UNFIT


def test_a_later_stage_runs_for_other_reports_alone() -> None:
    trace = SizeTrace([7], {"found": 3, "again": 3})
    found, again = trace.report("found"), trace.report("again")
    fed = FedSizes([[0]], {})
    registers = SizeRegisters(trace, fed, {"found": (1, "found"), "again": (1, "found")})
    sizes = [trace.sizes[0] * 2, trace.sizes[0] + found * 10, again]
    stages, words = stages_of(registers, sizes, 2)
    count = np.zeros(1, np.int64)
    stages._rows[1].reported.append((registers.reported["found"], -1, count.ctypes.data))
    stages = SizeStages(registers.values, 0, 0, [], stages._rows)
    stages.registers[registers.fed] = [5]
    assert stages.run(0) is StageStatus.DONE
    count[0] = 4
    assert stages.run(1) is StageStatus.DONE
    assert words.tolist() == [10, 45, 4]
    words[:] = -1
    assert stages.run(1) is StageStatus.DONE  # nothing has changed
    assert words.tolist() == [-1, -1, -1]
    count[0] = 2
    stages.run(1)
    assert words.tolist() == [-1, 25, 2]
