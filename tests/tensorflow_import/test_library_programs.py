"""Programs over the libraries of TensorFlow 1, where `GPUGRAPH_LIBRARIES` has a folder of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = sorted((ROOT / "ci" / "library_programs").rglob("*.py"))
FOLDER = os.environ.get("GPUGRAPH_LIBRARIES", "")


def test_there_are_programs() -> None:
    assert len(PROGRAMS) >= 35


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", [path.stem for path in PROGRAMS])
def test_a_program_over_a_library_runs(program: str) -> None:
    if not FOLDER:
        pytest.skip("GPUGRAPH_LIBRARIES names no folder of `ci/libraries.py install`")
    command = [sys.executable, str(ROOT / "ci" / "libraries.py"), "run", FOLDER, program]
    result = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    assert result.returncode == 0, result.stdout[-3000:]
