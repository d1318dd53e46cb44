"""tf.layers.InputSpec: a layer's requirements for its inputs, and the errors for others."""

from __future__ import annotations

import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


class Same(tf.layers.Layer):
    def __init__(self, spec):
        super().__init__()
        self.input_spec = spec

    def call(self, inputs):
        return inputs


class Measured(tf.layers.Layer):
    def build(self, shape):
        self.input_spec = tf.layers.InputSpec(ndim=2, axes={-1: shape[-1].value})

    def call(self, inputs):
        return inputs


def test_a_spec_says_what_it_wants():
    spec = tf.layers.InputSpec("float32", [None, 3], axes={"1": 3})
    assert (spec.dtype, spec.shape, spec.ndim, spec.axes) == ("float32", (None, 3), 2, {1: 3})
    assert repr(tf.layers.InputSpec(tf.int8, ndim=2)) == "InputSpec(dtype=int8, ndim=2)"
    assert tf.layers.InputSpec(shape=(2,), ndim=4).ndim == 1
    with pytest.raises(ValueError, match="Axis 4 is greater than the maximum allowed value: 1"):
        tf.layers.InputSpec(ndim=2, axes={4: 1})


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"ndim": 3}, "expected ndim=3, found ndim=2"),
        ({"min_ndim": 3}, "expected min_ndim=3, found ndim=2"),
        ({"max_ndim": 1}, "expected max_ndim=1, found ndim=2"),
        ({"dtype": tf.int32}, "expected dtype=int32, found dtype=float32"),
        ({"axes": {-1: 3}}, "expected axis -1 of input shape to have value 3"),
        ({"shape": (None, 3)}, r"expected shape=\(None, 3\), found shape=\(2, 2\)"),
        ({"shape": (2,)}, "expected ndim=1, found ndim=2"),
    ],
)
def test_other_inputs_are_refused(wanted, message):
    with pytest.raises(ValueError, match=f"Input 0 of layer same_1 is incompatible.*{message}"):
        Same(tf.layers.InputSpec(**wanted))(tf.zeros([2, 2]))


@pytest.mark.parametrize(
    "wanted", [{"ndim": 2, "dtype": "float32"}, {"axes": {1: 2}}, {"shape": (None, 2)}]
)
def test_what_may_be_right_is_taken(wanted):
    layer = Same(tf.layers.InputSpec(**wanted))
    for shape in ([2, 2], [None, None]):
        inputs = tf.placeholder(tf.float32, shape)
        assert layer(inputs) is inputs


@pytest.mark.parametrize("wanted", [{"ndim": 2}, {"min_ndim": 1}, {"max_ndim": 3}, {"shape": (2,)}])
def test_a_wanted_rank_must_be_known(wanted):
    inputs = tf.placeholder(tf.float32)
    with pytest.raises(ValueError, match=r"its rank is undefined, but.*requires a defined rank"):
        Same(tf.layers.InputSpec(**wanted))(inputs)
    layer = Same(tf.layers.InputSpec(dtype="float32", axes={1: 2}))
    assert layer(inputs) is inputs


def test_a_spec_and_its_configuration():
    config = tf.layers.InputSpec(shape=(1, None), dtype="float32", axes={-1: 2}).get_config()
    assert config == {
        "dtype": "float32", "shape": (1, None), "ndim": 2, "max_ndim": None, "min_ndim": None,
        "axes": {-1: 2},
    }  # fmt: skip
    assert tf.layers.InputSpec.from_config(config).get_config() == config


def test_several_inputs_have_a_spec_each():
    layer = Same([tf.layers.InputSpec(ndim=2), tf.layers.InputSpec(ndim=1)])
    assert len(layer([tf.zeros([2, 2]), tf.zeros([2])])) == 2
    with pytest.raises(ValueError, match="Input 1 of layer"):
        layer([tf.zeros([2, 2]), tf.zeros([2, 2])])
    with pytest.raises(ValueError, match="expects 2 inputs, but it received 1"):
        layer([tf.zeros([2, 2])])
    with pytest.raises(TypeError, match="must be an instance of InputSpec"):
        Same(5)(tf.zeros([2]))


def test_what_build_says_holds_from_then_on():
    layer = Measured()
    layer(tf.zeros([2, 3]))
    layer(tf.zeros([4, 3]))
    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 3"):
        layer(tf.zeros([2, 4]))
