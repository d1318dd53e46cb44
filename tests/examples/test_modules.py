"""Modules on templates: their variables, their nesting, and that the siamese example learns."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import gpugraph as tf

pytest.importorskip("sklearn", reason="the example needs scikit-learn (extra `examples`)")

PATH = Path(__file__).resolve().parents[2] / "examples" / "modules.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("modules_example", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names(variables):
    return [variable.op.name for variable in variables]


def test_it_learns(example, capsys):
    untrained = example.main(["--steps", "0"])
    assert example.main(["--steps", "600"]) > max(0.85, untrained + 0.05)
    assert "siamese has siamese/see/linear/w, siamese/see/linear/b," in capsys.readouterr().out


def test_a_module_is_one_wherever_it_is_called(example):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3])
        with tf.variable_scope("here"):
            net = example.Mlp([4, 2])
        with tf.variable_scope("there"):
            first, second = net(x), net(x)
        assert names(net.variables) == [
            f"here/mlp/{layer}/{name}" for layer in ("linear", "linear_1") for name in "wb"
        ]
        assert first.op.name.startswith("there/mlp/")
        assert second.op.name.startswith("there/mlp_1/")
        other = example.Mlp([4, 2])
        other(x)
        assert names(other.variables)[0] == "mlp/linear/w"
        assert len(tf.global_variables()) == 8


def test_the_class_is_forty_lines_at_most(example):
    text = PATH.read_text("utf-8").partition("class Module:")[2].partition("class Linear")[0]
    assert len(text.strip().splitlines()) <= 40
