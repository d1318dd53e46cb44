"""Digits are trained by a parameter server and two workers, each a process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason="the examples' data set is not installed")
pytest.importorskip("grpc", reason="the extra `cluster` is not installed")

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "parameter_server.py"


def test_two_workers_train_in_step() -> None:
    command = [sys.executable, str(PROGRAM), "--synchronous", "--steps", "60"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    ends = re.findall(r"worker (\d) has finished; accuracy of its last batch (\S+)", done.stdout)
    assert sorted(task for task, _ in ends) == ["0", "1"]
    assert min(float(accuracy) for _, accuracy in ends) > 0.5
