"""Errors of networks of layers: the class, the first words, the layer, its node and the path.

Classes and words are those of tf.keras 1.15; comments mark where Keras 2.1.6 differs.
"""

from __future__ import annotations

import re

import pytest

import gpugraph as tf

from .conftest import Affine, Sum

Input, Model, layers = tf.keras.Input, tf.keras.Model, tf.keras.layers


def x_input():
    return Input([4], name="x")


def without_y():
    x, y = x_input(), Input([4], name="y")
    return Model(x, Sum(name="sum")([Affine(3, name="one")(x), Affine(3, name="two")(y)]))


def from_a_layer(*inputs):
    x = x_input()
    dense = Affine(2, name="d")(x)
    tensors = {"x": x, "d": dense}
    return Model([tensors[name] for name in inputs], Affine(2, name="e")(dense))


def same_names():
    return Model(x := x_input(), Affine(2, name="a")(Affine(2, name="a")(x)))


def cycle():
    x, first = x_input(), Affine(4, name="first")
    last = Affine(4, name="second")(first(x))
    first.inbound_nodes[0].input_tensors = last
    return Model(x, last)


def called_twice():
    layer = Affine(2, name="d")
    layer(x_input())
    layer(Input([4], name="y"))
    return layer


def called_with_other_sizes():
    layer = Sum(name="s")
    layer([x_input()])
    layer([Input([5], name="y")])
    return layer


def two_inputs():
    inputs = [x_input(), Input([4], name="y")]
    return Model(inputs, Sum()(inputs), name="m")


def masked_flatten():
    return layers.Flatten(name="f").compute_mask(
        layers.Masking(name="mask")(Input([4, 3], name="x")), tf.zeros([1, 4])
    )


def inside_of_a_model():
    x = x_input()
    inner = Model(x, layers.Dense(3, name="dense")(x), name="inner")
    return Model(y := Input([5], name="y"), inner(y))


class Nothing(layers.Layer):
    def call(self, inputs):
        del inputs


class Forgetful(Model):
    def __init__(self):
        self.units = 2
        self.layer = Affine(self.units)


def after_many_layers():
    tensor = x_input()
    for number in range(30):
        tensor = Affine(2, name=f"d{number}")(tensor)
    return layers.Conv1D(1, 2, name="c")(tensor)


TABLE = [
    # Keras 2.1.6: TypeError "Input tensors to a Model must be Keras tensors. Found: "
    (
        lambda: Model(tf.zeros([1, 4]), Affine(2)(x_input()), name="m"),
        ValueError,
        "Input tensors to a Model must come from `tf.keras.Input`. Received: Tensor(",
        "Input 0 of m is the output of operation zeros (Const), not of a layer.",
    ),
    (
        lambda: Model(3, Affine(2)(x_input()), name="m"),
        ValueError,
        "Input tensors to a Model must come from `tf.keras.Input`. Received: 3",
        "Input 0 of m is not a tensor but a value of type int.",
    ),
    # Keras 2.1.6: TypeError "Output tensors to a Model must be Keras tensors. Found: "
    (
        lambda: Model(x_input(), tf.zeros([1, 2]), name="m"),
        ValueError,
        "Output tensors to a Model must be the output of a TensorFlow `Layer`",
        "Output 0 of m is the output of operation zeros (Const), not of a layer",
    ),
    # Keras 2.1.6 has but the next error; tf.keras misses the input first
    (
        lambda: from_a_layer("d"),
        ValueError,
        'Graph disconnected: cannot obtain value for tensor Tensor("x:0", shape=(?, 4), '
        'dtype=float32) at layer "x". The following previous layers were accessed without '
        "issue: []",
        'needs node 0 of InputLayer layer "x": x[0] -> d[0] -> e[0].',
    ),
    # 1.15 fails by a missing attribute; these are the words of Keras 2.1.6
    (
        lambda: from_a_layer("x", "d"),
        TypeError,
        "Input layers to a `Model` must be `InputLayer` objects. Received inputs: ",
        '(0-based) originates from layer type `Affine` (Affine layer "d", node 0; path: x[0] -> d',
    ),
    (
        lambda: from_a_layer("x", "x"),
        ValueError,
        "The list of inputs passed to the model is redundant. All inputs should only appear once.",
        'Inputs [0, 1] are one tensor (InputLayer layer "x", node 0; path: x[0])',
    ),
    (
        lambda: Model(
            [Input(batch_shape=(2, 4), name="x"), Input(batch_shape=(3, 4), name="y")], None
        ),
        TypeError,
        "Model takes `inputs` and `outputs` together",
        "",
    ),
    (
        lambda: Model(
            batches := [Input(batch_shape=(size, 4), name=f"x{size}") for size in (2, 3)],
            Sum()(batches[:1]),
        ),
        ValueError,
        "The specified batch sizes of the Input Layers are incompatible. Found batch sizes: [2, 3]",
        "of x2, x3",
    ),
    # Keras 2.1.6: RuntimeError for this one, for names that are there twice, and for cycles
    (
        without_y,
        ValueError,
        'Graph disconnected: cannot obtain value for tensor Tensor("y:0", shape=(?, 4), '
        'dtype=float32) at layer "y". The following previous layers were accessed without issue: ',
        'needs node 0 of InputLayer layer "y": y[0] -> two[0] -> sum[0].',
    ),
    (
        same_names,
        ValueError,
        'The name "a" is used 2 times in the model. All layer names should be unique.',
        'node 0 of Affine layer "a" by x[0] -> a[0], node 0 of Affine layer "a" by x[0] -> a[0] -',
    ),
    (
        cycle,
        ValueError,
        'The tensor Tensor("second/add:0", shape=(?, 4), dtype=float32) at layer "second" is part '
        "of a cycle.",
        "needs itself: second[0] -> first[0] -> second[0]",
    ),
    (
        lambda: called_with_other_sizes().output_shape,
        AttributeError,
        'The layer "s" has multiple inbound nodes, with different output shapes.',
        "node 1 by y[0] -> s[1].",
    ),
    (
        lambda: Affine(2).input,
        AttributeError,
        "Layer affine is not connected, no input to return.",
        'Affine layer "affine" has no inbound nodes',
    ),
    (
        lambda: Affine(2).output,
        AttributeError,
        "Layer affine has no inbound nodes.",
        "call it on the output of `tf.keras.Input`",
    ),
    (
        lambda: Affine(2).get_input_at(0),
        RuntimeError,
        "The layer has never been called and thus has no defined input.",
        'Affine layer "affine" has no inbound nodes',
    ),
    *(
        (
            lambda method=method: getattr(called_twice(), method)(2),
            ValueError,
            f"Asked to get {kind} at node 2, but the layer has only 2 inbound nodes.",
            "node 0 by x[0] -> d[0], node 1 by y[0] -> d[1].",
        )
        for method, kind in (
            ("get_input_at", "input"),
            ("get_output_at", "output"),
            ("get_input_shape_at", "input shape"),
            ("get_output_shape_at", "output shape"),
            ("get_input_mask_at", "input"),
            ("get_output_mask_at", "output"),
        )
    ),
    (
        masked_flatten,
        TypeError,
        "Layer f does not support masking, but was passed an input_mask: Tensor(",
        '(Flatten layer "f", node 0; path: x[0] -> mask[0] -> f[0])',
    ),
    # Keras 2.1.6: "Input 0 is incompatible with layer lstm: expected ndim=3, found ndim=2"
    (
        lambda: layers.LSTM(2)(Affine(3, name="d")(x_input())),
        ValueError,
        "Input 0 of layer lstm is incompatible with the layer: expected ndim=3, found ndim=2. Full "
        "shape received: [None, 3]",
        '(LSTM layer "lstm", node 0; path: x[0] -> d[0] -> lstm[0])',
    ),
    (
        inside_of_a_model,
        ValueError,
        "Input 0 of layer dense is incompatible with the layer: expected axis -1 of input shape to "
        "have value 4 but received input with shape [None, 5]",
        '(Dense layer "dense", node 1; path: y[0] -> dense[1]; inside inner)',
    ),
    (
        after_many_layers,
        ValueError,
        "Input 0 of layer c is incompatible with the layer: expected ndim=3, found ndim=2",
        "x[0] -> d0[0] -> d1[0] -> d2[0] -> d3[0] -> d4[0] -> (20 more) -> d25[0] -> ",
    ),
    (
        lambda: two_inputs()([x_input()]),
        ValueError,
        "Layer m expects 2 inputs, but it received 1 input tensors. Inputs received: [",
        '(Model layer "m", node 1; path: x[0] -> m[1])',
    ),
    (
        lambda: two_inputs().get_layer("nope"),
        ValueError,
        "No such layer: nope",
        "The layers of m are 0 x, 1 y, 2 sum",
    ),
    (
        lambda: two_inputs().get_layer(index=3),
        ValueError,
        "Was asked to retrieve layer at index 3 but model only has 3 layers.",
        "The layers of m are 0 x, 1 y, 2 sum",
    ),
    (
        lambda: two_inputs().get_layer(),
        ValueError,
        "Provide either a layer name or layer index.",
        "The layers of m are 0 x, 1 y, 2 sum",
    ),
    (
        lambda: layers.Flatten(nope=1),
        TypeError,
        "Keyword argument not understood: nope",
        "Flatten takes data_format, and the arguments of every layer",
    ),
    (
        lambda: Affine(2, nope=1),
        TypeError,
        "Keyword argument not understood: nope",
        "Affine takes units, and the arguments of every layer",
    ),
    (
        lambda: Model(x := x_input(), Affine(2)(x), dtype="float64"),
        TypeError,
        "Functional models may only specify `name` and `trainable` keyword arguments during init",
        "Got an unexpected argument: dtype",
    ),
    (
        lambda: Model([], [], name="m"),
        ValueError,
        "Model m has inputs [] and outputs []",
        "come from `tf.keras.Input`",
    ),
    (
        lambda: Forgetful(),
        RuntimeError,
        "It looks like you are subclassing `Model` and you forgot to call `super(YourClass, self)",
        "Forgetful.__init__ begins with this line, before it sets layer",
    ),
    (
        lambda: Nothing()(x_input()),
        ValueError,
        "A layer's `call` method should return a Tensor or a list of Tensors, not None (layer: "
        "nothing).",
        '(Nothing layer "nothing", node 0; path: x[0] -> nothing[0])',
    ),
]


@pytest.mark.parametrize(("wrong", "kind", "words", "place"), TABLE)
def test_what_is_refused(wrong, kind, words, place):
    with pytest.raises(kind, match=f"(?s){re.escape(place)}") as raised:
        wrong()
    assert type(raised.value) is kind
    assert str(raised.value).startswith(words)


def test_an_input_that_another_layer_made_is_warned_of(capsys):
    with pytest.raises(ValueError, match="Graph disconnected"):
        from_a_layer("d")
    warning = capsys.readouterr().err
    assert "Model inputs must come from `tf.keras.Input` (thus holding past" in warning
    assert 'd/add:0 (Affine layer "d", node 0; path: x[0] -> d[0])' in warning


def test_outputs_may_be_there_twice():
    x = x_input()
    y = Affine(2, name="d")(x)
    model = Model(x, [y, y, Affine(2, name="d_1")(x), y])
    assert model.output_names == ["d", "d_1", "d_1_1", "d_2"]


def test_a_model_takes_inputs_of_other_sizes():
    x = Input([8, 8, 1])
    model = Model(x, layers.Conv2D(2, 3)(x))
    assert model.input_spec is None and two_inputs().input_spec == [None, None]
    assert model(tf.zeros([1, 20, 30, 1])).shape.as_list() == [1, 18, 28, 2]


class Wrong(layers.Layer):
    """Its call fails in an operation of TensorFlow."""

    def call(self, inputs):
        return tf.matmul(inputs, tf.zeros([3, 3]))


@pytest.mark.skipif(not hasattr(Exception, "add_note"), reason="Python 3.10 has no notes of errors")
def test_errors_inside_a_layer_have_a_note_of_it():
    inside = layers.Dense(4, name="d")(x_input())
    with pytest.raises(ValueError, match="Dimensions must be equal, but are 4 and 3") as raised:
        Wrong(name="wrong")(inside)
    note = 'in (Wrong layer "wrong", node 0; path: x[0] -> d[0] -> wrong[0])'
    assert raised.value.__notes__ == [note]

    class Outer(Model):
        def __init__(self):
            super().__init__(name="outer")
            self.wrong = Wrong(name="wrong")

        def call(self, inputs):
            return self.wrong(inputs)

    with pytest.raises(ValueError) as raised:
        Outer()(inside)
    (note,) = raised.value.__notes__
    assert note.endswith(
        '(Wrong layer "wrong", node 0; path: x[0] -> d[0] -> wrong[0]; inside outer)'
    )
    with pytest.raises(ValueError) as raised:
        Wrong()(tf.zeros([1, 4]))
    assert not hasattr(raised.value, "__notes__")
