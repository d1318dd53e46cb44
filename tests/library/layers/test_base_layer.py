"""The common parts of layers: arguments as properties, configurations, values, losses, calls,
copies.
"""

from __future__ import annotations

import copy
from functools import partial

import numpy as np
import pytest

import gpugraph as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def total(values):
    return tf.reduce_sum(values)


ARGUMENTS = {
    "Dense": ((3,), ("kernel", "bias")),
    "Conv2D": ((3, 2), ("kernel", "bias")),
    "Conv2DTranspose": ((3, 2), ("kernel", "bias")),
    "SeparableConv2D": ((3, 2), ("depthwise", "pointwise", "bias")),
    "BatchNormalization": ((), ("gamma", "beta")),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_are_properties(name):
    args, weights = ARGUMENTS[name]
    kinds = ("initializer", "regularizer", "constraint")
    options = {f"{weight}_{kind}": partial(total) for weight in weights for kind in kinds}
    layer = getattr(tf.layers, name)(*args, **options, activity_regularizer=total)
    for option, value in options.items():
        assert getattr(layer, option) is value
    assert layer.activity_regularizer is total


# -- building


@pytest.mark.parametrize("shape", [(None, 4), tf.TensorShape([None, 4])])
def test_a_layer_is_built_by_hand(shape):
    layer = tf.layers.Dense(3)
    with pytest.raises(ValueError, match=r"`count_params` on dense_1, but the layer isn't built"):
        layer.count_params()
    layer.build(shape)
    assert layer.built and layer.count_params() == 15
    assert layer(tf.zeros([2, 4])).op.name == "dense/BiasAdd"
    assert [variable.op.name for variable in tf.global_variables()] == [
        "dense/kernel",
        "dense/bias",
    ]


def test_a_layer_without_a_call_returns_its_inputs():
    layer = tf.layers.Layer(name="same", activity_regularizer=total)
    inputs = tf.ones([2, 3])
    assert layer(inputs) is inputs
    with tf.Session() as session:
        assert session.run(layer.losses) == [3.0]


def test_weights_on_read_are_not_trained():
    layer = tf.layers.Layer(name="own")
    on_read = tf.VariableSynchronization.ON_READ
    with pytest.raises(ValueError, match="ON_READ only for non-trainable variables"):
        layer.add_weight("w", [2], synchronization=on_read, trainable=True)
    variable = layer.add_weight(
        "w", [2], synchronization=on_read, aggregation=tf.VariableAggregation.MEAN
    )
    assert layer.non_trainable_weights == [variable] and tf.trainable_variables() == []
    assert variable.aggregation == tf.VariableAggregation.MEAN


def test_trainable_is_a_property_of_the_class():
    assert isinstance(tf.layers.Layer.trainable, property)
    layer = tf.layers.Dense(2)
    layer(tf.zeros([1, 2]))
    layer.trainable = False
    assert (len(layer.trainable_weights), len(layer.non_trainable_weights)) == (0, 2)


# -- values


def test_values_are_read_and_set():
    layer = tf.layers.Dense(2, name="d")
    layer(tf.zeros([1, 2]))
    with pytest.raises(ValueError, match="get_weights of layer d needs a default session"):
        layer.get_weights()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        kernel = np.array([[1, 2], [3, 4]], np.float32)
        layer.set_weights([kernel, np.ones(2)])
        values = layer.get_weights()
        np.testing.assert_array_equal(values[0], kernel)
        assert values[1].tolist() == [1, 1]
        size = len(session.graph.get_operations())
        layer.set_weights(values)
        assert len(session.graph.get_operations()) == size
        with pytest.raises(
            ValueError, match="weight list of length 1, but the layer was expecting 2"
        ):
            layer.set_weights([kernel])
        with pytest.raises(ValueError, match=r"shape \(2, 2\) not compatible with.*\(3,\)"):
            layer.set_weights([np.ones(3), np.ones(2)])


# -- configurations

LAYERS = {
    "Dense": {"units": 3, "activation": tf.nn.relu, "kernel_initializer": tf.ones_initializer()},
    "Conv2D": {"filters": 3, "kernel_size": 2, "activation": tf.tanh, "padding": "same"},
    "SeparableConv2D": {"filters": 3, "kernel_size": [2, 1], "depth_multiplier": 2},
    "Conv3DTranspose": {"filters": 3, "kernel_size": 2, "bias_initializer": None},
    "MaxPooling2D": {"pool_size": 2, "strides": (2, 1)},
    "Dropout": {"rate": 0.25, "seed": 3},
    "Flatten": {"data_format": "channels_first"},
    "BatchNormalization": {
        "axis": [1, 2],
        "beta_initializer": tf.random_uniform_initializer(-1, 1, seed=4),
        "virtual_batch_size": 2,
    },
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_of_a_configuration(name):
    layer = getattr(tf.layers, name)(**LAYERS[name], name="mine", dtype=tf.float64)
    config = layer.get_config()
    again = type(layer).from_config(config)
    assert again.get_config() == config
    assert (again.name, again.dtype) == ("mine", tf.float64)


def test_what_a_configuration_says():
    initializer = tf.glorot_uniform_initializer(seed=2)
    layer = tf.layers.Dense(
        3, tf.nn.relu, kernel_initializer=initializer, kernel_regularizer=total, name="d"
    )
    assert layer.get_config() == {
        "name": "d", "trainable": True, "dtype": None, "units": 3, "activation": "relu",
        "use_bias": True,
        "kernel_initializer": {
            "class_name": "GlorotUniform", "config": {"seed": 2, "dtype": "float32"},
        },
        "bias_initializer": {"class_name": "Zeros", "config": {"dtype": "float32"}},
        "kernel_regularizer": "total", "bias_regularizer": None, "activity_regularizer": None,
        "kernel_constraint": None, "bias_constraint": None,
    }  # fmt: skip
    assert tf.layers.Dense(3).get_config()["activation"] == "linear"
    with pytest.raises(ValueError, match="Unknown activation function: wave"):
        tf.layers.Dense.from_config({"units": 3, "activation": "wave"})
    bad = {"class_name": "Wave", "config": {}}
    with pytest.raises(ValueError, match="Unknown initializer: Wave"):
        tf.layers.Dense.from_config({"units": 3, "kernel_initializer": bad})


class Scaled(tf.layers.Layer):
    def __init__(self, factor, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor
        self.inner = [tf.layers.Dense(2)]

    def call(self, inputs):
        return self.inner[0](inputs) * self.factor


def test_a_class_of_the_program_tells_its_own_configuration():
    with pytest.raises(NotImplementedError, match=r"must override `get_config`.*factor"):
        Scaled(2).get_config()
    with pytest.raises(NotImplementedError, match=r"compute_output_shape method.*Scaled"):
        Scaled(2).compute_output_shape([1, 2])


@pytest.mark.parametrize(
    "initializer",
    [
        tf.zeros_initializer(), tf.constant_initializer(2), tf.random_normal_initializer(1, 2, 3),
        tf.truncated_normal_initializer(), tf.variance_scaling_initializer(3, "fan_out"),
        tf.orthogonal_initializer(2.0), tf.uniform_unit_scaling_initializer(),
        tf.initializers.identity(3.0), tf.glorot_normal_initializer(seed=1),
    ],
    ids=lambda initializer: type(initializer).__name__,
)  # fmt: skip
def test_initializers_have_configurations(initializer):
    config = initializer.get_config()
    assert config["dtype"] == "float32"
    assert type(initializer).from_config(config).get_config() == config


# -- shapes


@pytest.mark.parametrize(
    ("layer", "shape", "wanted"),
    [
        (lambda: tf.layers.Dense(3), (None, 5), [None, 3]),
        (lambda: tf.layers.Dense(3), tf.TensorShape([2, None, 5]), [2, None, 3]),
        (lambda: tf.layers.Flatten(), (None, 5, 3), [None, 15]),
        (lambda: tf.layers.Flatten(), (2, None, 3), [2, None]),
        (lambda: tf.layers.Conv2D(7, 3, strides=2), (None, 9, None, 2), [None, 4, None, 7]),
        (lambda: tf.layers.Conv2DTranspose(7, 3, strides=2), (1, 4, 5, 2), [1, 9, 11, 7]),
        (lambda: tf.layers.SeparableConv1D(7, 3), (None, 9, 2), [None, 7, 7]),
        (lambda: tf.layers.MaxPooling2D(2, 2, "same"), (1, 5, 5, 2), [1, 3, 3, 2]),
        (lambda: tf.layers.Dropout(), (1, 5), [1, 5]),
        (lambda: tf.layers.BatchNormalization(), (None, 5), [None, 5]),
    ],
)
def test_shapes_of_outputs(graph, layer, shape, wanted):
    layer = layer()
    assert layer.compute_output_shape(shape).as_list() == wanted
    assert graph.get_operations() == [] and not layer.built
    spec = tf.TensorSpec(shape, tf.float64)
    signature = layer.compute_output_signature(spec)
    assert (signature.shape.as_list(), signature.dtype) == (wanted, tf.float64)


def test_shapes_that_are_refused():
    with pytest.raises(ValueError, match="innermost dimension of input_shape must be defined"):
        tf.layers.Dense(3).compute_output_shape((3, None))
    with pytest.raises(TypeError, match="Only TensorSpec signature types are supported"):
        tf.layers.Dense(3).compute_output_signature((3, 2))


def test_masks_pass_where_they_are_supported():
    inputs, mask = tf.zeros([2, 2]), tf.constant([True, False])
    assert tf.layers.Dense(3).compute_mask(inputs, mask) is mask
    layer = tf.layers.Flatten(name="f")
    assert layer.compute_mask(inputs) is None
    with pytest.raises(TypeError, match="Layer f does not support masking, but was passed"):
        layer.compute_mask(inputs, mask)


# -- losses and updates


def test_losses_and_updates_by_what_they_depend_on():
    layer = tf.layers.Dense(2, kernel_regularizer=total, activity_regularizer=total)
    one, other = tf.ones([3, 2]), tf.zeros([3, 2])
    layer(one), layer(other)
    penalty, of_one, of_other = layer.losses
    assert layer.get_losses_for(None) == [penalty]
    assert layer.get_losses_for(one) == [of_one]
    assert layer.get_losses_for([one, other]) == [of_one, of_other]
    update = tf.assign_add(layer.bias, tf.reduce_sum(one, 0)).op
    layer.add_update(update, inputs=one)
    layer.add_update(tf.no_op())
    assert layer.get_updates_for(one) == [update] and layer.get_updates_for(other) == []
    assert len(layer.get_updates_for(None)) == 1


def test_updates_of_a_call_depend_on_its_inputs():
    layer = tf.layers.BatchNormalization()
    one, other = tf.ones([3, 2]), tf.zeros([3, 2])
    layer(one, training=True)
    assert layer.get_updates_for(one) == layer.updates and len(layer.updates) == 2
    assert layer.get_updates_for(other) == layer.get_updates_for(None) == []


def test_metrics_of_layers_have_a_name_and_are_means():
    layer = tf.layers.Layer(name="m")
    value = tf.constant(1.0)
    assert layer.metrics == []
    with pytest.raises(ValueError, match="Please provide a name for your metric"):
        layer.add_metric(value)
    with pytest.raises(ValueError, match=r"only `mean` sample-wise metric aggregation"):
        layer.add_metric(value, "sum", "a")
    layer.add_metric(value, "mean", "a")
    assert [metric.name for metric in layer.metrics] == ["a"]
    assert layer.weights == []


# -- calls as nodes


def test_a_layer_outside_of_a_network_has_no_input():
    layer = tf.layers.Dense(2, name="d")
    layer(tf.zeros([2, 2]))
    assert layer.inbound_nodes == [] == layer.outbound_nodes
    for name, message in [
        ("input", "Layer d is not connected, no input to return"),
        ("output", "Layer d has no inbound nodes"),
        ("input_mask", "not connected"),
        ("output_mask", "no inbound nodes"),
        ("input_shape", "never been called and thus has no defined input shape"),
        ("output_shape", "never been called and thus has no defined output shape"),
    ]:
        with pytest.raises(AttributeError, match=message):
            getattr(layer, name)
    for name in ("input", "output", "input_shape", "output_shape", "input_mask", "output_mask"):
        with pytest.raises(RuntimeError, match="has never been called and thus has no defined"):
            getattr(layer, f"get_{name}_at")(0)


def test_calls_on_tensors_of_a_network_are_nodes():
    source, layer = tf.layers.Layer(name="source"), tf.layers.Dense(2, name="d")
    one, other = tf.zeros([2, 3]), tf.zeros([5, 3])
    one._keras_history = other._keras_history = (source, 0, 0)
    output = layer(one)
    assert layer.input is one and layer.output is output
    assert (layer.input_shape, layer.output_shape) == ((2, 3), (2, 2))
    assert layer.input_mask is None and layer.get_output_mask_at(0) is None
    assert output._keras_history.layer is layer
    assert source.outbound_nodes == layer.inbound_nodes
    after = tf.layers.Flatten()(output)
    assert after._keras_history.layer.inbound_nodes[0].inbound_layers == [layer]
    second = layer(other)
    assert layer.get_output_at(1) is second and layer.get_input_at(1) is other
    assert layer.input is one and layer.output is output  # those of the first call
    with pytest.raises(AttributeError, match="different input shapes"):
        layer.input_shape  # noqa: B018
    with pytest.raises(ValueError, match="at node 2, but the layer has only 2 inbound nodes"):
        layer.get_input_at(2)


# -- modules


def test_layers_in_attributes_are_submodules():
    layer = Scaled(2)
    assert layer.submodules == (layer.inner[0],)
    assert not layer.dynamic and tf.layers.Layer(dynamic=True).dynamic


def test_name_scopes():
    class Named(tf.layers.Layer):
        @tf.layers.Layer.with_name_scope
        def constant(self):
            return tf.constant(1)

    layer = Named(name="n")
    with pytest.raises(ValueError, match="No name available for layer scope"):
        layer.constant()
    layer(tf.zeros([1]))
    assert layer.constant().op.name == "n/Const"
    with layer.name_scope:
        assert tf.constant(1).op.name == "n/Const_1"


def test_copies_share_tensors_and_scope():
    layer = tf.layers.Dense(2, name="d", kernel_regularizer=total)
    layer(tf.zeros([1, 2]))
    layer.settings = {"a": [1]}
    duplicate = copy.deepcopy(layer)
    assert duplicate.kernel is layer.kernel and duplicate.weights == layer.weights
    assert duplicate.graph is layer.graph and duplicate.scope_name == "d"
    duplicate.settings["a"].append(2)
    duplicate.add_loss(tf.constant(1.0))
    assert layer.settings == {"a": [1]} and len(layer.losses) == 1
    duplicate(tf.zeros([1, 2]))
    assert len(tf.global_variables()) == 2
    assert not copy.deepcopy(tf.layers.Dense(2)).built


def test_pooling_needs_strides():
    images = tf.zeros([1, 4, 4, 1])
    for strides in ((1, 2, 3), "two"):
        with pytest.raises(ValueError, match=r"`strides` argument must be a tuple of 2 integers"):
            tf.layers.max_pooling2d(images, 3, strides=strides)
    for layer in (tf.layers.MaxPooling1D, tf.layers.AveragePooling3D):
        with pytest.raises(ValueError, match=r"^Argument `strides` must not be None\.$"):
            layer(2, strides=None)
    with pytest.raises(ValueError, match=r"^Argument `strides` must not be None\.$"):
        tf.layers.average_pooling2d(images, 3, strides=None)


# -- the style of tf.keras


def test_layers_in_the_style_of_keras_share_nothing():
    inputs = tf.zeros([2, 3])
    with tf.layers.experimental.keras_style_scope():
        layers = [tf.layers.Dense(2), tf.layers.Dense(2, name="n")]
        with tf.variable_scope("vs"):
            first = layers[0](inputs)
        calls = [layers[1](inputs), layers[1](inputs)]
        other = tf.layers.Dense(2, name="n")
        other(inputs)
        tf.layers.BatchNormalization(name="b")(inputs)
        cell = tf.nn.rnn_cell.BasicRNNCell(2)
        with pytest.raises(ValueError, match="scope argument not allowed when keras style layers"):
            tf.layers.dense(inputs, 2, name="q")
        with pytest.raises(ValueError, match="reuse argument not allowed when keras style layers"):
            tf.nn.rnn_cell.BasicRNNCell(2, reuse=True)
    cell(inputs, tf.zeros([2, 2]))
    kernels = [v.op.name for v in tf.trainable_variables() if v.op.name.endswith("kernel")]
    assert kernels == ["vs/dense_1/kernel", "n/kernel", "n_2/kernel", "basic_rnn_cell_1/kernel"]
    assert [first.op.name, *(call.op.name for call in calls)] == [
        "vs/dense_1/BiasAdd", "n/BiasAdd", "n_1/BiasAdd",
    ]  # fmt: skip
    assert layers[1].weights != other.weights
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([first, *calls])
    assert tf.layers.Dense(2)(inputs).op.name == "dense/BiasAdd"
