"""Networks as functions and as layers: values, weights, masks, configurations, tables."""

from __future__ import annotations

import json
from typing import ClassVar

import numpy as np
import pytest

import gpugraph as tf

from .conftest import Affine, Sum

K, Input, Model = tf.keras.backend, tf.keras.Input, tf.keras.Model


def siamese():
    x, y = Input([4], name="x"), Input([4], name="y")
    shared = Affine(3, name="shared")
    total = Sum(name="sum")([shared(x), shared(y)])
    return Model([x, y], Affine(1, name="last")(total), name="siamese")


def test_a_network_runs_on_other_inputs():
    model = siamese()
    x, y = np.ones([2, 4], np.float32), np.full([2, 4], 2, np.float32)
    again = model([tf.constant(x), tf.constant(y)])
    own = K.function(model.inputs, model.outputs)([x, y])[0]
    np.testing.assert_allclose(K.eval(again), own, rtol=1e-6)
    shared, last = (model.get_layer(name) for name in ("shared", "last"))
    kernel, bias, last_kernel, last_bias = model.get_weights()
    expected = ((x @ kernel + bias) + (y @ kernel + bias)) @ last_kernel + last_bias
    np.testing.assert_allclose(own, expected, rtol=1e-5)
    assert model.weights == shared.weights + last.weights
    assert [weight.name for weight in model.weights] == [
        "shared/kernel:0", "shared/bias:0", "last/kernel:0", "last/bias:0",
    ]  # fmt: skip


def test_trainable_reaches_all_layers():
    model = siamese()
    assert len(model.trainable_weights) == 4
    model.get_layer("shared").trainable = False
    assert len(model.trainable_weights) == 2 and len(model.non_trainable_weights) == 2
    model.trainable = False
    assert model.trainable_weights == [] and len(model.non_trainable_weights) == 4
    assert not model.get_layer("last").trainable


def test_a_configuration_makes_an_equal_network():
    model = siamese()
    config = json.loads(json.dumps(model.get_config()))
    assert config["layers"][2]["inbound_nodes"] == [[["x", 0, 0, {}]], [["y", 0, 0, {}]]]
    assert config["input_layers"] == [["x", 0, 0], ["y", 0, 0]]
    assert config["output_layers"] == [["last", 0, 0]]
    copy = Model.from_config(config)
    assert copy.get_config() == model.get_config()
    copy.set_weights(model.get_weights())
    feeds = [np.ones([2, 4], np.float32)] * 2
    results = [K.function(net.inputs, net.outputs)(feeds)[0] for net in (model, copy)]
    np.testing.assert_array_equal(*results)


def test_nested_networks_have_configurations():
    x = Input([4])
    outer = Model(x, Affine(2)(tf.keras.Sequential([Affine(3, input_shape=(4,))])(x)))
    config = outer.get_config()
    assert config["layers"][2]["inbound_nodes"] == [[["sequential", 1, 0, {}]]]
    assert Model.from_config(config).get_config() == config


def test_a_configuration_that_lacks_an_input():
    config = siamese().get_config()
    config["layers"][2]["inbound_nodes"][0][0][1] = 5
    with pytest.raises(ValueError, match="calls of last, shared, sum have inputs that no layer"):
        Model.from_config(config)
    config["layers"][2]["inbound_nodes"][0][0][0] = "nowhere"
    with pytest.raises(ValueError, match="Improper config format: there is no layer 'nowhere'"):
        Model.from_config(config)


def test_unknown_classes_name_what_to_pass():
    config = siamese().get_config()
    config["layers"][3]["class_name"] = "Mystery"
    with pytest.raises(ValueError, match=r"Unknown layer: Mystery. Pass it as custom_objects"):
        Model.from_config(config)
    copy = Model.from_config(config, custom_objects={"Mystery": Sum})
    assert isinstance(copy.get_layer("sum"), Sum)


def test_operations_between_layers_become_layers():
    x = Input([4])
    y = Affine(3, name="a")(x)
    model = Model(x, Affine(1, name="b")(tf.nn.relu(y) * 2.0 + 1.0))
    assert [layer.name for layer in model.layers[1:]] == [
        "a", "tf_op_layer_Relu", "tf_op_layer_mul", "tf_op_layer_add", "b",
    ]  # fmt: skip
    value = np.random.RandomState(0).randn(5, 4).astype(np.float32)
    own = K.function(model.inputs, model.outputs)([value])[0]
    np.testing.assert_allclose(K.eval(model(tf.constant(value))), own, rtol=1e-6)
    assert model.compute_output_shape((7, 4)).as_list() == [7, 1]
    copy = Model.from_config(model.get_config())
    copy.set_weights(model.get_weights())
    np.testing.assert_allclose(K.function(copy.inputs, copy.outputs)([value])[0], own, rtol=1e-6)


class Masks(tf.keras.layers.Layer):
    supports_masking = True

    def call(self, inputs, mask=None):
        self.seen = mask
        return inputs + 0.0

    def compute_mask(self, inputs, mask=None):
        return tf.not_equal(inputs[:, :, 0], 0.0) if mask is None else mask


class Trains(tf.keras.layers.Layer):
    def call(self, inputs, training=None):
        self.seen = training
        return inputs * 1.0


def test_masks_and_the_learning_phase_reach_inner_layers():
    x = Input([3, 2])
    first, second, trains = Masks(), Masks(), Trains()
    inner = Model(x, trains(second(first(x))))
    assert first.seen is None and second.seen is first.output_mask and trains.seen is None
    values = tf.constant([[[1.0, 2], [0, 1], [3, 1]]])
    inner(values, training=True)
    assert trains.seen is True
    assert K.eval(second.seen).tolist() == [[True, False, True]]


def test_a_subclass_defines_call():
    class Two(Model):
        def __init__(self):
            super().__init__(name="two")
            self.parts = [Affine(3), Affine(1)]

        def call(self, inputs):
            return self.parts[1](self.parts[0](inputs))

    model = Two()
    with pytest.raises(ValueError, match="Weights for model two have not yet been created"):
        _ = model.weights
    with pytest.raises(ValueError, match="This model has not yet been built"):
        model.summary()
    assert model(tf.zeros([5, 4])).shape.as_list() == [5, 1]
    assert [layer.name for layer in model.layers] == ["affine", "affine_1"]
    assert len(model.weights) == 4
    with pytest.raises(NotImplementedError, match="must define `get_config` itself"):
        model.get_config()
    with pytest.raises(AttributeError, match="has no graph of layers"):
        _ = model.nodes_by_depth


def test_what_is_not_there():
    model = siamese()
    with pytest.raises(
        ValueError, match=r"No such layer: nope. The layers of siamese are 0 x, 1 y"
    ):
        model.get_layer("nope")
    with pytest.raises(ValueError, match="index 9 but model only has 5 layers"):
        model.get_layer(index=9)
    with pytest.raises(ValueError, match="weight list of length 1, but the layer was expecting 4"):
        model.set_weights([1])


SUMMARY = """\
Model: "siamese"
__________________________________________________________________________________________________
Layer (type)                    Output Shape         Param #     Connected to                     
==================================================================================================
x (InputLayer)                  [(None, 4)]          0                                            
__________________________________________________________________________________________________
y (InputLayer)                  [(None, 4)]          0                                            
__________________________________________________________________________________________________
shared (Affine)                 (None, 3)            15          x[0][0]                          
                                                                 y[0][0]                          
__________________________________________________________________________________________________
sum (Sum)                       (None, 3)            0           shared[0][0]                     
                                                                 shared[1][0]                     
__________________________________________________________________________________________________
last (Affine)                   (None, 1)            4           sum[0][0]                        
==================================================================================================
Total params: 19
Trainable params: 19
Non-trainable params: 0
__________________________________________________________________________________________________
"""  # noqa: W291


def test_the_table_is_that_of_keras():
    lines = []
    siamese().summary(print_fn=lines.append)
    assert "\n".join(lines) + "\n" == SUMMARY


class Recorded(tf.keras.layers.Layer):
    """A layer that notes its calls, with a loss and an update of its inputs."""

    calls: ClassVar[list[str]] = []

    def call(self, inputs):
        self.calls.append(self.name)
        outputs = tf.add_n(tf.nest.flatten(inputs)) * 2.0
        self.add_loss(tf.reduce_sum(outputs), inputs=inputs)
        self.add_update(tf.identity(outputs), inputs=inputs)
        return outputs


def recorded_diamond():
    x = Input([2], name="x")
    near = Recorded(name="near")(x)
    far = Recorded(name="far_2")(Recorded(name="far_1")(x))
    model = Model(x, Recorded(name="sum")([near, far]))
    Recorded.calls.clear()
    return model


def test_layers_are_called_by_depth_and_again_for_each_call():
    model = recorded_diamond()
    value = tf.ones([1, 2])
    first = model(value)
    assert sorted(Recorded.calls) == ["far_1", "far_2", "near", "sum"]
    assert (Recorded.calls[0], Recorded.calls[3]) == ("far_1", "sum")
    # tf.keras has no cache of outputs by inputs and masks, which Keras 2.1.6 has: new operations
    again = model(value)
    assert again is not first and len(Recorded.calls) == 8
    assert K.eval(first).tolist() == K.eval(again).tolist() == [[12.0, 12.0]]


def test_losses_and_updates_are_of_their_inputs():
    model = recorded_diamond()
    own, value = model.inputs[0], tf.ones([1, 2])
    model(value)
    for of in (model.get_losses_for, model.get_updates_for):
        assert len(of(own)) == len(of(value)) == 4 and of(None) == []
    assert len(model.losses) == 8


class Twice(tf.keras.layers.Layer):
    """A layer with two outputs and `count` masks."""

    def __init__(self, count, **kwargs):
        super().__init__(**kwargs)
        self.count = count

    def call(self, inputs):
        return [inputs + 1.0, inputs + 2.0]

    def compute_mask(self, inputs, mask=None):
        return [tf.constant([[True]])] * self.count


def test_each_output_has_its_mask():
    x = Input([3, 1])
    layer = Twice(2)
    one, other = layer(x)
    assert layer.output_mask[0].dtype == tf.bool and layer.get_output_mask_at(0)[1] is not None
    model = Model(x, [one, other])
    assert [mask is None for mask in model.compute_mask(tf.zeros([1, 3, 1]))] == [False, False]
    # Keras 2.1.6 raises "Layers should have equal number of output tensors and output masks"
    fewer = Twice(1)
    fewer(x)
    assert [mask is None for mask in fewer.output_mask] == [False, True]


def test_a_mask_ends_at_a_layer_that_knows_none():
    x = Input([3, 2])
    masked = tf.keras.layers.Masking()(x)
    flat = tf.keras.layers.Flatten()
    flat(masked)
    assert flat.input_mask is not None and flat.output_mask is None


class Normalized(Model):
    """A subclass whose `call` requires `training`."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.first, self.second = tf.keras.layers.Dense(2), tf.keras.layers.BatchNormalization()

    def call(self, inputs, training):
        self.calls += 1
        return self.second(self.first(inputs), training=training)


def test_build_passes_training():
    model = Normalized()
    model.build((None, 3))
    assert len(model.weights) == 6 and model.built
    model.build((None, 3))
    assert model.calls == 1


def test_build_refuses_other_required_arguments():
    class Two(Model):
        def call(self, inputs, other):
            return inputs + other

    with pytest.raises(ValueError, match="Currently, you cannot build your model if it has"):
        Two().build((None, 3))

    class Nothing(Model):
        def call(self):
            return tf.zeros([])

    with pytest.raises(ValueError, match="You can only call `build` on a model if its `call`"):
        Nothing().build((None, 3))

    class Words(Model):
        def call(self, inputs):
            return tf.string_join([inputs, "a"])

    with pytest.raises(ValueError, match="You cannot build your model by calling `build` if"):
        Words().build((None, 3))


def test_the_first_call_of_a_subclass_calls_it_once():
    """No placeholder of `build` is in the graph, and updates are those of this call."""
    model = Normalized()
    model(tf.zeros([2, 3]), training=True)
    assert model.calls == 1 and len(model.updates) == 2
    types = {op.type for op in tf.get_default_graph().get_operations()}
    assert "Placeholder" not in types


def test_a_variable_may_be_an_input():
    variable = K.variable(np.ones([2, 3]))
    inputs = Input(tensor=variable)
    assert inputs is variable and Input(tensor=tf.Variable([[1.0]])).shape.as_list() == [1, 1]
    model = Model(inputs, Affine(2)(inputs))
    kernel, bias = model.get_weights()
    wanted = np.ones([2, 3]) @ kernel + bias
    np.testing.assert_allclose(model.predict(None, steps=1), wanted, rtol=1e-5)


def test_sparse_inputs_are_those_of_layers():
    inputs = Input([3], sparse=True)
    model = Model(inputs, tf.keras.layers.Dense(2)(inputs))
    matrix = pytest.importorskip("scipy.sparse").csr_matrix(np.eye(3, dtype=np.float32))
    model.compile("sgd", "mse")
    model.fit(matrix, np.ones([3, 2]), verbose=0)
    kernel, bias = model.get_weights()
    np.testing.assert_allclose(model.predict(matrix), kernel + bias, rtol=1e-5)
