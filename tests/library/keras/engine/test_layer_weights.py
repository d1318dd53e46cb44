"""Variables of layers: in attributes, lists and dicts, and from `add_weight`."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

K, Input, Model, layers = tf.keras.backend, tf.keras.Input, tf.keras.Model, tf.keras.layers

STORES = {
    "attribute": (lambda v: v, lambda store: store),
    "list": (lambda v: [v], lambda store: store[0]),
    "tuple": (lambda v: (v,), lambda store: store[0]),
    "dict": (lambda v: {"a": v}, lambda store: store["a"]),
    "nested": (lambda v: [{"a": (1, [v])}], lambda store: store[0]["a"][1][0]),
}


class Scaled(layers.Layer):
    """Its inputs times a variable of `tf.Variable`, in one of the stores."""

    def __init__(self, kind, trainable=True):
        super().__init__()
        self.kind = kind
        self.store = STORES[kind][0](tf.Variable(2.0, trainable=trainable))

    def call(self, inputs):
        return inputs * STORES[self.kind][1](self.store)


class ScaledModel(Model):
    """A model with a variable and a layer."""

    def __init__(self, kind):
        super().__init__()
        self.store = STORES[kind][0](tf.Variable(2.0))
        self.kind, self.last = kind, layers.Dense(2)

    def call(self, inputs):
        return self.last(inputs * STORES[self.kind][1](self.store))


@pytest.mark.parametrize("kind", STORES)
def test_variables_in_structures_are_tracked_and_initialized(kind):
    inputs = Input([3])
    layer = Scaled(kind)
    model = Model(inputs, layer(inputs))
    assert len(layer.trainable_weights) == len(model.trainable_weights) == 1
    np.testing.assert_array_equal(model.predict(np.ones([1, 3])), [[2.0, 2.0, 2.0]])
    model.compile(tf.keras.optimizers.SGD(1.0), "mse")
    model.fit(np.ones([1, 3]), np.ones([1, 3]), verbose=0)
    assert model.get_weights() == [0.0]
    assert len(Scaled(kind, trainable=False).non_trainable_weights) == 1


@pytest.mark.parametrize("kind", STORES)
def test_those_of_a_model_are_too(kind):
    model = ScaledModel(kind)
    assert model.predict(np.ones([1, 3])).shape == (1, 2)
    assert [weight.shape.as_list() for weight in model.weights] == [[3, 2], [2], []]
    assert len(model.trainable_weights) == 3


@pytest.mark.parametrize("kind", STORES)
def test_they_are_initialized_before_the_first_call(kind):
    assert Scaled(kind).get_weights() == [2.0]


def test_a_list_that_grows_is_tracked():
    class Grown(layers.Layer):
        def __init__(self):
            super().__init__()
            self.store = []

        def build(self, input_shape):
            self.store.append(tf.Variable(2.0))
            super().build(input_shape)

        def call(self, inputs):
            self.store.append(tf.get_variable("late", initializer=1.0))
            return inputs * self.store[0] + self.store[1]

    inputs = Input([1])
    layer = Grown()
    model = Model(inputs, layer(inputs))
    np.testing.assert_array_equal(model.predict([[4.0]]), [[9.0]])
    assert len(layer.weights) == 2


def test_a_value_that_the_program_gave_stays():
    layer = Scaled("list")
    with tf.Session() as session:
        session.run(layer.store[0].assign(5.0))
        assert layer.get_weights() == [5.0]


class Unnamed(layers.Layer):
    """Its variables have neither names nor shapes."""

    def build(self, input_shape):
        self.first, self.second = self.add_weight(), self.add_weight(shape=[3])
        self.third = self.add_weight("third", regularizer="l2")
        self.built = True

    def call(self, inputs):
        return inputs * self.first + self.second + self.third


def test_weights_need_neither_name_nor_shape():
    layer = Unnamed()
    assert layer(tf.zeros([2, 3])).shape.as_list() == [2, 3]
    names = ["unnamed/Variable:0", "unnamed/Variable_1:0", "unnamed/third:0"]
    assert [weight.name for weight in layer.weights] == names
    assert [weight.shape.as_list() for weight in layer.weights] == [[], [3], []]
    assert len(layer.losses) == 1


def test_getters_and_collections_of_weights():
    layer = layers.Layer()
    variable = layer.add_weight("v", [2], collections=["mine"])
    assert tf.get_collection("mine") == [variable]

    def getter(name, shape, dtype, **options):
        return tf.get_variable(f"{name}_of_getter", shape, dtype, trainable=options["trainable"])

    assert layer.add_weight("w", [2], getter=getter).op.name == "w_of_getter"
    assert len(layer.get_weights()) == 2
    with pytest.raises(TypeError, match="Unknown keyword argument"):
        layer.add_weight("x", [2], colour="red")


@pytest.mark.parametrize(
    "layer",
    [lambda: layers.RepeatVector(2), lambda: layers.Flatten(), lambda: Model(*[Input([2])] * 2)],
)
def test_what_has_no_variables_has_no_weights(layer):
    """No session is needed, nor anything in the graph."""
    assert layer().get_weights() == []
    layer().set_weights([])
