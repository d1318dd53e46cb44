"""Operations between layers as layers, and layers of losses and metrics of a model."""

import json

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.formats.messages_pb2 import NodeDef
from gpugraph.library.keras.models import clone_model, load_model, model_from_json

from .conftest import Affine

K, Input, Model, layers = tf.keras.backend, tf.keras.Input, tf.keras.Model, tf.keras.layers
VALUE = np.linspace(-1.0, 1.0, 12, dtype=np.float32).reshape(3, 4)


def with_operation(function):
    """Return a model of one operation, or several, on the outputs of a layer."""
    x = Input([4])
    return Model(x, function(Affine(4, name="a")(x)))


def test_a_configuration_is_that_of_tensorflow():
    model = with_operation(lambda y: tf.multiply(3.0, y, name="times"))
    layer = model.layers[-1]
    assert layer.name == "tf_op_layer_times"
    config = layer.get_config()
    assert config == {
        "name": "times",
        "trainable": True,
        "dtype": None,
        "node_def": {
            "name": "times",
            "op": "Mul",
            "input": ["times/x", "a/add"],
            "attr": {"T": {"type": "DT_FLOAT"}},
        },
        "constants": {0: np.float32(3.0)},
    }
    message = NodeDef(name="times", op="Mul")
    message.attr["T"].type = 1
    for node_def in (config["node_def"], message, message.SerializeToString()):
        copy = type(layer)(node_def, "again", {"0": 3.0})
        np.testing.assert_array_equal(K.eval(copy(tf.constant(VALUE))), 3.0 * VALUE)
        assert copy.compute_output_shape((7, 4)).as_list() == [7, 4]


@pytest.mark.parametrize(
    "function, why",
    [
        (
            lambda y: tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, 2 * a), [0, y])[1],
            r"\(Enter\) between layers is part of a loop: put it into a Lambda",
        ),
        (
            lambda y: tf.TensorArray(tf.float32, 3).unstack(y).stack(),
            "reads TensorArray, which has no value that a configuration could hold",
        ),
        (
            lambda y: y + tf.placeholder(tf.float32, [4], name="fed"),
            "reads fed, which has no value that a configuration could hold",
        ),
    ],
)
def test_what_has_no_configuration(function, why):
    model = with_operation(function)
    with pytest.raises(NotImplementedError, match=why):
        model.get_config()
    with pytest.raises(NotImplementedError, match=why):
        clone_model(model)


def test_a_loop_is_not_called_again():
    model = with_operation(
        lambda y: tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, 2 * a), [0, y])[1]
    )
    with pytest.raises(NotImplementedError, match="is part of a loop"):
        model(tf.constant(VALUE))


def test_operations_with_effects_are_not_run_from_files(tmp_path):
    model = with_operation(lambda y: tf.py_func(lambda a: a * 2.0, [y], tf.float32))
    copy = model_from_json(model.to_json(), {"Affine": Affine})  # of this process
    copy.set_weights(model.get_weights())
    np.testing.assert_array_equal(copy.predict(VALUE), model.predict(VALUE))
    model.save(tmp_path / "model.h5")
    with pytest.raises(ValueError, match="PyFunc of layer tf_op_layer_PyFunc, which has effects"):
        load_model(tmp_path / "model.h5", {"Affine": Affine})
    node_def = {"name": "read", "op": "ReadFile"}
    config = {"name": "read", "node_def": node_def, "constants": {"0": "/etc/hostname"}}
    text = json.dumps({"class_name": "TensorFlowOpLayer", "config": config})
    with pytest.raises(ValueError, match="ReadFile of layer tf_op_layer_read, which has effects"):
        model_from_json(text)


def test_bad_nodes_are_refused():
    layer = with_operation(lambda y: y * 2.0).layers[-1]
    for change, error, words in (
        ({"node_def": {"op": 3}}, ValueError, "op"),
        ({"node_def": {"op": "Mul", "attr": {"V": {"i": 1}}}}, ValueError, "mentions attr 'V'"),
        ({"node_def": {"op": "Nope"}}, tf.errors.NotFoundError, "Op type not registered 'Nope'"),
    ):
        with pytest.raises(error, match=words):
            type(layer).from_config({**layer.get_config(), **change})
    copy = type(layer).from_config({**layer.get_config(), "constants": {"4": 1.0}})
    with pytest.raises(ValueError, match="constants of tf_op_layer_mul are not inputs of Mul"):
        copy(tf.constant(VALUE))


def test_names_of_a_file_are_not_taken_again(tmp_path):
    with_operation(lambda y: y * 2.0).save(tmp_path / "model.h5")
    with tf.Graph().as_default():
        loaded = load_model(tmp_path / "model.h5", {"Affine": Affine})
        names = [layer.name for layer in Model(loaded.input, loaded.output * 2.0).layers]
    assert names[-2:] == ["tf_op_layer_mul", "tf_op_layer_mul_1"]


def test_a_layer_in_a_group_of_another_is_written(tmp_path):
    model = with_operation(lambda y: tf.nn.l2_normalize(y, -1))  # l2_normalize, l2_normalize/Square
    model.save(tmp_path / "model.h5")
    loaded = load_model(tmp_path / "model.h5", {"Affine": Affine})
    np.testing.assert_array_equal(loaded.predict(VALUE), model.predict(VALUE))


# -- losses and metrics of a model


def copies(model):
    yield type(model).from_config(model.get_config())
    yield model_from_json(model.to_json())
    yield clone_model(model)


def row():
    return tf.keras.Sequential([layers.InputLayer((4,), name="begin"), layers.Dense(2)])


def graph():
    x = tf.keras.Input((4,))
    return Model(x, layers.Dense(2)(x))


@pytest.mark.parametrize("build", [row, graph])
def test_losses_and_metrics_are_layers(build):
    model = build()
    model.add_metric(tf.reduce_sum(model.input * 2.0, -1), "mean", "deep")
    model.add_loss([tf.reduce_mean(model.output) * 2.0, tf.reduce_sum(model.input)])
    model.add_metric(tf.reduce_max(model.output, -1), "mean", "shallow")
    assert [type(layer).__name__ for layer in model.layers[-6:]].count("AddLoss") == 2
    assert len(model.losses) == 2
    model.compile("sgd", "mse")
    assert model.metrics_names == ["loss", "deep", "shallow"]
    wanted = model.evaluate(VALUE, VALUE[:, :2], verbose=0)
    for copy in copies(model):
        copy.set_weights(model.get_weights())
        copy.compile("sgd", "mse")
        assert copy.metrics_names == model.metrics_names
        np.testing.assert_array_equal(copy.predict(VALUE), model.predict(VALUE))
        np.testing.assert_allclose(copy.evaluate(VALUE, VALUE[:, :2], verbose=0), wanted, rtol=1e-6)


def test_a_copy_may_share_layers_with_its_model():
    model = graph()
    model.add_loss(tf.reduce_mean(model.output))
    copy = clone_model(model, clone_function=lambda layer: layer)
    assert copy.layers[1:] == model.layers[1:]
    assert copy.inputs[0] is not model.inputs[0]
    np.testing.assert_array_equal(copy.predict(VALUE), model.predict(VALUE))


def test_each_loss_counts():
    model = graph()
    model.add_loss(1.0)
    model.add_loss(1.0)
    model.add_loss(lambda: tf.constant(3.0))
    assert len(model.losses) == 3
    model.compile("sgd", "mse")
    loss = np.mean((model.predict(VALUE) - VALUE[:, :2]) ** 2)
    assert model.evaluate(VALUE, VALUE[:, :2], verbose=0) == pytest.approx(loss + 5.0)
    layer = layers.Layer()
    layer.add_loss([1.0, None, tf.constant(2.0)])
    layer.add_loss(1.0)
    assert [K.eval(loss) for loss in layer.losses] == [1.0, 2.0, 1.0]
    assert all(loss.dtype == tf.float32 for loss in layer.losses)
    assert layer.get_losses_for(None) == layer.losses


def test_losses_of_other_inputs_are_refused():
    model = graph()
    with pytest.raises(ValueError, match="Graph disconnected"):
        model.add_loss(tf.reduce_mean(graph().output))
    assert model.losses == []
    with pytest.raises(ValueError, match="result of calling a `Metric` object"):
        model.add_metric(tf.keras.metrics.Mean(name="m")(model.output))


# -- arguments, first calls, masks


class Total(layers.Layer):
    def call(self, inputs, terms=None, factor=1.0):
        return tf.add_n([inputs, *tf.nest.flatten(terms or [])]) * factor


def test_tensors_in_nested_arguments_stay():
    x, y = tf.keras.Input((4,)), tf.keras.Input((4,))
    terms = {"a": [x, {"b": y * 2.0}], "c": (y,)}
    model = Model([x, y], Total()(x, terms, factor=tf.constant([0.5, 0.5, 0.5, 5.0])))
    wanted = (2.0 * VALUE + 3.0 * VALUE[::-1]) * [0.5, 0.5, 0.5, 5.0]
    np.testing.assert_allclose(model.predict([VALUE, VALUE[::-1]]), wanted, rtol=1e-6)
    copy = Model.from_config(model.get_config(), {"Total": Total})
    np.testing.assert_allclose(copy.predict([VALUE, VALUE[::-1]]), wanted, rtol=1e-6)
    arguments = model.get_config()["layers"][-1]["inbound_nodes"][0][0][3]
    assert arguments["terms"]["a"] == [[x._keras_history.layer.name, 0, 0],
                                       {"b": ["tf_op_layer_mul", 0, 0]}]  # fmt: skip


def test_arguments_that_json_lacks_are_left_out(capsys):
    x = tf.keras.Input((4,))
    model = Model(x, Total()(x, factor=np.float32(2.0), terms=None))
    assert model.get_config()["layers"][1]["inbound_nodes"][0][0][3]["factor"] == 2.0
    model.layers[1].inbound_nodes[0].arguments["factor"] = object()
    assert model.get_config()["layers"][1]["inbound_nodes"][0][0][3] == {}
    assert "non-serializable keyword arguments" in capsys.readouterr().err


@pytest.mark.parametrize("cell", [layers.GRU, lambda n: layers.RNN(layers.LSTMCell(n))])
def test_a_mask_as_a_keyword_stays(cell):
    x, mask = tf.keras.Input((5, 4)), tf.keras.Input((5,), dtype="bool")
    model = Model([x, mask], cell(3)(x, mask=mask))
    numbers = np.random.RandomState(0)
    arrays = [numbers.randn(6, 5, 4), numbers.rand(6, 5) > 0.5]
    for copy in copies(model):
        copy.set_weights(model.get_weights())
        np.testing.assert_array_equal(copy.predict(arrays), model.predict(arrays))
    unmasked = model.predict([arrays[0], np.ones((6, 5), bool)])
    assert np.abs(unmasked - model.predict(arrays)).max() > 1e-3


def test_a_shared_layer_has_the_tensors_of_its_first_call():
    x, y = tf.keras.Input((5,)), tf.keras.Input((5,))
    shared = layers.Embedding(7, 3, mask_zero=True)
    first, _ = shared(x), shared(y)
    assert shared.input is x
    assert shared.output is first
    assert shared.output_mask is first._keras_mask
    assert shared.input_mask is None
    assert (shared.input_shape, shared.output_shape) == ((None, 5), (None, 5, 3))
    network = Model(x, layers.Dense(2)(first))
    network(y)
    assert network.output is network.outputs[0]
    features = Model(network.input, network.get_layer(shared.name).output)
    words = np.arange(5)[None]
    np.testing.assert_array_equal(features.predict(words)[0], shared.get_weights()[0][:5])


def test_each_call_sets_the_masks_of_its_inputs():
    x = tf.keras.Input((4,))
    network = Model(x, layers.Dense(2)(x))
    tensor = tf.ones([3, 4])
    tensor._keras_mask = tf.constant([True, False, True])
    network.call(tensor)
    assert tensor._keras_mask is None
    mask = tf.constant([True, True, False])
    network.call(tensor, mask=mask)
    assert tensor._keras_mask is mask


class Both(layers.Layer):
    """The sum of two inputs, whose mask is that of the first."""

    def call(self, inputs):
        return tf.add_n(inputs)

    def compute_mask(self, inputs, mask=None):
        return None if mask is None else mask[0]


def test_inputs_without_masks_have_no_list_of_them():
    x = tf.keras.Input((4,))
    both = Both()
    assert both([x, x])._keras_mask is None
    masked = layers.Masking()(tf.keras.Input((5, 4)))
    assert both([masked, tf.zeros([1, 5, 4])])._keras_mask is masked._keras_mask


def test_the_learning_phase_as_an_argument_stays_one():
    x = tf.keras.Input((4,))
    model = Model(x, layers.Dropout(0.999)(x, training=K.learning_phase()))
    ones = np.ones((9, 4), np.float32)
    assert K.eval(model(tf.constant(ones), training=True)).sum() != ones.sum()
    for copy in copies(model):
        trained = K.function([*copy.inputs, K.learning_phase()], copy.outputs)
        assert trained([ones, True])[0].sum() != ones.sum()
        np.testing.assert_array_equal(copy.predict(ones), ones)
