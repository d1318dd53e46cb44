"""Runs a program by one old Keras on gpugraph, in a separate process.

ci/test puts the packages beside its environment; elsewhere GPUGRAPH_OLD_KERAS may name a folder
that has them as `keras-VERSION`, and their requirements as `needed`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

VERSIONS = ("2.1.6", pytest.param("2.2.4", marks=pytest.mark.exhaustive), "2.3.1")
ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("GPUGRAPH_OLD_KERAS") or f"{sys.prefix}-old-keras")


def reason_to_skip(version: str) -> str:
    """Why this Keras can not be run here; empty if it can."""
    for needed in (FOLDER / f"keras-{version}", FOLDER / "needed"):
        if not needed.is_dir():
            return f"Keras {version} is not at hand: there is no {needed} (ci/test fetches it)"
    return "" if find_spec("scipy") else "Keras needs SciPy, which is not installed"


def run_program(program: Path, version: str, folder: Path) -> None:
    """Run `program VERSION` where `import keras` is that version; skip the test without it.

    folder: for its output. The modules beside this one are on its path.
    """
    if reason := reason_to_skip(version):
        pytest.skip(reason)
    paths = [ROOT, Path(__file__).parent, FOLDER / f"keras-{version}", FOLDER / "needed"]
    environment = {
        **os.environ,
        "KERAS_BACKEND": "tensorflow",
        "KERAS_HOME": str(folder),
        "TMPDIR": str(folder),
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(program), version],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-12_000:] + done.stderr[-4_000:]
