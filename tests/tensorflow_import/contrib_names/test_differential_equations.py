"""`tf.contrib.integrate` compared with solutions in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.tensorflow_import.contrib_names.differential_equations import odeint, odeint_fixed

TIMES = np.linspace(0, 3, 7)


def test_an_oscillator_its_statistics_and_gradient() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.constant(2.0, tf.float64)
        start = tf.constant([1.0, 0.0], tf.float64)
        states, info = odeint(
            lambda y, t: tf.stack([y[1], -(w**2) * y[0]]), start, TIMES, full_output=True
        )
        assert states.shape.as_list() == [7, 2]
        gradient = tf.gradients(states[-1, 0], w)[0]
        values, slope, info = session.run([states, gradient, info])
    np.testing.assert_allclose(values[:, 0], np.cos(2 * TIMES), atol=1e-5)
    np.testing.assert_allclose(slope, -3 * np.sin(6), atol=1e-4)
    assert info["num_func_evals"] == 6 * len(info["integrate_points"]) + 1
    assert info["integrate_points"].max() >= 3 and info["error_ratio"].min() <= 1


@pytest.mark.parametrize("method, error", [("rk4", 1e-6), ("midpoint", 1e-3)])
@pytest.mark.parametrize("sizes", [0.05, np.full(6, 0.05)])
def test_steps_of_fixed_size(method: str, error: float, sizes: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        states = odeint_fixed(
            lambda y, t: -y * tf.cast(t, tf.float64),
            tf.constant(1.0, tf.float64),
            TIMES,
            sizes,
            method,
        )
        values = session.run(states)
    np.testing.assert_allclose(values, np.exp(-TIMES * TIMES / 2), atol=error)


def test_bad_input() -> None:
    def grow(y: Any, t: Any) -> Any:
        return y

    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(ValueError, match="invalid method: 'euler'"):
            odeint(grow, 1.0, TIMES, method="euler")
        with pytest.raises(ValueError, match="method not supported: euler"):
            odeint_fixed(grow, 1.0, TIMES, method="euler")
        with pytest.raises(TypeError, match="`y0` must have a floating"):
            odeint(grow, 1, TIMES)
        with pytest.raises(TypeError, match="`t` must have a floating"):
            odeint(grow, 1.0, tf.constant([0, 1]))
        with pytest.raises(TypeError, match="no option 'size'"):
            odeint(grow, 1.0, TIMES, options={"size": 1})
        with pytest.raises(ValueError, match="incompatible lengths"):
            odeint_fixed(grow, 1.0, TIMES, [0.1, 0.1])
        few = odeint(grow, 1.0, TIMES, options={"max_num_steps": 1, "first_step": 1e-3})
        with pytest.raises(tf.errors.InvalidArgumentError, match="max_num_steps exceeded"):
            session.run(few)
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be monotonic increasing"):
            session.run(odeint(grow, 1.0, [1.0, 0.0]))
