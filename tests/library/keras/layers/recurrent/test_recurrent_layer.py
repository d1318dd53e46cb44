"""States, masks, constants and shapes of recurrent layers."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from .conftest import K, run

L = tf.keras.layers
INPUTS = np.random.RandomState(0).uniform(-1, 1, (2, 4, 3)).astype(np.float32)


class SumCell:
    """Adds the inputs to the state; an object that is no layer."""

    state_size = 3

    def call(self, inputs, states):
        return states[0] + inputs, [states[0] + inputs]

    def get_config(self):
        return {}


class ScaledCell(L.Layer):
    """Adds the inputs times a constant of the whole sequence."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = self.state_size = units

    def call(self, inputs, states, constants):
        output = states[0] + inputs * constants[0]
        return output, [output]

    def get_config(self):
        return {**super().get_config(), "units": self.units}


def evaluated(inputs, outputs, values):
    return K.function(inputs, outputs)(values)


def test_an_object_as_a_cell():
    layer = L.RNN(SumCell(), return_sequences=True)
    with tf.keras.utils.custom_object_scope({"SumCell": SumCell}):
        np.testing.assert_allclose(run(layer, INPUTS)[0], np.cumsum(INPUTS, 1), rtol=1e-5)
    for faulty in (object(), type("Stateless", (), {"call": None})()):
        with pytest.raises(ValueError, match="should have a"):
            L.RNN(faulty)


def test_masked_steps_keep_the_states():
    value = INPUTS.copy()
    value[0, 2:] = 0
    layer = L.RNN(SumCell(), return_sequences=True, return_state=True)
    x = tf.keras.Input((4, 3))
    outputs = layer(L.Masking()(x))
    assert outputs[0]._keras_mask is not None and outputs[1]._keras_mask is None
    arrays = evaluated([x], outputs, [value])
    np.testing.assert_allclose(arrays[0], np.cumsum(value, 1), rtol=1e-5)
    np.testing.assert_allclose(arrays[1], value.sum(1), rtol=1e-5)
    zeros = L.RNN(SumCell(), return_sequences=True, zero_output_for_mask=True)
    array = evaluated([x], [zeros(L.Masking()(x))], [value])[0]
    assert not array[0, 2:].any() and array[1, 2:].all()


def test_states_that_are_passed():
    x, tensors = tf.keras.Input((4, 3)), [tf.keras.Input((5,)), tf.keras.Input((5,))]
    layer = L.LSTM(5, return_state=True)
    states = [np.full((2, 5), value, np.float32) for value in (0.5, -0.5)]
    outputs = layer(x, initial_state=tensors)
    model = tf.keras.Model([x, *tensors], outputs)
    wanted = evaluated(model.inputs, model.outputs, [INPUTS, *states])
    constants = layer(tf.constant(INPUTS), initial_state=[tf.constant(s) for s in states])
    for one, other in zip(K.get_session().run(constants), wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    copied = tf.keras.Model.from_config(model.get_config())
    copied.set_weights(model.get_weights())
    again = evaluated(copied.inputs, copied.outputs, [INPUTS, *states])
    np.testing.assert_allclose(again[0], wanted[0], atol=1e-6)
    with pytest.raises(ValueError, match="mix of Keras tensors"):
        layer(x, initial_state=[tensors[0], tf.zeros([2, 5])])
    with pytest.raises(ValueError, match="has 2 states but was passed 1"):
        layer(x, initial_state=tensors[:1])
    with pytest.raises(ValueError, match=r"not compatible with `cell\.state_size`"):
        layer(x, initial_state=[tensors[0], tf.keras.Input((4,))])


def test_constants():
    x, factor = tf.keras.Input((4, 3)), tf.keras.Input((3,))
    model = tf.keras.Model([x, factor], L.RNN(ScaledCell(3))(x, constants=factor))
    scale = np.array([[2, 2, 2], [3, 3, 3]], np.float32)
    wanted = (INPUTS * scale[:, None]).sum(1)
    config = model.get_config()
    assert config["layers"][-1]["config"]["num_constants"] == 1
    copied = tf.keras.Model.from_config(config, {"ScaledCell": ScaledCell})
    for one in (model, copied):
        array = evaluated(one.inputs, one.outputs, [INPUTS, scale])[0]
        np.testing.assert_allclose(array, wanted, rtol=1e-5)
    with pytest.raises(ValueError, match="does not support constants"):
        L.GRU(3)(x, constants=factor)


def test_a_stateful_layer_goes_on():
    layer = L.RNN(SumCell(), stateful=True)
    x = tf.keras.Input(batch_shape=(2, 4, 3))
    model = tf.keras.Model(x, layer(x))
    run_once = K.function([x], model.outputs, updates=model.updates)
    total = INPUTS.sum(1)
    assert model.stateful and model.state_updates == model.updates and layer.weights == []
    for count in (1, 2):
        np.testing.assert_allclose(run_once([INPUTS])[0], count * total, rtol=1e-5)
    layer.reset_states(np.ones((2, 3)))
    np.testing.assert_allclose(run_once([INPUTS])[0], 1 + total, rtol=1e-5)
    model.reset_states()
    np.testing.assert_allclose(run_once([INPUTS])[0], total, rtol=1e-5)
    with pytest.raises(ValueError, match="State 0 is incompatible"):
        layer.reset_states(np.ones((1, 3)))
    with pytest.raises(ValueError, match="expects 1 states, but it received 2"):
        layer.reset_states([np.ones((2, 3))] * 2)
    with pytest.raises(ValueError, match="needs to know its batch size"):
        L.LSTM(2, stateful=True)(tf.keras.Input((4, 3)))
    with pytest.raises(AttributeError, match="must be stateful"):
        L.LSTM(2).reset_states()


def test_time_first_and_backwards():
    layer = L.RNN(SumCell(), return_sequences=True, time_major=True)
    first = np.swapaxes(INPUTS, 0, 1).copy()
    np.testing.assert_allclose(run_plain(layer, first), np.cumsum(first, 0), rtol=1e-5)
    layer = L.RNN(SumCell(), return_sequences=True, go_backwards=True)
    wanted = np.cumsum(INPUTS[:, ::-1], 1)
    np.testing.assert_allclose(run_plain(layer, INPUTS), wanted, rtol=1e-5)


def run_plain(layer, value):
    return K.get_session().run(layer(tf.constant(value)))


def test_steps_that_are_not_known():
    x = tf.keras.Input((None, 3))
    outputs = L.GRU(2, return_sequences=True)(x)
    assert outputs.shape.as_list() == [None, None, 2]
    assert evaluated([x], [outputs], [INPUTS])[0].shape == (2, 4, 2)
    with pytest.raises(ValueError, match="Cannot unroll a RNN"):
        L.GRU(2, unroll=True)(x)
    with pytest.raises(ValueError, match=r"expected ndim=3, found ndim=2"):
        L.LSTM(2)(tf.keras.Input((3,)))
    first = L.LSTM(2, input_dim=3, input_length=4)
    assert tf.keras.Sequential([first]).output_shape == (None, 2)


def test_cells_on_top_of_each_other():
    cells = [L.LSTMCell(4), L.GRUCell(2)]
    layer = L.RNN(cells, return_state=True)
    arrays = run(layer, INPUTS)
    assert [array.shape[1] for array in arrays] == [2, 4, 4, 2]
    np.testing.assert_array_equal(arrays[0], arrays[-1])
    sizes = L.StackedRNNCells(cells, reverse_state_order=True).state_size
    assert sizes == (2, [4, 4])
    with pytest.raises(ValueError, match="should have a `call` method"):
        L.StackedRNNCells([3])


def test_cells_of_tf_nn():
    for cell in (tf.nn.rnn_cell.GRUCell(3), tf.nn.rnn_cell.LSTMCell(3)):
        layer = L.RNN(cell, return_state=True)
        outputs = layer(tf.constant(INPUTS))
        wanted, _ = tf.nn.dynamic_rnn(cell, tf.constant(INPUTS), dtype=tf.float32)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            one, other = session.run([outputs[0], wanted])
        np.testing.assert_allclose(one, other[:, -1], atol=1e-6)


def test_gradients_reach_all_weights():
    x = tf.keras.Input((4, 3))
    layer = L.RNN([L.LSTMCell(2), L.SimpleRNNCell(2)])
    loss = tf.reduce_sum(layer(L.Masking()(x)))
    gradients = tf.gradients(loss, [x, *layer.trainable_weights])
    arrays = evaluated([x], gradients, [INPUTS])
    assert len(arrays) == 7 and all(np.isfinite(array).all() for array in arrays)


CELLS = {
    "BasicRNNCell": lambda: tf.nn.rnn_cell.BasicRNNCell(3),
    "BasicLSTMCell": lambda: tf.nn.rnn_cell.BasicLSTMCell(3),
    "GRUCell": lambda: tf.nn.rnn_cell.GRUCell(3),
    "LSTMCell": lambda: tf.nn.rnn_cell.LSTMCell(3, use_peepholes=True),
    "MultiRNNCell": lambda: tf.nn.rnn_cell.MultiRNNCell(
        [tf.nn.rnn_cell.GRUCell(2), tf.nn.rnn_cell.BasicRNNCell(3)]
    ),
    "GRUBlockCell": lambda: tf.contrib.rnn.GRUBlockCell(3),
    "LSTMBlockCell": lambda: tf.contrib.rnn.LSTMBlockCell(3),
    "NASCell": lambda: tf.contrib.rnn.NASCell(3),
}


@pytest.mark.parametrize("name", CELLS)
def test_models_of_cells_of_tf_nn_are_initialized_and_trained(name):
    tf.set_random_seed(1)
    inputs = tf.keras.Input((4, 3))
    model = tf.keras.Model(inputs, L.RNN(CELLS[name]())(inputs))
    model.compile("sgd", "mse")
    before = model.predict(INPUTS)
    assert before.shape == (2, 3) and len(model.trainable_weights) > 1
    model.fit(INPUTS, np.ones((2, 3)), verbose=0)
    assert (model.predict(INPUTS) != before).all()


def test_simple_rnn_drops_implementation():
    """Keras 2.1's layers have it; LSTM and GRU still do."""
    for implementation in (0, 1, 2):
        layer = L.SimpleRNN(3, implementation=implementation)
        assert "implementation" not in layer.get_config()
    with pytest.raises(TypeError, match="Keyword argument not understood: implementation"):
        L.ConvLSTM2D(3, 2, implementation=1)


def test_the_configuration_of_a_cell_is_a_dict():
    cells = [make() for name, make in CELLS.items() if "Block" not in name]
    for cell in (L.LSTMCell(3), [L.LSTMCell(3), L.GRUCell(2)], *cells):
        config = L.RNN(cell).get_config()["cell"]
        assert type(config["config"]) is dict and config["class_name"].endswith(("Cell", "Cells"))
    for name in ("GRUBlockCell", "LSTMBlockCell"):
        with pytest.raises(NotImplementedError, match="must override `get_config`"):
            L.RNN(CELLS[name]()).get_config()
