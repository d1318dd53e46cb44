"""The digits example learns, and its losses are the same bits wherever its operations run."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason="the digits example needs scikit-learn (extra `examples`)")

PATH = Path(__file__).resolve().parents[2] / "examples" / "digits.py"


@pytest.fixture(scope="module")
def digits():
    """Yield the example as a module."""
    spec = importlib.util.spec_from_file_location("digits_example", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture(scope="module")
def runs(digits, tmp_path_factory):
    """Arguments to run the example with -> losses and printed lines; each is run once."""
    done = {}

    def run(capsys, gpus, epochs=3):
        if (gpus, epochs) not in done:
            file = tmp_path_factory.mktemp("digits") / "losses"
            losses = digits.main(f"--virtual-gpus {gpus} --epochs {epochs} --losses {file}".split())
            assert [float.fromhex(line) for line in file.read_text("utf-8").split()] == losses
            done[gpus, epochs] = losses, capsys.readouterr().out
        return done[gpus, epochs]

    return run


def test_it_learns(runs, capsys):
    losses, printed = runs(capsys, 0)
    first, last = losses[:20], losses[-20:]
    assert sum(first) > 2 * sum(last) > 0
    accuracy = float(re.search(r"test accuracy ([\d.]+) %", printed)[1])
    assert 85 < accuracy <= 100


def test_the_losses_do_not_depend_on_where_it_runs(runs, capsys):
    losses = [runs(capsys, gpus)[0] for gpus in (0, 1, 2)]
    assert losses[0] == losses[1] == losses[2]


@pytest.mark.parametrize(
    ("gpus", "devices"), [(0, {"CPU:0"}), (1, {"CPU:0", "GPU:0"}), (2, {"CPU:0", "GPU:0", "GPU:1"})]
)
def test_it_summarizes_the_placement(runs, capsys, gpus, devices):
    printed = runs(capsys, gpus)[1]
    operations = re.search(r"^operations: +(.*)$", printed, re.M)[1]
    assert set(re.findall(r"\d+ on (\S+?:\d+)", operations)) == devices
    assert {"steps", "fused", "native"} <= set(re.findall(r"^(\w+): ", printed, re.M))
    assert printed.rstrip().endswith(" -m gpugraph explain --ops examples/digits.py --epochs 1")
    sent = int(re.search(r"(\d+) tensors go to another device", printed)[1])
    assert (sent > 0) == (gpus > 0)
    for place in devices:
        assert re.search(rf"peak memory of .*{place}: [\d.]+ KiB", printed)
