"""Depths of nodes and layers, and what graphs of layers are refused."""

from __future__ import annotations

import pytest

import gpugraph as tf

from .conftest import Affine, Sum

Input, Model = tf.keras.Input, tf.keras.Model


def depths(model):
    return {
        layer.name: depth for depth, layers in model.layers_by_depth.items() for layer in layers
    }


def test_a_chain():
    x = Input([4], name="x")
    model = Model(x, Affine(2, name="last")(Affine(3, name="first")(x)))
    assert depths(model) == {"x": 2, "first": 1, "last": 0}
    assert [layer.name for layer in model.layers] == ["x", "first", "last"]


def test_a_diamond_has_the_longest_way():
    x = Input([4], name="x")
    short = Affine(3, name="short")(x)
    long = Affine(3, name="long_2")(Affine(3, name="long_1")(x))
    model = Model(x, Sum(name="sum")([short, long]))
    assert depths(model) == {"x": 3, "long_1": 2, "short": 1, "long_2": 1, "sum": 0}
    # at one depth by the way back from the outputs
    assert [layer.name for layer in model.layers] == ["x", "long_1", "short", "long_2", "sum"]


def test_a_layer_after_itself():
    x = Input([4], name="x")
    shared = Affine(4, name="shared")
    model = Model(x, shared(shared(x)))
    assert depths(model) == {"x": 2, "shared": 1}
    places = [
        (depth, node.outbound_layer.name)
        for depth, nodes in model.nodes_by_depth.items()
        for node in nodes
    ]
    assert sorted(places) == [(0, "shared"), (1, "shared"), (2, "x")]


def test_a_layer_at_two_depths():
    x, y = Input([4], name="x"), Input([4], name="y")
    shared = Affine(4, name="shared")
    near = shared(x)
    far = Affine(4, name="between")(shared(y))
    model = Model([x, y], Sum(name="sum")([near, far]))
    assert depths(model)["shared"] == 2
    assert {depth for depth, nodes in model.nodes_by_depth.items() for node in nodes
            if node.outbound_layer is shared} == {2}  # fmt: skip


def test_nested_models_are_one_layer():
    x = Input([4])
    inner = Model(x, Affine(3)(x), name="inner")
    y = Input([4], name="y")
    outer = Model(y, Affine(1, name="last")(inner(y)))
    assert depths(outer) == {"y": 2, "inner": 1, "last": 0}
    assert len(inner.inbound_nodes) == 2 and outer.get_layer("inner") is inner


def test_an_input_that_no_output_needs_stays():
    x, unused = Input([4], name="x"), Input([2], name="unused")
    model = Model([x, unused], Affine(1, name="last")(x))
    assert depths(model) == {"x": 1, "unused": 0, "last": 0}


def test_a_thousand_layers_are_no_recursion():
    x = tensor = Input([2])
    for _ in range(1200):
        tensor = Sum()([tensor])
    assert len(Model(x, tensor).layers) == 1201


def test_a_missing_input_is_named():
    x, y = Input([4], name="x"), Input([4], name="y")
    both = Sum(name="sum")([Affine(3, name="one")(x), Affine(3, name="two")(y)])
    message = r'Graph disconnected: cannot obtain value for tensor .*"y:0".*at layer "(y|two)"'
    with pytest.raises(ValueError, match=message):
        Model(x, both)


def test_names_are_unique():
    x = Input([4])
    with pytest.raises(ValueError, match='The name "a" is used 2 times in the model'):
        Model(x, Affine(2, name="a")(Affine(2, name="a")(x)))


def test_a_cycle_is_refused():
    x = Input([4])
    first = Affine(4, name="first")
    a = first(x)
    b = Affine(4, name="second")(a)
    first.inbound_nodes[0].input_tensors = b
    with pytest.raises(ValueError, match=r'at layer "(first|second)" is part of a cycle'):
        Model(x, b)


def test_inputs_and_outputs_are_tensors_of_layers():
    x = Input([4])
    y = Affine(2, name="d")(x)
    with pytest.raises(ValueError, match=r"must come from `tf.keras.Input`"):
        Model(tf.zeros([1, 4]), y)
    with pytest.raises(ValueError, match="must be the output of a TensorFlow `Layer`"):
        Model(x, tf.zeros([1, 2]))
    with pytest.raises(ValueError, match=r"must be `InputLayer` objects.*which layer d made"):
        Model(y, Affine(2)(y))
    with pytest.raises(ValueError, match="inputs passed to the model is redundant"):
        Model([x, x], y)
    with pytest.raises(TypeError, match="`inputs` and `outputs` together"):
        Model(x)
