"""ci/house.py: its counts for a small tree. ci/test checks the package with it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def house() -> ModuleType:
    spec = importlib.util.spec_from_file_location("house", ROOT / "ci" / "house.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["house"] = module
    spec.loader.exec_module(module)
    return module


def build(folder: Path, files: dict[str, str]) -> Path:
    for name, source in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(source, "utf-8")
    return folder


BODY = "a = f(1)\nb = a.b\nc = [a, b]\nd = c[0]\ne = g(d, c)\nh = e + 1\n"
OTHER = BODY.replace("a", "x").replace("1", "22").replace("g", "foo")


def test_what_is_counted(house: ModuleType, tmp_path: Path) -> None:
    files = {
        "deep/x.py": '"""X."""\n' + BODY,
        "other/x.py": '"""X."""\n\nimport sys\n\n' + OTHER,
        "y.py": (
            '"""Y."""\n\n\ndef f(made, x):\n    """F."""\n    x.own = 1\n'
            "    return [at for at in x]\n\n\n"
            "class C:\n    def g(self): ...\n\n    def _h(self): ...\n"
        ),
    }
    counts, parts = house.count_all(house.read_files(build(tmp_path, files)))
    assert parts["names"] == ["x.py: deep/x.py, other/x.py"]
    assert sorted(parts["vague"]) == ["y.py:4: made", "y.py:6: own", "y.py:7: at"]
    assert parts["documented"] == ["y.py:10: C", "y.py:11: C.g"]
    assert counts["documented"] == 33.3
    assert parts["repeated"] == ["deep/x.py:1-6 ~ other/x.py:1-9"]
    assert parts["folders"] == []


def test_signatures_and_imports_are_no_repetition(house: ModuleType, tmp_path: Path) -> None:
    lines = "".join(f"    {name}: int = {number},\n" for number, name in enumerate("abcdefgh"))
    source = f"def f(\n{lines}) -> int:\n    return a\n"
    imports = "from m import (\n" + "".join(f"    n{number},\n" for number in range(9)) + ")\n"
    files = {"one.py": imports + source, "two.py": imports + source}
    _, parts = house.count_all(house.read_files(build(tmp_path, files)))
    assert parts["repeated"] == []


def test_crowded_folders(house: ModuleType, tmp_path: Path) -> None:
    files = {f"deep/f{number}.py": "x = 1\n" for number in range(26)}
    _, parts = house.count_all(house.read_files(build(tmp_path, files)))
    assert parts["folders"] == ["deep: 26 files"]


def test_patterns_of_prose(house: ModuleType, tmp_path: Path) -> None:
    source = (
        '"""X, by which y is sent.\n\nValueError for other shapes. Raises TypeError for z."""\n\n\n'
        'def f():\n    """Return the size, or that of others.\n\n    ~12\n    """\n'
    )
    counts, parts = house.count_all(house.read_files(build(tmp_path, {"x.py": source})))
    assert [len(parts[name]) for name in ("verbless", "relatives", "residue")] == [1, 1, 1]
    assert len(parts["pronouns"]) == 2
    assert counts["verbless"] == 1
