"""The driver of mutated files: it reads some of each cheap format, and reports failures."""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from typing import Any

import pytest

PATH = Path(__file__).resolve().parents[1] / "ci" / "mutated_files.py"


@pytest.fixture(scope="module")
def driver() -> Any:
    spec = importlib.util.spec_from_file_location("mutated_files", PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


@pytest.mark.parametrize(
    ("name", "count"), [("models as JSON", 150), ("HDF5, configurations", 40), ("TFRecords", 100)]
)
def test_mutated_files_are_read_or_refused(driver: Any, name: str, count: int) -> None:
    pytest.importorskip("h5py")
    watched = driver.Watched(name, 3, count)
    watched.run()
    assert watched.faults == []
    assert sum(watched.outcomes.values()) == count
    assert len(watched.outcomes) > 1


CHILD = """
import os, sys, time
first = int(sys.argv[sys.argv.index("--first") + 1])
for number in range(first, 6):
    print(number, flush=True)
    if number == 1:
        time.sleep(60)
    if number == 3:
        os.abort()
    print(" FAULT: KeyError: 'x'" if number == 4 else " read: it", flush=True)
"""


def test_what_does_not_return_or_crashes_is_counted(
    driver: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    child = tmp_path / "child.py"
    child.write_text(CHILD)
    monkeypatch.setattr(driver, "__file__", str(child))
    monkeypatch.setattr(driver, "SECONDS", 3)
    watched = driver.Watched("TFRecords", 1, 6)
    start = time.monotonic()
    watched.run()
    assert time.monotonic() - start < 55
    expected = {"read: it": 3, "HANG": 1, "CRASH: exit status -6": 1, "FAULT: KeyError": 1}
    assert dict(watched.outcomes) == expected
    assert [fault.split(":")[0] for fault in watched.faults] == [
        f"TFRecords, {number} of seed 1" for number in (1, 3, 4)
    ]
    assert driver.table([watched])[0] == "TFRecords: 6 files, 3 faults"
