"""The order in which layers are met, their depths and those of their nodes; nested models."""

from __future__ import annotations

import pytest

import gpugraph as tf

from .conftest import Affine, Sum

Input, Model, K = tf.keras.Input, tf.keras.Model, tf.keras.backend


def depths(model):
    return {
        layer.name: depth for depth, layers in model.layers_by_depth.items() for layer in layers
    }


def node_depths(model):
    """{layer: depths of its nodes, by their numbers}"""
    depths = {}
    for depth, nodes in model.nodes_by_depth.items():
        for node in nodes:
            layer = node.outbound_layer
            depths.setdefault(layer.name, {})[layer.inbound_nodes.index(node)] = depth
    return {name: [found[index] for index in sorted(found)] for name, found in depths.items()}


def wired(*calls):
    """Return the model of calls `name: inputs`, from x and y to the last call; names of calls
    repeat.
    """
    layers = {}
    tensors = {name: Input([4], name=name) for name in "xy"}
    for call in calls:
        result, _, text = call.partition(" = ")
        name, _, names = text.partition(" ")
        layer = layers.setdefault(name, Sum(name=name))
        tensors[result] = layer([tensors[one] for one in names.split()])
    inputs = [tensors[name] for name in "xy" if any(f" {name}" in call for call in calls)]
    return Model(inputs, tensors[result])


@pytest.mark.parametrize(
    ("calls", "layers", "nodes"),
    [
        pytest.param(["1 = a x", "2 = b 1"], "x a b", {"x": [2], "a": [1], "b": [0]}, id="chain"),
        pytest.param(  # the longest way counts; at one depth the order is that of the way back
            ["s = short x", "1 = long_1 x", "2 = long_2 1", "t = sum s 2"],
            "x long_1 short long_2 sum",
            {"x": [3], "long_1": [2], "short": [1], "long_2": [1], "sum": [0]},
            id="diamond",
        ),
        pytest.param(
            ["1 = a x", "2 = b 1", "3 = c 1", "4 = d 2 3", "5 = e 1 4 x"],
            "x a b c d e",
            {"x": [4], "a": [3], "b": [2], "c": [2], "d": [1], "e": [0]},
            id="two diamonds",
        ),
        pytest.param(
            ["1 = a x", "2 = a 1"], "x a", {"x": [2], "a": [1, 0]}, id="a layer after itself"
        ),
        pytest.param(  # its nearer node is lifted to the depth of the layer
            ["1 = a x", "2 = a y", "3 = b 2", "4 = c 1 3"],
            "x y a b c",
            {"x": [3], "y": [3], "a": [2, 2], "b": [1], "c": [0]},
            id="a layer at two depths",
        ),
        pytest.param(  # but not where it is met before the deeper one
            ["1 = a x", "2 = b 1", "3 = c 2", "4 = a y", "5 = d 3 4"],
            "x a b y c d",
            {"x": [4], "y": [2], "a": [3, 1], "b": [2], "c": [1], "d": [0]},
            id="a nearer node met first",
        ),
    ],
)
def test_depths(calls, layers, nodes):
    model = wired(*calls)
    assert [layer.name for layer in model.layers] == layers.split()
    assert node_depths(model) == nodes
    assert depths(model) == {name: max(places) for name, places in nodes.items()}


def test_layers_of_one_depth_are_in_the_order_of_the_first_way_back():
    x = Input([4], name="x")
    one, two = Affine(2, name="one")(x), Affine(2, name="two")(x)
    assert [layer.name for layer in Model(x, [two, one]).layers] == ["x", "two", "one"]
    assert [layer.name for layer in Model(x, [one, two]).layers] == ["x", "one", "two"]


class Scaled(tf.keras.layers.Layer):
    def call(self, inputs, scale=None, more=()):
        return inputs * scale + tf.add_n([*more, tf.zeros_like(inputs)])


def test_tensors_among_the_arguments_of_a_call_come_before_it():
    x = Input([4], name="x")
    deep = Sum(name="b")([Sum(name="a")([x, x])])
    model = Model(x, Scaled(name="scaled")(x, scale=deep, more=[deep]))
    assert node_depths(model) == {"x": [3], "a": [2], "b": [1], "scaled": [0]}
    assert model.get_layer("scaled").inbound_nodes[0].inbound_layers == [model.get_layer("x")]
    again = model(tf.constant([[1.0, 2, 3, 4]]))
    assert K.eval(again).tolist() == [[4.0, 12.0, 24.0, 40.0]]


def test_nested_models_are_one_layer():
    x = Input([4])
    inner = Model(x, Affine(3)(x), name="inner")
    y = Input([4], name="y")
    outer = Model(y, Affine(1, name="last")(inner(y)))
    assert depths(outer) == {"y": 2, "inner": 1, "last": 0}
    assert len(inner.inbound_nodes) == 2 and outer.get_layer("inner") is inner
    own, called = inner.inbound_nodes  # a model's own node has the tensors of its graph
    assert own.input_tensors is x and called.input_tensors is y
    assert node_depths(outer)["inner"] == [1]
    third = inner(Input([4]))
    assert len(inner.inbound_nodes) == 3 and third is inner.get_output_at(2)


def test_an_input_that_no_output_needs_stays():
    x, unused = Input([4], name="x"), Input([2], name="unused")
    model = Model([x, unused], Affine(1, name="last")(x))
    assert depths(model) == {"x": 1, "unused": 0, "last": 0}


def test_a_thousand_layers_are_no_recursion():
    x = tensor = Input([2])
    for _ in range(1200):
        tensor = Sum()([tensor])
    assert len(Model(x, tensor).layers) == 1201
