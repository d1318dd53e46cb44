"""A graph for each test, and layers that tests are written with."""

from __future__ import annotations

import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph():
    tf.keras.backend.clear_session()
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture(autouse=True)
def registered():
    with tf.keras.utils.custom_object_scope({"Affine": Affine, "Sum": Sum}):
        yield


class Affine(tf.keras.layers.Layer):
    """inputs @ kernel + bias."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, input_shape):
        size = input_shape.as_list()[-1]
        self.kernel = self.add_weight("kernel", [size, self.units])
        self.bias = self.add_weight("bias", [self.units], initializer=tf.zeros_initializer())
        super().build(input_shape)

    def call(self, inputs):
        return tf.matmul(inputs, self.kernel) + self.bias

    def compute_output_shape(self, input_shape):
        return tf.TensorShape([input_shape[0], self.units])

    def get_config(self):
        return {**super().get_config(), "units": self.units}


class Sum(tf.keras.layers.Layer):
    """The sum of its inputs."""

    def call(self, inputs):
        return tf.add_n(inputs)

    def compute_output_shape(self, input_shape):
        return input_shape[0]
