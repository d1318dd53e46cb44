"""Activations, functions, masks, shapes and noise as layers."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

K, L = tf.keras.backend, tf.keras.layers


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(layer, value, phase=None):
    x = tf.keras.Input(batch_shape=(None, *value.shape[1:]))
    model = tf.keras.Model(x, layer(x))
    inputs, values = model.inputs, [value]
    if phase is not None:
        inputs, values = [*inputs, K.learning_phase()], [value, phase]
    result = K.function(inputs, model.outputs)(values)[0]
    assert tuple(layer.compute_output_shape(value.shape).as_list()) == result.shape
    if not isinstance(layer, L.Lambda):
        copy = tf.keras.Model.from_config(model.get_config())
        assert copy.layers[-1].get_config() == layer.get_config()
    return result


VALUE = np.random.RandomState(0).randn(2, 6).astype(np.float32)


@pytest.mark.parametrize("name", ["relu", "tanh", "softmax", "linear", "elu", "hard_sigmoid"])
def test_activations(name):
    expected = K.eval(getattr(tf.keras.activations, name)(tf.constant(VALUE)))
    np.testing.assert_array_equal(run(L.Activation(name), VALUE), expected)


def test_reshapes():
    assert run(L.Reshape((3, 2)), VALUE).shape == (2, 3, 2)
    assert run(L.Reshape((-1, 3)), VALUE).shape == (2, 2, 3)
    np.testing.assert_array_equal(run(L.RepeatVector(2), VALUE), np.stack([VALUE, VALUE], 1))
    cube = VALUE.reshape(2, 2, 3)
    np.testing.assert_array_equal(run(L.Permute((2, 1)), cube), cube.transpose(0, 2, 1))
    with pytest.raises(ValueError, match="total size of new array must be unchanged"):
        L.Reshape((4, 2))(tf.keras.Input([6]))
    with pytest.raises(ValueError, match="Invalid permutation `dims`"):
        L.Permute((0, 1))
    open_sizes = L.Reshape((-1, 2))(tf.keras.Input([None]))
    assert open_sizes.shape.as_list() == [None, None, 2]


def test_masking():
    value = np.array([[[1, 2], [5, 5], [0, 0]]], np.float32)
    layer = L.Masking(mask_value=5.0)
    assert run(layer, value).tolist() == [[[1, 2], [0, 0], [0, 0]]]
    mask = K.eval(layer.compute_mask(tf.constant(value)))
    assert mask.tolist() == [[True, False, True]]


def test_functions_of_the_program():
    layer = L.Lambda(lambda x, factor: x * factor, output_shape=(6,), arguments={"factor": 3.0})
    np.testing.assert_allclose(run(layer, VALUE), VALUE * 3, rtol=1e-6)
    assert L.Lambda(lambda x: x[:, 2:]).compute_output_shape((None, 6)).as_list() == [None, 4]
    pair = L.Lambda(lambda x: [x[0] + x[1], x[1]]).compute_output_shape([(2, 1), (2, 3)])
    assert [shape.as_list() for shape in pair] == [[2, 3], [2, 3]]
    tensor = tf.constant(1.0)
    with pytest.raises(NotImplementedError, match="specify `output_shape`"):
        L.Lambda(lambda x: x + tensor).compute_output_shape((2, 6))


def test_noise_is_of_training():
    for layer in (L.GaussianNoise(0.5), L.GaussianDropout(0.5)):
        np.testing.assert_array_equal(run(layer, VALUE, False), VALUE)
        assert not np.allclose(run(layer, VALUE, True), VALUE)


def test_penalties_of_activities():
    layer = L.ActivityRegularization(l1=0.5, l2=2.0)
    assert run(layer, VALUE).shape == (2, 6)
    x = layer.input
    loss = K.function([x], layer.get_losses_for(x))([VALUE])[0]
    expected = (0.5 * np.abs(VALUE).sum() + 2 * (VALUE**2).sum()) / 2
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float64", "bool"])
def test_dense_casts_inputs_of_rank_2(dtype):
    value = np.array([[0, 1, 1], [1, 0, 1]], dtype)
    layer = L.Dense(2, dtype="float32")
    x = tf.keras.Input([3], dtype=dtype)
    model = tf.keras.Model(x, layer(x))
    kernel, bias = model.get_weights()
    wanted = value.astype(np.float32) @ kernel + bias
    assert model.output.dtype == tf.float32
    np.testing.assert_allclose(model.predict(value), wanted, rtol=1e-6)


def test_dense_refuses_integers_without_a_dtype():
    with pytest.raises(TypeError, match="Unable to build `Dense` layer with non-floating point"):
        L.Dense(2)(tf.zeros([2, 3], tf.int64))


def test_shapes_of_lambda_with_several_inputs_and_outputs():
    pair = [(5, 3), (5, 4)]
    cases = {
        "one": (L.Lambda(lambda x: x[1], output_shape=(4,)), [5, 4]),
        "several": (L.Lambda(lambda x: x, output_shape=[(3,), (4,)]), [[5, 3], [5, 4]]),
        "function": (L.Lambda(lambda x: x, output_shape=lambda s: s), [[5, 3], [5, 4]]),
        "of one": (L.Lambda(lambda x: x[0], output_shape=lambda s: s[0]), [5, 3]),
        "call": (L.Lambda(lambda x: [x[0], x[1] * 2]), [[5, 3], [5, 4]]),
    }
    for name, (layer, wanted) in cases.items():
        shapes = layer.compute_output_shape(pair)
        listed = [s.as_list() for s in shapes] if isinstance(shapes, list) else shapes.as_list()
        assert listed == wanted, name
    by_name = L.Lambda(lambda x: x["a"]).compute_output_shape({"a": (5, 3)})
    assert by_name.as_list() == [5, 3]


def test_the_kind_of_a_lambdas_output_shape():
    kinds = [
        L.Lambda(abs, output_shape=shape).get_config()["output_shape_type"]
        for shape in (None, (3,), lambda shape: shape, as_it_is)
    ]
    assert kinds == ["raw", "raw", "lambda", "function"]


def as_it_is(shape):
    return shape
