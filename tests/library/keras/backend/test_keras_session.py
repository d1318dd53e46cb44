"""Keras's session: its choice, its initialization of variables, and its reset by
`clear_session`.
"""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

K = tf.keras.backend


def test_one_session_for_each_graph():
    session = K.get_session()
    assert K.get_session() is session and session.graph is tf.get_default_graph()
    with tf.Graph().as_default() as other:
        assert K.get_session().graph is other
    with tf.Graph().as_default() as third:
        x = tf.constant(1.0)
    assert K.get_session([x]).graph is third


def test_the_default_session_and_one_that_is_set():
    with tf.Session() as session:
        assert K.get_session() is session
    mine = tf.Session()
    K.set_session(mine)
    assert K.get_session() is mine


def test_variables_are_initialized_once_before_they_are_used():
    v = K.variable(3.0)
    assert K.get_session().run(v) == 3
    K.set_value(v, 4.0)
    w = K.variable(5.0)
    assert K.get_session().run([v, w]) == [4, 5]
    plain = tf.Variable(1.0)  # is the program's
    with pytest.raises(tf.errors.FailedPreconditionError):
        K.get_session().run(plain)


def test_what_is_initialized_already_keeps_its_value():
    v = K.variable(3.0)
    with tf.Session() as session:
        session.run(v.initializer)
        v.load(7.0, session)
        assert K.get_session().run(v) == 7


def test_the_program_may_initialize_all_itself():
    K.manual_variable_initialization(True)
    v = K.variable(3.0)
    with pytest.raises(tf.errors.FailedPreconditionError):
        K.get_session().run(v)
    K.manual_variable_initialization(False)
    assert K.get_session().run(v) == 3


def test_numbers_of_names():
    assert [K.get_uid("dense"), K.get_uid("dense"), K.get_uid(), K.get_uid("lstm")] == [1, 2, 1, 1]
    with tf.Graph().as_default():
        assert K.get_uid("dense") == 1
    K.reset_uids()
    assert K.get_uid("dense") == 1


def test_clearing_begins_anew():
    graph, session = K.get_graph(), K.get_session()
    K.set_learning_phase(1)
    K.get_uid("dense")
    K.clear_session()
    assert K.get_graph() is tf.get_default_graph() is not graph
    assert [op.name for op in K.get_graph().get_operations()][-1] == "keras_learning_phase"
    assert K.learning_phase().graph is K.get_graph()
    assert K.get_uid("dense") == 1
    assert K.get_session() is not session and K.get_session().graph is K.get_graph()


USES = {
    "predict": lambda model: model.predict(np.ones([1, 2])),
    "fit": lambda model: model.fit(np.ones([2, 2]), np.ones([2, 3]), verbose=0),
    "get_weights": lambda model: model.get_weights(),
    "set_weights": lambda model: model.set_weights([np.ones([2, 3]), np.ones([3])]),
    "get_value": lambda model: K.get_value(model.layers[-1].kernel),
    "function": lambda model: K.function(model.inputs, model.outputs)([np.ones([1, 2])]),
    "call": lambda model: model(tf.zeros([1, 2])),
}


@pytest.mark.parametrize("is_used", [False, True])
@pytest.mark.parametrize("use", USES)
def test_a_model_from_before_clear_session_says_so(use, is_used):
    """Not the model's variables anew, nor that they are uninitialized."""
    model = tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(2,))])
    model.compile("sgd", "mse")
    if is_used:
        USES[use](model)
    K.clear_session()
    with pytest.raises(ValueError, match=r"K.clear_session\(\) was called at .*test_keras_session"):
        USES[use](model)


def test_a_graph_from_before_clear_session_works_where_it_is_entered():
    graph, layer = tf.get_default_graph(), tf.keras.layers.Dense(3)
    layer.build([None, 2])
    K.clear_session()
    with graph.as_default():
        assert len(layer.get_weights()) == 2
    with tf.Session(graph=graph) as session:
        session.run(tf.variables_initializer(layer.weights))
        assert len(layer.get_weights()) == 2


def test_a_model_of_another_graph_outlives_clear_session():
    with tf.Graph().as_default():
        model = tf.keras.Sequential([tf.keras.layers.Dense(3, input_shape=(2,))])
    K.clear_session()
    assert model.predict(np.ones([1, 2])).shape == (1, 3)
