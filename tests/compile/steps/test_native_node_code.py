"""The native code of a plan, and the order in which it is compiled."""

from __future__ import annotations

from typing import Any

import pytest

from gpugraph.base.dtypes import float32
from gpugraph.compile.steps import native_node_code
from gpugraph.compile.steps.native_node_code import FileOf, Piece, compile_pieces
from gpugraph.devices.native import Fusion


def program(expression: str) -> Any:
    fusion = Fusion()
    fusion.output(fusion.apply(expression, [fusion.input(float32, (4,))], float32))
    return fusion.finish().program


def piece(source: Any, work: int = 0) -> Piece:
    return Piece(source, lambda function: function, work=work)


def test_programs_with_most_work_are_compiled_first(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[Any] = []

    def prepare(programs: Any) -> list[Any]:
        order.extend(programs)
        return [("code of", source) for source in programs]

    monkeypatch.setattr(native_node_code, "prepare", prepare)
    monkeypatch.setattr(native_node_code, "prepare_source", lambda *source: source)
    small, large, medium = map(program, ("x + x", "x * x", "x - x"))
    file = FileOf("pooling.h", "float32")
    codes = compile_pieces(
        [piece(small, 3), piece(None), piece(large, 900), piece(file), piece(medium, 40)]
    )
    assert order == [large, medium, small]
    assert codes == [
        ("code of", small), None, ("code of", large), (*file,), ("code of", medium)
    ]  # fmt: skip
