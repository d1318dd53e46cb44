"""Cells as configurations, and the cells that are made of them again."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

rnn_cell = tf.nn.rnn_cell


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run_once(cell, ones=True):
    state = cell.zero_state(2, tf.float32)
    with tf.variable_scope("s", reuse=tf.AUTO_REUSE, initializer=tf.ones_initializer()):
        output, _ = cell(tf.fill([2, 3], 0.1), state, scope="c")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(output)


CELLS = {
    "basic": lambda: rnn_cell.BasicRNNCell(3, activation=tf.nn.relu),
    "gru": lambda: rnn_cell.GRUCell(3, bias_initializer=tf.constant_initializer(0.5)),
    "basic lstm": lambda: rnn_cell.BasicLSTMCell(3, forget_bias=0.5),
    "lstm": lambda: rnn_cell.LSTMCell(3, use_peepholes=True, num_proj=3, cell_clip=0.3),
    "device": lambda: rnn_cell.DeviceWrapper(rnn_cell.GRUCell(3), "/cpu:0"),
    "residual": lambda: rnn_cell.ResidualWrapper(rnn_cell.GRUCell(3)),
    "residual by a function": lambda: rnn_cell.ResidualWrapper(
        rnn_cell.GRUCell(3), residual_fn=lambda i, o, factor=3.0: i + factor * o
    ),
    "several": lambda: rnn_cell.MultiRNNCell([rnn_cell.GRUCell(3), rnn_cell.LSTMCell(3)]),
}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_of_a_configuration_computes_the_same(name):
    cell = CELLS[name]()
    config = cell.get_config()
    again = type(cell).from_config(config)
    left_out = ("name", "residual_fn")  # no argument of all; code, whose bytes may differ
    for key in config.keys() - left_out:
        assert again.get_config()[key] == config[key]
    np.testing.assert_array_equal(run_once(cell), run_once(again))


def test_what_a_configuration_says():
    config = rnn_cell.LSTMCell(3, forget_bias=2.0, name="mine", dtype=tf.float64).get_config()
    assert config == {
        "name": "mine", "trainable": True, "dtype": "float64", "num_units": 3,
        "use_peepholes": False, "cell_clip": None, "initializer": None, "num_proj": None,
        "proj_clip": None, "num_unit_shards": None, "num_proj_shards": None, "forget_bias": 2.0,
        "state_is_tuple": True, "activation": "tanh", "reuse": None,
    }  # fmt: skip
    config = rnn_cell.DeviceWrapper(rnn_cell.BasicRNNCell(2), "/cpu:0").get_config()
    assert config["device"] == "/cpu:0" and config["cell"]["class_name"] == "BasicRNNCell"
    assert config["cell"]["config"]["num_units"] == 2


def test_dropout_with_a_filter_of_the_program():
    depth = 2

    def visit(state):
        return depth < 1 or isinstance(state, rnn_cell.LSTMStateTuple)

    cell = rnn_cell.DropoutWrapper(
        rnn_cell.BasicLSTMCell(3), 0.5, seed=4, dropout_state_filter_visitor=visit
    )
    config = cell.get_config()
    assert (config["input_keep_prob"], config["seed"]) == (0.5, 4)
    assert (config["dropout_fn_type"], config["dropout_fn_module"]) == ("lambda", __name__)
    again = rnn_cell.DropoutWrapper.from_config(config).get_config()
    assert again["dropout_fn"][1:] == (None, (2,)) == config["dropout_fn"][1:]
    plain = rnn_cell.DropoutWrapper(rnn_cell.BasicLSTMCell(3), 0.5).get_config()
    assert "dropout_fn" not in plain


class Doubled(rnn_cell.BasicRNNCell):
    pass


def test_classes_of_the_program_are_given():
    config = rnn_cell.MultiRNNCell([Doubled(3)]).get_config()
    with pytest.raises(ValueError, match="Unknown layer: Doubled"):
        rnn_cell.MultiRNNCell.from_config(config)
    cell = rnn_cell.MultiRNNCell.from_config(config, custom_objects={"Doubled": Doubled})
    assert isinstance(cell._cells[0], Doubled)


def test_a_getter_may_make_variables_that_are_not_trained():
    def frozen(getter, *args, **kwargs):
        return getter(*args, **{**kwargs, "trainable": False})

    cell = rnn_cell.BasicRNNCell(2)
    with tf.variable_scope("root", custom_getter=frozen):
        cell(tf.zeros([1, 2]), tf.zeros([1, 2]))
    assert cell.trainable_variables == [] and len(cell.non_trainable_variables) == 2


def test_a_cell_is_built_by_hand():
    cell = rnn_cell.GRUCell(2)
    cell.build((None, 3))
    assert cell.built and cell.count_params() == 5 * 4 + 4 + 5 * 2 + 2
    cell(tf.zeros([1, 3]), tf.zeros([1, 2]))
    assert len(tf.global_variables()) == 4


def test_integers_are_refused():
    with pytest.raises(ValueError, match="RNN cell only supports floating point inputs"):
        rnn_cell.BasicRNNCell(2)(tf.zeros([1, 3], tf.int32), tf.zeros([1, 2], tf.int32))
