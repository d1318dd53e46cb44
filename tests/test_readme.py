"""The Python of README.md runs as it stands there."""

from __future__ import annotations

import pathlib
import re

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.ops.declare import DECLARATIONS

README = pathlib.Path(__file__).parent.parent / "README.md"


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


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
