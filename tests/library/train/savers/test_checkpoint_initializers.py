"""Variables that begin with values of a checkpoint."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

MATRIX = np.arange(6.0, dtype=np.float32).reshape(3, 2)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def checkpoint(tmp_path):
    """Return a checkpoint of `old/matrix`, `old/vector` and `bias`."""
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.Variable(MATRIX, name="old/matrix")
        tf.Variable([7, 8], name="old/vector")
        tf.Variable(3.0, name="bias")
        sess.run(tf.global_variables_initializer())
        return tf.train.Saver().save(sess, str(tmp_path / "model"), write_meta_graph=False)


def zeros(name, shape, **options):
    return tf.get_variable(name, shape, initializer=tf.zeros_initializer(), **options)


def values(*tensors):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return [value.tolist() for value in sess.run([tf.convert_to_tensor(t) for t in tensors])]


def halves(**_):
    return [2, 1]


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("folder", [False, True])
def test_variables_by_object_name_and_scope(checkpoint, tmp_path, resource, folder):
    with tf.variable_scope("new", use_resource=resource):
        matrix, vector = zeros("matrix", (3, 2)), zeros("vector", (2,), dtype=tf.int32)
        other = zeros("other", (3, 2))
        parts = zeros("parts", (3, 2), partitioner=halves)
    by_name = zeros("b", ())
    path = tmp_path if folder else checkpoint
    tf.train.init_from_checkpoint(path, {"old/matrix": other, "bias": "b"})
    tf.train.init_from_checkpoint(path, [("old/matrix", list(parts)), ("old/matrix", matrix)])
    tf.train.init_from_checkpoint(path, {"old/vector": "new/vector"})
    expected = [MATRIX.tolist(), [7, 8], MATRIX.tolist(), MATRIX.tolist(), 3]
    assert values(matrix, vector, other, parts, by_name) == expected


@pytest.mark.parametrize(("scope", "key"), [("new", "old/"), ("old", "/")])
def test_a_scope_begins_with_a_scope(checkpoint, scope, key):
    with tf.variable_scope(scope):
        matrix = zeros("matrix", (3, 2), partitioner=halves)
        vector = zeros("vector", (2,), dtype=tf.int32)
    target = "/" if key == "/" else "new/"
    tf.train.init_from_checkpoint(checkpoint, {key: target})
    assert values(matrix, vector) == [MATRIX.tolist(), [7, 8]]


def test_initial_values_and_loads_follow(checkpoint):
    variable = zeros("v", (3, 2))
    tf.train.init_from_checkpoint(checkpoint, {"old/matrix": variable})
    doubled = tf.Variable(variable.initialized_value() * 2)
    assert values(doubled) == [(MATRIX * 2).tolist()]
    assert variable.initial_value.shape == (3, 2)
    with tf.Session() as sess:
        variable.load(np.ones((3, 2)), sess)
        assert sess.run(variable).sum() == 6


@pytest.mark.parametrize(
    ("assignment_map", "text"),
    [
        ({"nope": "v"}, "Tensor nope is not found in .*model checkpoint {'bias'"),
        ({"old/vector": "v"}, r"Shape of variable v:0 \(\(3, 2\)\) doesn't match .* old/vector"),
        ({"old/matrix": "scope/"}, "Assignment map with scope only name scope should map"),
        ({"old/": "new/"}, r"Tensor old/x \(x in old/\) is not found in .*model checkpoint"),
        ({"old/matrix": "parts"}, "Slices must all be from the same tensor: parts != whole"),
    ],
)
def test_what_does_not_fit_is_refused(checkpoint, assignment_map, text):
    zeros("v", (3, 2))
    parts = list(zeros("parts", (3, 2), partitioner=halves))
    parts += list(zeros("whole", (3, 2), partitioner=halves))
    with tf.variable_scope("new"):
        zeros("x", ())
    if assignment_map.get("old/matrix") == "parts":
        assignment_map = {"old/matrix": parts}
    with pytest.raises(ValueError, match=text):
        tf.train.init_from_checkpoint(checkpoint, assignment_map)


def test_another_dtype_fails_the_run(checkpoint):
    variable = zeros("v", (2,))
    tf.train.init_from_checkpoint(checkpoint, {"old/vector": variable})
    with tf.Session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="expected dtype float32"):
            sess.run(variable.initializer)


def test_values_are_assigned_from_a_checkpoint(checkpoint):
    framework = tf.contrib.framework
    parts = zeros("old/matrix", (3, 2), partitioner=halves)
    bias, more = zeros("bias", ()), zeros("more", ())
    with pytest.raises(ValueError, match=r"Checkpoint is missing variable \[more\]"):
        framework.assign_from_checkpoint(checkpoint, [*parts, bias, more])
    with pytest.raises(ValueError, match="Total size of new array must be unchanged for old/vec"):
        framework.assign_from_checkpoint(checkpoint, {"old/vector": bias})
    operation, feeds = framework.assign_from_checkpoint(checkpoint, [*parts, bias, more], True)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(operation, feeds)
        assert sess.run(tf.convert_to_tensor(parts)).tolist() == MATRIX.tolist()
        assert sess.run([bias, more]) == [3, 0]


def test_a_function_restores(checkpoint):
    assign = tf.contrib.framework.assign_from_checkpoint_fn
    bias, flat, more = zeros("bias", ()), zeros("old/matrix", (6,)), zeros("more", ())
    restore = assign(checkpoint, [bias, flat, more], ignore_missing_vars=True,
                     reshape_variables=True)  # fmt: skip
    with tf.Session() as sess:
        restore(sess)
        assert sess.run(bias) == 3
        assert sess.run(flat).tolist() == [0, 1, 2, 3, 4, 5]
    assert assign(checkpoint, {"more": more}, ignore_missing_vars=True) is None
    with pytest.raises(ValueError, match="var_list cannot be empty"):
        assign(checkpoint, [])


def test_contrib_reads_checkpoints(checkpoint, tmp_path):
    framework = tf.contrib.framework
    assert framework.list_variables(tmp_path)[0] == ("bias", [])
    assert framework.load_variable(checkpoint, "bias") == 3
    assert framework.load_checkpoint(checkpoint).has_tensor("old/vector")
    variable = zeros("v", (3, 2))
    framework.init_from_checkpoint(str(tmp_path), {"old/matrix": variable})
    assert values(variable) == [MATRIX.tolist()]


def test_checkpoints_are_waited_for(checkpoint, tmp_path):
    wait = tf.contrib.training.wait_for_new_checkpoint
    assert wait(tmp_path) == checkpoint
    assert wait(tmp_path, checkpoint, timeout=0) is None
    assert list(tf.train.checkpoints_iterator(tmp_path, timeout=0)) == [checkpoint]
    answers = iter([False, True])
    waiting = tf.train.checkpoints_iterator(
        tmp_path / "none", timeout=0, timeout_fn=lambda: next(answers)
    )
    assert list(waiting) == []
    assert list(answers) == []
