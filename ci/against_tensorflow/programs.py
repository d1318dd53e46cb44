"""The losses of the programs in examples/programs/, by TensorFlow and by `gpugraph run`.

    python ci/against_tensorflow/programs.py --tensorflow PYTHON [--only NAME] [--record]

Each program runs unchanged on both sides, in a separate process, from equal weights, and prints
the loss of 20 steps. A line gives the largest relative difference. The script fails where one is
above 1e-4. --record keeps TensorFlow's losses for tests/examples/test_programs.py.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from sides import ROOT, python_of_tensorflow, side_environment

PROGRAMS = ROOT / "examples" / "programs"
RECORD = ROOT / "tests" / "examples" / "program_losses.json"
LIMIT = 1e-4
NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"


def losses(command: list[str], folder: Path = PROGRAMS, sources: str = "") -> list[float]:
    """Return the losses that a program of a folder prints, in order; ends this script where the
    program fails.

    sources: a further folder from which the program imports.
    """
    environment = {**side_environment(), "TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    if sources:
        environment["PYTHONPATH"] += os.pathsep + sources
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=folder, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-4000:]}")
    lines = re.findall(rf"loss((?: {NUMBER})+)", done.stdout)
    return [float(number) for line in lines for number in line.split()]


def largest_difference(expected: list[float], actual: list[float]) -> float:
    """Return the largest relative difference of two lists of losses; infinite if lengths differ."""
    if len(expected) != len(actual) or not expected:
        return float("inf")
    return max(abs(a - b) / max(abs(a), 1e-6) for a, b in zip(expected, actual))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tensorflow", metavar="PYTHON", help="a Python that has TensorFlow")
    parser.add_argument("--only", metavar="NAME", help="the one program of this name")
    parser.add_argument("--record", action="store_true", help="keep TensorFlow's losses")
    options = parser.parse_args()
    tensorflow = python_of_tensorflow(options.tensorflow)
    names = [options.only] if options.only else sorted(p.stem for p in PROGRAMS.glob("*.py"))
    record, worst = {}, 0.0
    for name in names:
        record[name] = losses([tensorflow, f"{name}.py"])
        actual = losses([sys.executable, "-m", "gpugraph", "run", f"{name}.py"])
        difference = largest_difference(record[name], actual)
        worst = max(worst, difference)
        print(f"{name:20} {len(actual):3} losses, largest difference {difference:.1e}", flush=True)
    if options.record and not options.only:
        Path(RECORD).write_text(json.dumps(record, indent=0) + os.linesep, "utf-8")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
