"""A file is short enough to be read at one go, and says why it exists and what it offers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "gpugraph"
MOST_LINES = 400


def read_files(root: Path) -> Iterator[tuple[str, str]]:
    """Each module's path within the package folder `root`, and its text."""
    for path in sorted(root.rglob("*.py")):
        yield str(path.relative_to(root)), path.read_text("utf-8")


def size_faults(root: Path) -> list[str]:
    return [
        f"{name}: {lines} lines, {MOST_LINES} at most"
        for name, text in read_files(root)
        if (lines := len(text.splitlines())) > MOST_LINES
    ]


def docstring_faults(root: Path) -> list[str]:
    return [
        f"{name}: no docstring"
        for name, text in read_files(root)
        if not (ast.get_docstring(ast.parse(text, name)) or "").strip()
    ]


def all_faults(root: Path) -> list[str]:
    return [
        f"{name}: no __all__"
        for name, text in read_files(root)
        if not any(map(is_all, ast.parse(text, name).body))
    ]


def is_all(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr()):
            return True
    return False


Check = Callable[[Path], list[str]]
CHECKS: tuple[Check, ...] = (size_faults, docstring_faults, all_faults)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_package_keeps_the_rule(check: Check) -> None:
    faults = check(PACKAGE)
    assert not faults, "\n".join(["", *faults])


SOUND = '"""Why."""\n__all__: list[str] = []\n'


@pytest.mark.parametrize(
    ("check", "text", "fault"),
    [
        (size_faults, SOUND + "#\n" * (MOST_LINES - 1), "a.py: 401 lines, 400 at most"),
        (docstring_faults, "__all__ = []\n", "a.py: no docstring"),
        (docstring_faults, '""" """\n', "a.py: no docstring"),
        (all_faults, '"""Why."""\n', "a.py: no __all__"),
        (all_faults, "__all__: list[str]\n", "a.py: no __all__"),
    ],
)
def test_a_broken_rule_is_found(check: Check, text: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.py").write_text(SOUND + "#\n" * (MOST_LINES - 2), "utf-8")
    assert check(tmp_path) == []
    (tmp_path / "a.py").write_text(text, "utf-8")
    assert check(tmp_path) == [fault]
