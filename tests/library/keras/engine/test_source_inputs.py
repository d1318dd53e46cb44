"""Which inputs a layer's output is computed of."""

from __future__ import annotations

import gpugraph as tf

from .conftest import Affine, Sum

get_source_inputs = tf.keras.utils.get_source_inputs


def test_all_inputs_of_a_tensor_are_given_once():
    one, other, unused = (tf.keras.Input((3,)) for _ in range(3))
    shared = Affine(3)
    joined = Sum()([shared(other), shared(one), other])
    assert get_source_inputs(joined) == [other, one]
    assert get_source_inputs(unused) == [unused]


def test_a_call_of_a_layer():
    one, other = tf.keras.Input((3,)), tf.keras.Input((3,))
    layer = Affine(2)
    first, second = layer(one), layer(other)
    assert get_source_inputs(second) == [other]
    assert get_source_inputs(first, layer, 1) == get_source_inputs(first) == [one]


def test_a_tensor_of_no_layer_is_itself():
    tensor = tf.constant(1.0)
    assert get_source_inputs(tensor) is tensor
