"""Keras 2.1.6, 2.2.4 and 2.3.1, as they are, on gpugraph: each in a process of its own.

ci/test puts them beside its environment; elsewhere GPUGRAPH_OLD_KERAS may name a folder that has
them as `keras-VERSION`, and what they need as `needed`. `old_keras_programs` is what they do.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("GPUGRAPH_OLD_KERAS") or f"{sys.prefix}-old-keras")
PROGRAMS = Path(__file__).with_name("old_keras_programs.py")


def reason_to_skip(version: str) -> str:
    """Why this Keras can not be run here; empty if it can."""
    for needed in (FOLDER / f"keras-{version}", FOLDER / "needed"):
        if not needed.is_dir():
            return f"Keras {version} is not at hand: there is no {needed} (ci/test fetches it)"
    return "" if find_spec("scipy") else "Keras needs SciPy, which is not installed"


@pytest.mark.parametrize("version", ["2.1.6", "2.2.4", "2.3.1"])
def test_it_runs(version: str, tmp_path: Path) -> None:
    if reason := reason_to_skip(version):
        pytest.skip(reason)
    paths = [ROOT, FOLDER / f"keras-{version}", FOLDER / "needed"]
    environment = {
        **os.environ,
        "KERAS_BACKEND": "tensorflow",
        "KERAS_HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAMS), version],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-12_000:] + done.stderr[-4_000:]
