"""ci/gpu_tests.py: failures, tests without an end and processes that are gone are all told of."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ci import gpu_tests

ROOT = Path(__file__).parents[1]

TESTS = """
import os, time, pytest
pytestmark = pytest.mark.gpu
def test_good(): pass
def test_bad(): assert 1 == 2, "numbers"
def test_without_end(): time.sleep(60)
def test_gone(): os._exit(1)
@pytest.mark.skip(reason="not here")
def test_left_out(): pass
def test_after(): pass
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("spread", [False, True])
def test_every_test_has_its_outcome(spread: bool, tmp_path: Path) -> None:
    if spread:
        pytest.importorskip("xdist")
    folder, out = tmp_path / "tests", tmp_path / "out"
    folder.mkdir()
    (folder / "test_some.py").write_text(TESTS)
    (folder / "test_others.py").write_text("raise SystemExit('has no test for GPUs')")
    (folder / "test_broken.py").write_text("import pytest.mark.gpu")
    how = ["--tests", str(folder)] if spread else ["--only", str(folder / "test_some.py")]
    script = [sys.executable, str(ROOT / "ci" / "gpu_tests.py"), "--seconds", "100", "--each", "3"]
    done = subprocess.run([*script, "--out", str(out), *how], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    found = json.loads((out / "tests.json").read_text())
    outcomes = {name.rpartition("::")[2]: each["outcome"] for name, each in found.items()}
    broken = [outcomes.pop(name) for name in list(outcomes) if name.endswith("test_broken.py")]
    assert broken == ["failed"] * spread  # and it has kept none from running
    ended = "failed" if spread else "begun"
    assert outcomes == {
        "test_good": "passed",
        "test_bad": "failed",
        "test_without_end": ended,
        "test_gone": ended,
        "test_left_out": "skipped",
        "test_after": "passed",
    }
    assert (out / "summary.txt").read_text() == done.stdout
    (late,) = [line for line in done.stdout.splitlines() if "test_without_end" in line][:1]
    assert "ended for its time at" in late and "in test_without_end" in late
    assert "AssertionError: numbers" in done.stdout and "skipped: " in done.stdout
    assert (out / "tests.log").stat().st_size > 0


def test_where_there_is_to_be_a_gpu_none_is_a_failure(tmp_path: Path) -> None:
    test = tmp_path / "test_some.py"
    test.write_text(
        "import pytest\n@pytest.mark.gpu\n@pytest.mark.skip(reason='no CUDA GPU: it is gone')\n"
        "def test_it(): pass\n@pytest.mark.gpu\ndef test_good(): pass\n"
    )
    script = [sys.executable, str(ROOT / "ci" / "gpu_tests.py"), "--seconds", "60", "--each", "30"]
    command = [*script, "--out", str(tmp_path), "--only", str(test)]
    for asked, status in (("1", 1), ("0", 0)):
        env = {**os.environ, "GPUGRAPH_GPU": asked}
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        assert done.returncode == status and "it is gone" in done.stdout


@pytest.mark.exhaustive
def test_when_the_time_is_over_what_ran_is_told(tmp_path: Path) -> None:
    test = tmp_path / "test_some.py"
    test.write_text(TESTS)
    script = [sys.executable, str(ROOT / "ci" / "gpu_tests.py"), "--seconds", "12", "--each", "90"]
    done = subprocess.run(
        [*script, "--out", str(tmp_path), "--only", str(test)], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "tests: not done in 12 s" in done.stdout and "1 begun" in done.stdout


def test_when_it_is_ended_from_outside_what_ran_is_told(tmp_path: Path) -> None:
    test, out = tmp_path / "test_some.py", tmp_path / "out"
    begun = tmp_path / "begun"
    test.write_text(
        "import pathlib, time, pytest\npytestmark = pytest.mark.gpu\n"
        "def test_good(): pass\n"
        f"def test_late(): pathlib.Path({str(begun)!r}).touch(); time.sleep(60)\n"
    )
    script = [sys.executable, str(ROOT / "ci" / "gpu_tests.py"), "--seconds", "100", "--each", "90"]
    made = subprocess.Popen([*script, "--out", str(out), "--only", str(test)])
    ends = time.monotonic() + 60
    while not begun.exists() and time.monotonic() < ends:
        time.sleep(0.05)
    made.terminate()
    assert made.wait(30) == 1
    found = json.loads((out / "tests.json").read_text())
    assert sorted(each["outcome"] for each in found.values()) == ["begun", "passed"]
    assert "ended from outside" in (out / "summary.txt").read_text()


@pytest.mark.parametrize(
    ("cores", "gpu", "count"),
    [
        (2, None, 2),
        (4, None, 4),
        (16, None, 8),
        (4, (80 << 30, False), 4),
        (64, (80 << 30, False), 8),
        (8, (5 << 30, False), 2),
        (8, (1 << 30, False), 1),
        (16, (80 << 30, True), 1),
    ],
)
def test_processes_are_as_many_as_cores_memory_and_mode_allow(
    cores: int, gpu: Any, count: int
) -> None:
    assert gpu_tests.workers(cores, gpu) == count


def test_it_does_not_start_where_a_package_is_missing(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    python.chmod(0o755)
    done = subprocess.run(
        [ROOT / "ci" / "gpu"],
        env=os.environ | {"PYTHON": str(python)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "has no numpy google.protobuf pytest hypothesis xdist: pip install" in done.stderr
