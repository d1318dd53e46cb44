"""Layers of several inputs against NumPy, with shapes, masks, configurations and refusals."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

K, L = tf.keras.backend, tf.keras.layers

ELEMENTWISE = {
    "Add": lambda a, b: a + b,
    "Subtract": lambda a, b: a - b,
    "Multiply": lambda a, b: a * b,
    "Average": lambda a, b: (a + b) / 2,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
}


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def arrays(*shapes):
    random = np.random.RandomState(0)
    return [random.randn(*shape).astype(np.float32) for shape in shapes]


def run(layer, values):
    inputs = [tf.keras.Input(batch_shape=(None, *value.shape[1:])) for value in values]
    outputs = layer(inputs)
    model = tf.keras.Model(inputs, outputs)
    result = K.function(model.inputs, model.outputs)(values)[0]
    assert outputs.shape.is_compatible_with(result.shape)
    shape = layer.compute_output_shape([value.shape for value in values])
    assert tuple(shape.as_list()) == result.shape
    copy = tf.keras.Model.from_config(model.get_config())
    assert type(copy.layers[-1]) is type(layer)
    return result


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((2, 4, 3), (2, 3)), ((2, 1, 3), (2, 4, 1))])
def test_elementwise(name, shapes):
    one, other = arrays(*shapes)
    wide = other[:, None] if other.ndim < one.ndim else other
    expected = ELEMENTWISE[name](one, wide)
    np.testing.assert_allclose(run(getattr(L, name)(), [one, other]), expected, rtol=1e-6)


def test_three_inputs():
    values = arrays((2, 3), (2, 3), (2, 3))
    np.testing.assert_allclose(run(L.Average(), values), sum(values) / 3, rtol=1e-5)


@pytest.mark.parametrize("axis", [-1, 1, 2])
def test_concatenation(axis):
    values = arrays((2, 3, 4), (2, 3, 4))
    expected = np.concatenate(values, axis)
    np.testing.assert_array_equal(run(L.Concatenate(axis=axis), values), expected)


@pytest.mark.parametrize(
    "shapes, axes, formula",
    [
        (((2, 3), (2, 3)), 1, "ni,ni->n"),
        (((2, 3), (2, 3)), -1, "ni,ni->n"),
        (((2, 4, 3), (2, 5, 3)), 2, "nai,nbi->nab"),
        (((2, 3, 4), (2, 5, 3)), (1, 2), "nia,nbi->nab"),
        (((2, 4, 3), (2, 3)), (2, 1), "nai,ni->na"),
        (((2, 3), (2, 3, 4)), 1, "ni,nib->nb"),
    ],
)
def test_dot(shapes, axes, formula):
    values = arrays(*shapes)
    expected = np.einsum(formula, *values)
    result = run(L.Dot(axes=axes), values)
    np.testing.assert_allclose(result, expected.reshape(result.shape), rtol=1e-5)


def test_dot_of_unit_vectors():
    one, other = arrays((2, 3), (2, 3))
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    result = run(L.Dot(axes=1, normalize=True), [one, other])
    np.testing.assert_allclose(result[:, 0], (one * other).sum(1) / lengths, rtol=1e-5)


def test_masks():
    x = tf.keras.Input([3, 2])
    masked = L.Masking()(x)
    value = np.array([[[1, 2], [0, 0], [3, 0]]], np.float32)
    for layer, expected in ((L.Add(), [True, False, True]), (L.Concatenate(), [True, False, True])):
        mask = layer([masked, x])._keras_mask
        assert K.function([x], [mask])([value])[0].tolist() == [expected]
    assert getattr(L.Add()([x, x]), "_keras_mask", None) is None


def test_functions_are_layers():
    x, y = tf.keras.Input([3]), tf.keras.Input([3])
    for name in (*ELEMENTWISE, "Concatenate"):
        output = getattr(L, name.lower())([x, y])
        assert type(output._keras_history.layer) is getattr(L, name)
    assert L.dot([x, y], axes=1).shape.as_list() == [None, 1]


def test_what_is_refused():
    x, y = tf.keras.Input([3]), tf.keras.Input([4])
    with pytest.raises(ValueError, match=r"list of at least 2 inputs"):
        L.Add()([x])
    with pytest.raises(ValueError, match="could not be broadcast together with shapes"):
        L.Add()([x, y])
    with pytest.raises(ValueError, match="different batch sizes"):
        L.Add()([tf.zeros([2, 3]), tf.zeros([4, 3])])
    with pytest.raises(ValueError, match="exactly 2 inputs"):
        L.Subtract()([x, x, x])
    with pytest.raises(ValueError, match="matching shapes except for the concat axis"):
        L.Concatenate(axis=1)([tf.keras.Input([3, 2]), tf.keras.Input([3, 4])])
    with pytest.raises(ValueError, match="Dimension incompatibility 3 != 4"):
        L.Dot(1)([x, y])
    with pytest.raises(TypeError, match="Invalid type for `axes`"):
        L.Dot("one")


@pytest.mark.parametrize("name", ["Add", "Average", "Maximum", "Multiply", "Concatenate"])
def test_masks_may_be_numbers(name):
    inputs = [tf.zeros([2, 3, 4])] * 2
    masks = [tf.constant([[1.0, 0.0, 1.0]] * 2), tf.constant([[1, 1, 0]] * 2)]
    mask = getattr(L, name)(**({"axis": 1} if name == "Concatenate" else {})).compute_mask(
        inputs, masks[:1] * 2 if name == "Concatenate" else masks
    )
    assert mask.dtype == tf.bool
    if name != "Concatenate":
        with tf.Session() as session:
            assert session.run(mask).tolist() == [[True, False, False]] * 2
