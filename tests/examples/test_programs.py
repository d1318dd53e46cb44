"""Programs of TensorFlow 1's time run unchanged, and their losses are those of TensorFlow.

`ci/against_tensorflow/programs.py --record` took the losses from TensorFlow.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "examples" / "programs"
LOSSES = json.loads(Path(__file__).with_name("program_losses.json").read_text("utf-8"))
NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"


def test_all_programs_have_losses_of_tensorflow():
    assert sorted(LOSSES) == sorted(path.stem for path in PROGRAMS.glob("*.py"))
    assert all(len(losses) >= 20 for losses in LOSSES.values())


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_losses_are_those_of_tensorflow(name):
    done = subprocess.run(
        [sys.executable, "-m", "gpugraph", "run", f"{name}.py"],
        cwd=PROGRAMS,
        # Tests run beside others: threads of the BLAS that wait for a processor spin meanwhile.
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = re.findall(rf"loss((?: {NUMBER})+)", done.stdout)
    losses = [float(number) for line in lines for number in line.split()]
    np.testing.assert_allclose(losses, LOSSES[name], rtol=1e-4)
