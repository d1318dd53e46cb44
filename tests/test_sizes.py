"""Files and folders are short enough to be read at one go, and a name is there once."""

from __future__ import annotations

import ast
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "gpugraph"
MAX_LINES = 500
USUAL_LINES = 400
MOST_BEYOND_USUAL = 0.03
MAX_MEDIAN = 150
MOST_FILES = 25
MOST_AT_THE_TOP = 20
SHARED_NAMES = {"dtypes.py"}  # api/dtypes.py is the public face of base/dtypes.py


def read_files(root: Path) -> Iterator[tuple[str, str]]:
    """Yield each module's path within the package folder `root`, and its text."""
    for path in sorted(root.rglob("*.py")):
        yield str(path.relative_to(root)), path.read_text("utf-8")


def size_faults(root: Path) -> list[str]:
    return [
        f"{name}: {lines} lines, {MAX_LINES} at most"
        for name, text in read_files(root)
        if (lines := len(text.splitlines())) > MAX_LINES
    ]


def long_faults(root: Path) -> list[str]:
    """Few files, each about one matter, are longer than usual."""
    counts = [len(text.splitlines()) for _, text in read_files(root)]
    beyond = sum(count > USUAL_LINES for count in counts)
    if beyond <= max(1, MOST_BEYOND_USUAL * len(counts)):
        return []
    return [f"{beyond} of {len(counts)} files have more than {USUAL_LINES} lines"]


def median_faults(root: Path) -> list[str]:
    """Half of the files are much shorter than the longest may be."""
    median = statistics.median(len(text.splitlines()) for _, text in read_files(root))
    return [f"half of the files have {median} lines"] if median > MAX_MEDIAN else []


def folder_faults(root: Path) -> list[str]:
    """Folders with too many files; the top of the package has few, and folders."""
    counts = Counter(path.parent for path in root.rglob("*.py"))
    limits = {root: MOST_AT_THE_TOP}
    return [
        f"{folder.relative_to(root)}: {count} files, {limit} at most"
        for folder, count in sorted(counts.items())
        if count > (limit := limits.get(folder, MOST_FILES))
    ]


def name_faults(root: Path) -> list[str]:
    """Return files of one name in several folders, which are hard to tell apart in a search."""
    places: dict[str, list[str]] = {}
    for path in sorted(root.rglob("*.py")):
        places.setdefault(path.name, []).append(str(path.relative_to(root)))
    return [
        f"{name}: {', '.join(paths)} bear one name"
        for name, paths in places.items()
        if len(paths) > 1 and name not in {"__init__.py", *SHARED_NAMES}
    ]


def docstring_faults(root: Path) -> list[str]:
    return [
        f"{name}: no docstring"
        for name, text in read_files(root)
        if not (ast.get_docstring(ast.parse(text, name)) or "").strip()
    ]


Check = Callable[[Path], list[str]]
CHECKS: tuple[Check, ...] = (
    size_faults,
    long_faults,
    median_faults,
    folder_faults,
    name_faults,
    docstring_faults,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_package_keeps_the_rule(check: Check) -> None:
    faults = check(PACKAGE)
    assert not faults, "\n".join(["", *faults])


SOUND = '"""Why."""\nx = 1\n'


@pytest.mark.parametrize(
    ("check", "text", "fault"),
    [
        (size_faults, SOUND + "#\n" * (MAX_LINES - 1), "a.py: 501 lines, 500 at most"),
        (docstring_faults, "x = 1\n", "a.py: no docstring"),
        (docstring_faults, '""" """\n', "a.py: no docstring"),
    ],
)
def test_a_broken_file_is_found(check: Check, text: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.py").write_text(SOUND + "#\n" * (MAX_LINES - 2), "utf-8")
    assert check(tmp_path) == []
    (tmp_path / "a.py").write_text(text, "utf-8")
    assert check(tmp_path) == [fault]


def test_many_long_files_are_found(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        assert long_faults(tmp_path) == []
        (tmp_path / name).write_text(SOUND + "#\n" * USUAL_LINES, "utf-8")
    assert long_faults(tmp_path) == ["2 of 2 files have more than 400 lines"]


def test_a_high_median_is_found(tmp_path: Path) -> None:
    for name, lines in (("a.py", 2), ("b.py", MAX_MEDIAN + 1), ("c.py", 300)):
        (tmp_path / name).write_text(SOUND + "#\n" * (lines - 2), "utf-8")
    assert median_faults(tmp_path) == ["half of the files have 151 lines"]
    (tmp_path / "c.py").unlink()
    assert median_faults(tmp_path) == []


@pytest.mark.parametrize(
    ("check", "files", "fault"),
    [
        (folder_faults, [f"deep/f{n}.py" for n in range(26)], "deep: 26 files, 25 at most"),
        (folder_faults, [f"f{n}.py" for n in range(21)], ".: 21 files, 20 at most"),
        (name_faults, ["a/x.py", "b/x.py"], "x.py: a/x.py, b/x.py bear one name"),
    ],
)
def test_a_crowded_folder_is_found(
    check: Check, files: list[str], fault: str, tmp_path: Path
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(SOUND, "utf-8")
    assert check(tmp_path) == [fault]
    (tmp_path / files[-1]).unlink()
    assert check(tmp_path) == []
