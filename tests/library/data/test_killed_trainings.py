"""A training that is killed at random moments goes on at the element that it had reached.

Every step that it writes has the loss, to the bit, and the examples of the unbroken training.
"""

from __future__ import annotations

import importlib.util
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

import gpugraph as tf

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(__file__).with_name("resumed_training.py")
STEPS = 60

spec = importlib.util.spec_from_file_location("resumed_training", PROGRAM)
assert spec is not None
assert spec.loader is not None
resumed_training = importlib.util.module_from_spec(spec)
spec.loader.exec_module(resumed_training)


def start(way: str, folder: Path, steps: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(PROGRAM), way, str(folder), str(steps)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        text=True,
    )


def lines_of(folder: Path) -> list[str]:
    path = folder / "losses.txt"
    return path.read_text().splitlines() if path.exists() else []


def is_killed(process: subprocess.Popen[str], folder: Path, rng: random.Random) -> bool:
    """Kill a process some steps after its start, at any moment of a step; False if it ends."""
    target = len(lines_of(folder)) + rng.randrange(1, 9)
    deadline = time.monotonic() + 600
    while process.poll() is None and len(lines_of(folder)) < target:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    time.sleep(rng.random() * 0.01)
    process.kill()
    _, errors = process.communicate()
    assert process.returncode in (0, -9), errors
    return process.returncode != 0


def check_killed(way: str, folder: Path, kills: int, seed: int, steps: int = STEPS) -> int:
    """Kill a training `kills` times, let it end, and compare; return the number of its steps."""
    unbroken, broken = folder / "unbroken", folder / "broken"
    unbroken.mkdir()
    broken.mkdir()
    with tf.Graph().as_default():
        resumed_training.main("saver", str(unbroken), steps)
    expected = {line.split()[0]: line for line in lines_of(unbroken)}
    assert len(expected) == steps
    rng, done = random.Random(seed), 0
    while done < kills:
        done += is_killed(start(way, broken, steps), broken, rng)
    _, errors = (process := start(way, broken, steps)).communicate(timeout=600)
    assert process.returncode == 0, errors
    found = lines_of(broken)
    for line in found:
        assert line == expected[line.split()[0]]
    assert {line.split()[0] for line in found} == set(expected)
    return len(found)


def test_a_killed_training_goes_on(tmp_path):
    assert check_killed("hook", tmp_path, 2, 1, 20) >= 20


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("way", ["saver", "hook"])
def test_a_training_killed_20_times_goes_on(way, seed, tmp_path):
    check_killed(way, tmp_path, 4, seed, 30)
