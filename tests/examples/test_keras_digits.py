"""The example by `tf.keras` tells digits apart, and leaves its model, its table and its picture."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason="the example needs scikit-learn (extra `examples`)")
pytest.importorskip("h5py", reason="the example needs h5py (extra `examples`)")

ROOT = Path(__file__).resolve().parents[2]
PATH = ROOT / "examples" / "keras_digits.py"


@pytest.fixture(scope="module")
def example():
    """Yield the example as a module."""
    spec = importlib.util.spec_from_file_location("keras_digits_example", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("keras_digits") / "results"


@pytest.fixture(scope="module")
def printed(folder):
    """Return the output of the example, run by the command line.

    The run waits for native code: where it arrives in the middle of a training, the sums of further
    steps have other orders, and the accuracy of another run may be two digits away.
    """
    settings = {"GPUGRAPH_NATIVE": "wait", "GPUGRAPH_VERIFY": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "gpugraph", "run", str(PATH), "--folder", str(folder)],
        env={**os.environ, **settings, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_reaches_its_accuracy(printed):
    assert float(re.search(r"test accuracy ([\d.]+) %", printed)[1]) >= 99.0


def test_its_table_has_a_line_for_each_epoch(printed, example, folder):
    assert sorted(path.name for path in folder.iterdir()) == [
        "best.h5", "epochs.csv", "learning.svg",
    ]  # fmt: skip
    epochs = example.read_epochs(folder / "epochs.csv")
    assert set(epochs[0]) == {"epoch", "loss", "acc", "val_loss", "val_acc", "lr"}
    assert 10 <= len(epochs) <= 30 and epochs[-1]["loss"] < 0.1 * epochs[0]["loss"]
    assert epochs[-1]["lr"] < 0.5 * epochs[0]["lr"]


def test_its_picture_has_both_charts(printed, example, folder):
    root = ElementTree.parse(folder / "learning.svg").getroot()
    elements = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert elements.count("polyline") == 4 and elements.count("circle") == 3
    texts = [element.text for element in root.iter() if element.tag.endswith("}text")]
    assert {"Loss", "Accuracy, %", "training", "validation", "100"} <= set(texts)
    epochs = len(example.read_epochs(folder / "epochs.csv"))
    for element in root.iter():
        if element.tag.endswith("}polyline"):
            points = [
                tuple(map(float, point.split(","))) for point in element.get("points").split()
            ]
            assert len(points) == epochs
            assert all(0 <= x <= example.WIDTH and 0 <= y <= example.HEIGHT for x, y in points)
