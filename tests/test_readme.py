"""The Python of README.md and docs/extending.md runs as it stands there."""

from __future__ import annotations

import pathlib
import re

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices import DeviceFactory
from gpugraph.ops.framework import kernel_registry as kernels
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.session import SessionFactory

ROOT = pathlib.Path(__file__).parent.parent
PAGES = ("README.md", "docs/extending.md")


def blocks() -> list[str]:
    text = "".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_the_first_example_learns(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    with tf.Graph().as_default():
        exec(blocks()[0], names)
    assert float(names["value"]) < 1e-2  # type: ignore[arg-type]
    said = capsys.readouterr().out
    assert "MatMul" in said and "the session has only CPU devices" in said


def test_the_op_of_ones_own_has_values_and_gradients() -> None:
    assert "Cube" not in DECLARATIONS
    names: dict[str, object] = {}
    exec(blocks()[1], names)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([1.0, 2.0])
        cubed = names["cube"](x)  # type: ignore[operator]
        slope = tf.gradients(cubed, x)[0]
        curve = tf.gradients(slope, x)[0]
        np.testing.assert_allclose(session.run(cubed), [1, 8])
        np.testing.assert_allclose(session.run(slope), [3, 12])
        np.testing.assert_allclose(session.run(curve), [6, 12])


def test_a_device_of_ones_own_runs_what_it_has_a_kernel_for() -> None:
    try:
        exec(blocks()[2], {})
        with tf.Graph().as_default(), tf.Session("toy://") as session:
            x = tf.placeholder(tf.float32, [2])
            total = tf.tanh(x) + x
            told = session.explain(total, {x: [1, 2]})
            assert told.device_of("add").endswith("TOY:0")
            assert told.device_of("Tanh").endswith("CPU:0")
            np.testing.assert_allclose(
                session.run(total, {x: [1, 2]}), np.tanh([1, 2]) + [1, 2], rtol=1e-6
            )
    finally:
        DeviceFactory.unregister("TOY")
        SessionFactory.unregister("TOY_SESSION")
        kernels._KERNELS.pop(("AddV2", "TOY"))


def test_every_block_of_python_is_run_here() -> None:
    assert len(blocks()) == 3
