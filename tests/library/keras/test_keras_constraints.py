"""Constraints: their effect on vectors and kernels, by name and configuration."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

constraints = tf.keras.constraints
W = np.array([[3.0, 0.1, -2.0], [4.0, 0.2, 1.0]], np.float32)
NORMS = np.sqrt((W**2).sum(0))


def value(tensor):
    return tf.Session().run(tensor)


def test_norms():
    expected = W * np.minimum(NORMS, 2) / NORMS
    np.testing.assert_allclose(value(constraints.MaxNorm(2)(tf.constant(W))), expected, rtol=1e-5)
    unit = value(constraints.UnitNorm()(tf.constant(W)))
    np.testing.assert_allclose(unit, W / NORMS, rtol=1e-5)
    between = 0.5 * NORMS.clip(1, 2) + 0.5 * NORMS
    result = value(constraints.MinMaxNorm(1, 2, rate=0.5)(tf.constant(W)))
    np.testing.assert_allclose(result, W * between / NORMS, rtol=1e-5)
    rows = value(constraints.UnitNorm(axis=1)(tf.constant(W)))
    np.testing.assert_allclose((rows**2).sum(1), [1, 1], rtol=1e-5)


def test_no_negative_elements():
    np.testing.assert_array_equal(value(constraints.NonNeg()(tf.constant(W))), np.maximum(W, 0))


def rings(kernel):
    """From the middle outwards: each ring has the value of one element of the diagonal."""
    start, odd = len(kernel) // 2, len(kernel) % 2
    result = kernel[start - 1 : start, start - 1 : start]
    result = result if odd else result + np.zeros((2, 2))
    for index in range(1 - odd, start):
        result = np.pad(result, 1, constant_values=kernel[start + index, start + index])
    return result


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_equal_in_all_directions(size):
    kernel = np.random.RandomState(0).rand(size, size, 2, 3).astype(np.float32)
    result = value(constraints.RadialConstraint()(tf.constant(kernel)))
    for place in np.ndindex(2, 3):
        expected = rings(kernel[(..., *place)])
        np.testing.assert_allclose(result[(..., *place)], expected)
    with pytest.raises(ValueError, match="must be of rank 4"):
        constraints.RadialConstraint()(tf.constant(W))


@pytest.mark.parametrize("name", ["MaxNorm", "NonNeg", "UnitNorm", "MinMaxNorm"])
def test_configurations(name):
    constraint = getattr(constraints, name)()
    config = constraints.serialize(constraint)
    again = constraints.deserialize(config)
    assert type(again) is type(constraint) and again.get_config() == constraint.get_config()
    assert type(constraints.get(config)) is type(constraint)


def test_by_name():
    assert isinstance(constraints.get("max_norm"), constraints.MaxNorm)
    assert constraints.get(None) is None and constraints.get(abs) is abs
    with pytest.raises(ValueError, match="Unknown constraint: round_norm"):
        constraints.get("round_norm")
    with pytest.raises(ValueError, match="Could not interpret constraint identifier: 3"):
        constraints.get(3)
