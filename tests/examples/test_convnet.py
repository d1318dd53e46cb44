"""The convolutional example learns to tell digits apart."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason="the example needs scikit-learn (extra `examples`)")

PATH = Path(__file__).resolve().parents[2] / "examples" / "convnet.py"


@pytest.fixture(scope="module")
def convnet():
    """Yield the example as a module."""
    spec = importlib.util.spec_from_file_location("convnet_example", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.exhaustive
def test_it_reaches_its_accuracy(convnet, capsys):
    accuracy = convnet.main([])
    printed = capsys.readouterr().out
    assert accuracy >= 0.985
    assert f"test accuracy {100 * accuracy:.2f} %" in printed
    assert re.search(r"264 steps in [\d.]+ s", printed)


def test_its_averages_follow_in_training(convnet, capsys):
    """Held-out digits are normalized by averages: without updates they would be guessed."""
    assert convnet.main(["--epochs", "2"]) > 0.5
    assert "epoch   1" in capsys.readouterr().out
