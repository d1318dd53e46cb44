"""Digits are trained on Ray by a parameter server and two workers. Skipped without Ray."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="the extra `ray` is not installed")
pytest.importorskip("sklearn", reason="the examples' data set is not installed")
pytest.importorskip("grpc", reason="the extra `cluster` is not installed")

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "ray_training.py"


def test_two_workers_train_in_both_ways() -> None:
    command = [sys.executable, str(PROGRAM), "--steps", "150"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    ends = re.findall(r"(\w+): accuracy of the last batches (\S+) to", done.stdout)
    assert [way for way, _ in ends] == ["asynchronous", "synchronous"]
    assert min(float(accuracy) for _, accuracy in ends) > 0.7
