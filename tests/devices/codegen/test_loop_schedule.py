"""Passes of programs: scheduling takes time in proportion to the program."""

from __future__ import annotations

from typing import Any

import pytest

import gpugraph as tf
from gpugraph.devices.codegen.loop_schedule import schedule
from gpugraph.devices.codegen.program import Program
from gpugraph.devices.native import Fusion


def looks(monkeypatch: pytest.MonkeyPatch, length: int) -> int:
    """How often scheduling looks at the operands of a value, in a chain of `length` values."""
    fusion = Fusion()
    value = fusion.input(tf.float32, (4, 9))
    for _ in range(length):
        value = fusion.apply("exp(x)", [value], tf.float32)
    fusion.output(value, None)
    program, calls = fusion.finish().program, []
    operands = Program.operands

    def counting(self: Program, index: int) -> Any:
        calls.append(index)
        return operands(self, index)

    with monkeypatch.context() as patch:
        patch.setattr(Program, "operands", counting)
        schedule(program)
    return len(calls)


def test_its_work_grows_with_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looks(monkeypatch, 400) < 3 * looks(monkeypatch, 200)
