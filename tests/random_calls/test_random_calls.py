"""Random wrong calls end with errors of TensorFlow's classes, and none hangs or crashes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it limits memory as POSIX does")


@pytest.mark.parametrize(
    ("count", "seed"),
    [(2000, 1), *(pytest.param(2500, seed, marks=pytest.mark.exhaustive) for seed in range(2, 10))],
)
def test_random_wrong_calls(count: int, seed: int, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.random_calls.program", str(seed), str(count)],
        cwd=tmp_path,  # calls may write files
        env={**os.environ, "GPUGRAPH_NATIVE": "0", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=500,
    )
    last_call = ended.stderr.strip().rpartition("\n")[2]
    assert ended.stdout.endswith(f"{count} calls, 0 faults\n"), (
        f"{ended.stdout[-4000:]}\nexit status {ended.returncode}, the last call was {last_call}"
    )
