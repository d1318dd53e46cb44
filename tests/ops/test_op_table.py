"""The table of op types: nothing that public programs use is missing without a reason."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
from types import ModuleType

import pytest

from gpugraph.ops.framework.op_declaration import DECLARATIONS

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "ci" / "op_table.py"


@pytest.fixture(scope="module")
def table() -> ModuleType:
    spec = importlib.util.spec_from_file_location("op_table", PROGRAM)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["op_table"] = module
    spec.loader.exec_module(module)
    return module


def test_every_op_that_programs_use_is_declared_or_said_to_be_missing(table: ModuleType) -> None:
    uses = table.reference()
    assert len(uses) == len(dict(uses)) == 143
    wanting = [name for name, _ in uses if name not in DECLARATIONS and name not in table.MISSING]
    assert wanting == []


@pytest.mark.parametrize(
    ("op_type", "expected"),
    [
        ("Tanh", ("call", "expression", "expression", "yes", "x, dy")),
        ("Sum", ("call", "expression", "expression", "yes", "dy")),
        ("MatMul", ("call", "product", "product", "yes", "x, dy")),
        ("Transpose", ("call", "copies", "copies", "yes", "dy")),
        ("Floor", ("call", "expression", "expression", "-", "-")),
        ("PreventGradient", ("call", "expression", "expression", "yes", "refuses")),
        ("PyFunc", ("call", "host", "-", "-", "-")),
    ],
)
def test_a_row_says_what_an_op_has(
    table: ModuleType, op_type: str, expected: tuple[str, ...]
) -> None:
    assert table.row(op_type)[1:6] == expected


def test_what_has_no_kernel_or_was_not_derived_has_a_note(table: ModuleType) -> None:
    assert table.row("PyFunc").notes == (
        "PyFunc has no GPU kernel: Python functions run on the host",
    )
    (note,) = table.row("Merge").notes
    assert note.startswith("Merge was not derived twice: it moves tensors")
