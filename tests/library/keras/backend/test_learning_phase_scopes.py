"""The learning phase: one for each graph, fed or fixed."""

from __future__ import annotations

import gc
import weakref

import pytest

import gpugraph as tf

K = tf.keras.backend


def test_a_tensor_that_is_fed():
    phase = K.learning_phase()
    assert (phase.dtype, phase.name) == (tf.bool, "keras_learning_phase:0")
    assert K.learning_phase() is phase
    read = K.function([phase], [tf.cast(phase, tf.int32)])
    assert [read([True]), read([0]), read([None])] == [[1], [0], [0]]


def test_each_graph_has_its_own():
    phase = K.learning_phase()
    with tf.Graph().as_default() as other:
        with tf.name_scope("a"), tf.control_dependencies([tf.constant(1.0)]):
            own = K.learning_phase()
        assert own.graph is other and own.op.name == "keras_learning_phase"
        assert own.op.control_inputs == []
        K.set_learning_phase(1)
        assert K.learning_phase() == 1
    assert K.learning_phase() is phase


def test_it_is_fixed_within_a_scope():
    phase = K.learning_phase()
    with K.learning_phase_scope(1):
        assert K.learning_phase() == 1
        with K.learning_phase_scope(0):
            assert K.learning_phase() == 0
        assert K.learning_phase() == 1
    assert K.learning_phase() is phase
    with tf.Graph().as_default():
        with K.learning_phase_scope(0):
            pass
        assert isinstance(K.learning_phase(), tf.Tensor)


def test_another_value_is_refused():
    for wrong in (2, "train", None):
        with pytest.raises(ValueError, match="Expected learning phase to be 0 or 1"):
            K.set_learning_phase(wrong)
    with pytest.raises(ValueError, match="Expected learning phase"):
        with K.learning_phase_scope(3):
            pass
    assert isinstance(K.learning_phase(), tf.Tensor)


def test_no_graph_is_kept_alive():
    with tf.Graph().as_default() as graph:
        K.learning_phase()
    known = weakref.ref(graph)
    del graph
    gc.collect()
    assert known() is None
