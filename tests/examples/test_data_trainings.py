"""Programs that train on tf.data in the manner of the time have TensorFlow's losses.

`ci/against_tensorflow/trainings_on_data.py --record` took the losses from TensorFlow.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "ci" / "against_tensorflow" / "data_trainings"
LOSSES = json.loads(Path(__file__).with_name("data_training_losses.json").read_text("utf-8"))
NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
IN_EACH_RUN = ("cnn_on_records", "text_classifier")
IMPORTS = {"bert_classifier": "bert", "resnet_images": "PIL"}


def test_all_programs_have_losses_of_tensorflow():
    assert sorted(LOSSES) == sorted(path.stem for path in PROGRAMS.glob("*.py"))
    assert all(len(losses) >= 20 for losses in LOSSES.values())


@pytest.mark.parametrize(
    "name",
    [
        name if name in IN_EACH_RUN else pytest.param(name, marks=pytest.mark.exhaustive)
        for name in sorted(LOSSES)
    ],
)
def test_losses_are_those_of_tensorflow(name):
    if name in IMPORTS and importlib.util.find_spec(IMPORTS[name]) is None:
        pytest.skip(f"{name} imports {IMPORTS[name]}")
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "gpugraph", "run", f"{name}.py"],
        cwd=PROGRAMS,
        env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = re.findall(rf"loss((?: {NUMBER})+)", done.stdout)
    losses = [float(number) for line in lines for number in line.split()]
    np.testing.assert_allclose(losses, LOSSES[name], rtol=2e-5)
