"""Arrays of one element convert to numbers within `gpugraph run`, as before NumPy 2.4."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import math
import numpy as np

assert int(np.array([3])) == 3 and float(np.array([[2.5]])) == 2.5
assert "%d %.1f" % (np.array([7]), np.array([0.5])) == "7 0.5"
assert math.exp(np.array([0.0])) == 1.0 and float(np.matrix([[4.0]])) == 4.0
assert int(np.array(5)) == 5 and [1, 2][np.array(1)] == 2
for wrong in (np.array([1, 2]), np.zeros(0)):
    try:
        float(wrong)
    except TypeError:
        continue
    raise AssertionError(wrong)
print("done")
"""


def test_arrays_of_one_element_are_numbers(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "gpugraph", "run", str(program)]
    root = str(Path(__file__).resolve().parents[3])
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": root}
    )
    assert done.stdout == "done\n", done.stderr
