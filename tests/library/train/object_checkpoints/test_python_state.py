"""Objects of Python in object-based checkpoints."""

import numpy as np
import pytest

import gpugraph as tf


class Position(tf.train.experimental.PythonState):
    def __init__(self, line=0):
        self.line = line

    def serialize(self):
        return str(self.line).encode()

    def deserialize(self, string_value):
        self.line = int(string_value)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def test_each_save_takes_the_present_state(tmp_path):
    position, weights = Position(), tf.Variable([1.0, 2.0])
    checkpoint = tf.train.Checkpoint(position=position, weights=weights)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        paths = []
        for position.line in (3, 5):
            paths.append(checkpoint.save(str(tmp_path / "at"), session=session))
    for path, line in zip(paths, (3, 5), strict=True):
        found = Position()
        status = tf.train.Checkpoint(position=found, weights=weights).restore(path)
        assert found.line == line, "without a session"
        with tf.Session() as session:
            status.assert_consumed().initialize_or_restore(session)
            np.testing.assert_array_equal(session.run(weights), [1.0, 2.0])


def test_the_string_is_a_value_of_the_checkpoint(tmp_path):
    with tf.Session() as session:
        path = tf.train.Checkpoint(position=Position(7)).save(str(tmp_path / "at"), session=session)
    reader = tf.train.load_checkpoint(path)
    assert reader.get_tensor("position/.ATTRIBUTES/py_state") == b"7"


def test_a_state_made_later_is_restored_when_it_is_found(tmp_path):
    with tf.Session() as session:
        path = tf.train.Checkpoint(position=Position(4)).save(str(tmp_path / "at"), session=session)
    checkpoint = tf.train.Checkpoint()
    status = checkpoint.restore(path)
    checkpoint.position = Position()
    status.assert_consumed()
    assert checkpoint.position.line == 4


def test_a_class_without_serialize_is_named(tmp_path):
    checkpoint = tf.train.Checkpoint(state=tf.train.experimental.PythonState())
    with tf.Session() as session, pytest.raises(tf.errors.UnimplementedError, match="serialize"):
        checkpoint.save(str(tmp_path / "at"), session=session)
