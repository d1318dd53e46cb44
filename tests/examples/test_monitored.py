"""A training that kill -9 ends goes on from its last checkpoint, as if it was never killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason="the examples' data set is not installed")

ROOT = Path(__file__).resolve().parents[2]
STEPS, EVERY = 60, 10

# The program is imported once, and each run is a fork of that process: the one that is killed.
KILLER = """
import os, random, signal, sys, time
sys.path[:0] = sys.argv[1:3]
import monitored
folder, losses, kills, steps, every = sys.argv[3:8]
arguments = ["--folder", folder, "--losses", losses, "--steps", steps, "--every", every]

def start():
    child = os.fork()
    if not child:
        code = 1
        try:
            monitored.main(arguments)
            code = 0
        finally:
            os._exit(code)
    return child

def lines():
    return open(losses).read().count("\\n") if os.path.exists(losses) else 0

chance = random.Random(int(kills))
for kill in range(int(kills)):
    child, wanted = start(), lines() + chance.randint(0, 3 * int(every))
    while lines() < wanted:
        if os.waitpid(child, os.WNOHANG)[0]:
            child = 0
            break
        time.sleep(0.001)
    if child:
        time.sleep(chance.random() * 0.02)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
assert os.waitpid(start(), 0)[1] == 0
"""


def _losses(tmp_path: Path, kills: int) -> dict[int, str]:
    """Return each step's loss, the same in all runs that have come to it."""
    folder = tmp_path / f"killed{kills}"
    folder.mkdir()
    path = folder / "losses"
    arguments = [str(ROOT), str(ROOT / "examples"), str(folder / "log"), str(path)]
    numbers = map(str, (kills, STEPS, EVERY))
    subprocess.run(
        [sys.executable, "-c", KILLER, *arguments, *numbers],
        check=True, timeout=300, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    losses: dict[int, str] = {}
    for line in path.read_text().splitlines():
        number, _, loss = line.partition(" ")
        assert losses.setdefault(int(number), loss) == loss, f"step {number} has another loss"
    return losses


@pytest.mark.parametrize("kills", [5, pytest.param(20, marks=pytest.mark.exhaustive)])
def test_killed_trainings_go_on(tmp_path: Path, kills: int) -> None:
    whole = _losses(tmp_path, 0)
    assert sorted(whole) == list(range(STEPS))
    losses = _losses(tmp_path, kills)
    assert {step: losses.get(step) for step in whole} == whole
