"""Initializers of Keras: names, defaults, configurations."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

initializers = tf.keras.initializers


def value(initializer, shape):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(initializer(shape))


def test_defaults_are_keras():
    assert np.abs(value(initializers.RandomUniform(), [1000])).max() <= 0.05
    assert abs(value(initializers.RandomNormal(seed=1), [4000]).std() - 0.05) < 0.005
    assert np.abs(value(initializers.TruncatedNormal(), [1000])).max() <= 0.1
    assert tf.random_normal_initializer().get_config()["stddev"] == 1.0


NAMES = (
    "zeros ones constant identity orthogonal uniform random_uniform normal random_normal "
    "truncated_normal glorot_normal glorot_uniform he_normal he_uniform lecun_normal lecun_uniform"
)


@pytest.mark.parametrize("name", NAMES.split())
def test_by_name_and_configuration(name):
    initializer = initializers.get(name)
    config = initializers.serialize(initializer)
    again = initializers.deserialize(config)
    assert type(again) is type(initializer) and initializers.serialize(again) == config
    assert value(again, [3, 3]).shape == (3, 3)
    assert type(initializers.get(getattr(initializers, name)())) is type(initializer)


def test_classes_functions_and_what_is_none():
    assert isinstance(initializers.get(tf.zeros_initializer), initializers.Zeros)
    assert initializers.get(None) is None and initializers.get(value) is value
    with pytest.raises(ValueError, match="Unknown initializer: wave"):
        initializers.get("wave")
    with pytest.raises(ValueError, match="Could not interpret initializer identifier: 3"):
        initializers.get(3)


def test_short_names():
    for name, kind in (("one", "Ones"), ("ones", "Ones"), ("zero", "Zeros"), ("zeros", "Zeros")):
        assert type(tf.keras.initializers.get(name)).__name__ == kind
