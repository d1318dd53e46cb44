"""A graph for each test, a model of layers of the tests' own, and h5py or the reason for none."""

from __future__ import annotations

import pytest

import gpugraph as tf

from ..engine.conftest import Affine

h5py = pytest.importorskip("h5py", reason="HDF5 files need h5py")

Input, Model, layers = tf.keras.Input, tf.keras.Model, tf.keras.layers


@pytest.fixture(autouse=True)
def graph():
    tf.keras.backend.clear_session()
    with tf.Graph().as_default(), tf.keras.utils.custom_object_scope({"Affine": Affine}):
        yield


def two_layers(first="first", second="second", units=3):
    """Return a model of two layers and a nested one between."""
    inner_input = Input((units,))
    inner = Model(inner_input, Affine(units, name="inside")(inner_input), name="inner")
    inputs = Input((4,), name="begin")
    return Model(inputs, Affine(2, name=second)(inner(Affine(units, name=first)(inputs))))
