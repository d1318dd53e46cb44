"""Penalties by class, by name and by configuration."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

R, K = tf.keras.regularizers, tf.keras.backend


@pytest.mark.parametrize(
    "regularizer, expected",
    [(R.l1(0.5), 3.0), (R.l2(0.5), 7.0), (R.l1_l2(1.0, 0.5), 13.0), (R.L1L2(), 0.0)],
)
def test_values(regularizer, expected):
    with tf.Graph().as_default():
        x = tf.constant([1.0, -2.0, 3.0])
        assert K.eval(regularizer(x)) == expected
        again = R.deserialize(R.serialize(regularizer))
        assert np.isclose(K.eval(again(x)), expected)


def test_names():
    assert R.get("l2").get_config() == {"l1": 0.0, "l2": float(np.float32(0.01))}
    assert R.get(None) is None
    assert R.get(abs) is abs
    with pytest.raises(ValueError, match="Unknown regularizer: l7"):
        R.get("l7")
    with pytest.raises(ValueError, match="Could not interpret regularizer identifier: 7"):
        R.get(7)
