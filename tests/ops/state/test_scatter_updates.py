"""Scatter updates of variables: rows, order, errors before anything is written, methods."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, strategies as st

import gpugraph as tf

KINDS = ["update", "add", "sub", "mul", "div", "min", "max"]


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def changed(variable, *updates):
    """Return the variable after each of `updates` in turn."""
    with tf.Session() as session:
        session.run(variable.initializer)
        for update in updates:
            session.run(update)
        return session.run(variable).tolist()


def test_each_kind():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    wanted = {
        "update": [8, 8],
        "add": [1 + 4 + 8, 2 + 4 + 8],
        "sub": [1 - 12, 2 - 12],
        "mul": [32, 64],
        "div": [1 / 32, 2 / 32],
        "min": [1, 2],
        "max": [8, 8],
    }
    for kind in KINDS:
        update = getattr(tf, f"scatter_{kind}")(v, [0, 0], [[4.0, 4.0], [8.0, 8.0]])
        assert update.dtype.is_ref_dtype
        assert update.shape.as_list() == [3, 2]
        assert changed(v, update) == [wanted[kind], [3, 4], [5, 6]], kind


def test_names_and_attrs(graph):
    v = tf.Variable([1.0, 2.0], name="v")
    update = tf.scatter_update(v, [0], [3.0])
    assert update.op.name == "ScatterUpdate"
    assert [tensor.name for tensor in update.op.inputs][:2] == ["v:0", "ScatterUpdate/indices:0"]
    assert update.op.colocation_groups() == [b"loc:@v"]
    assert update.op.attrs["use_locking"] is True
    assert tf.scatter_add(v, [0], [3.0]).op.attrs["use_locking"] is False
    assert tf.scatter_nd_update(v, [[0]], [3.0]).op.attrs["use_locking"] is True


def test_the_result_is_the_variable_after_it():
    v = tf.Variable([1.0, 2.0])
    doubled = tf.scatter_add(v, [1], [5.0]) * 2.0
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(doubled).tolist() == [2, 14]


def test_scalar_updates_and_scalar_indices():
    v = tf.Variable([[1, 2], [3, 4]])
    assert changed(v, tf.scatter_update(v, [[0], [1]], 7)) == [[7, 7], [7, 7]]
    assert changed(v, tf.scatter_add(v, 1, [1, 1])) == [[1, 2], [4, 5]]
    text = tf.Variable(["a", "b"])
    assert changed(text, tf.scatter_update(text, [1], "c")) == [b"a", b"c"]


def test_integers_are_truncated_and_not_divided_by_zero():
    v = tf.Variable([-7, 7, 9])
    assert changed(v, tf.scatter_div(v, [0, 1], [2, -2])) == [-3, -3, 9]
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
            session.run(tf.scatter_div(v, [0, 1], [2, 0]))
        assert session.run(v).tolist() == [-7, 7, 9]


@pytest.mark.parametrize("kind", [*KINDS, "nd_update", "nd_add", "nd_sub"])
@pytest.mark.parametrize("outside", [3, -1])
def test_nothing_is_written_where_an_index_is_outside(kind, outside):
    v = tf.Variable([1.0, 2.0, 3.0])
    ids = tf.placeholder(tf.int32, [2])
    indices = ids[:, None] if kind.startswith("nd") else ids
    update = getattr(tf, f"scatter_{kind}")(v, indices, [5.0, -6.0])
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\]") as caught:
            session.run(update, {ids: [0, outside]})
        assert update.op.name in caught.value.message
        assert session.run(v).tolist() == [1, 2, 3]
        session.run(update, {ids: [0, 1]})
        assert session.run(v).tolist() != [1, 2, 3]


def test_refused():
    v = tf.Variable([[1.0, 2.0]])
    for make in (tf.scatter_update, tf.scatter_add):
        with pytest.raises(ValueError, match="Dimension 1 in both shapes must be equal"):
            make(v, [0], [[1.0, 2.0, 3.0]])
        with pytest.raises(TypeError, match="mutable tensor"):
            make(v.value(), [0], [[1.0, 2.0]])
        with pytest.raises(TypeError):
            make(v, [0.5], [[1.0, 2.0]])
    with pytest.raises(ValueError, match="at least rank 1"):
        tf.scatter_add(tf.Variable(1.0), [0], [1.0])
    with pytest.raises(ValueError, match="3 coordinates"):
        tf.scatter_nd_add(v, [[0, 0, 0]], [1.0])
    with pytest.raises(ValueError, match="updates must be of shape"):
        tf.scatter_nd_add(v, [[0, 0]], [1.0, 2.0])
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
            session.run(tf.scatter_add(v, [0], [[1.0, 1.0]]))


def test_by_coordinates():
    v = tf.Variable(tf.zeros([2, 3]))
    one = tf.scatter_nd_add(v, [[0, 1], [1, 2], [0, 1]], [1.0, 2.0, 3.0])
    assert changed(v, one) == [[0, 4, 0], [0, 0, 2]]
    assert changed(v, tf.scatter_nd_update(v, [[1]], [[1.0, 2.0, 3.0]])) == [[0] * 3, [1, 2, 3]]
    assert changed(v, one, tf.scatter_nd_sub(v, [[0, 1]], [1.0])) == [[0, 3, 0], [0, 0, 2]]


def test_by_batch():
    v = tf.Variable(tf.zeros([2, 3]))
    update = tf.batch_scatter_update(v, [[2, 0], [1, 1]], [[1.0, 2.0], [3.0, 4.0]])
    assert changed(v, update) == [[2, 0, 1], [0, 4, 0]]
    with pytest.raises(ValueError, match="known rank"):
        tf.batch_scatter_update(v, tf.placeholder(tf.int32), [[1.0]])


def test_methods_of_variables():
    v = tf.Variable([4.0, 6.0])
    rows = tf.IndexedSlices(tf.constant([2.0]), tf.constant([1]))
    for kind, wanted in zip(KINDS, (2, 8, 4, 12, 3, 2, 6)):
        method = getattr(v, f"scatter_{kind}")
        assert method.__doc__
        assert changed(v, method(rows)) == [4, wanted], kind
        with pytest.raises(TypeError, match="sparse_delta is not IndexedSlices"):
            method([2.0])
    assert v.scatter_add(rows, use_locking=True, name="mine").op.name == "mine"
    assert changed(v, v.batch_scatter_update(rows)) == [4, 2]
    assert changed(v, v.scatter_nd_update([[0]], [1.0])) == [1, 6]
    assert changed(v, v.scatter_nd_add([[0]], [1.0])) == [5, 6]
    assert changed(v, v.scatter_nd_sub([[0]], [1.0])) == [3, 6]


@given(
    ids=st.lists(st.integers(0, 4), max_size=12),
    width=st.sampled_from([1, 3, 260]),
    kind=st.sampled_from(["add", "sub", "mul", "min", "max", "update"]),
)
def test_rows_that_come_often_are_taken_in_order(ids, width, kind):
    combine = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply,
        "min": np.minimum, "max": np.maximum, "update": lambda old, new: new,
    }[kind]  # fmt: skip
    random = np.random.default_rng(3)
    start = random.integers(-9, 9, (5, width))
    updates = random.integers(-9, 9, (len(ids), width))
    wanted = start.copy()
    for row, change in zip(ids, updates):
        wanted[row] = combine(wanted[row], change)
    with tf.Graph().as_default():
        v = tf.Variable(start)
        indices = tf.constant(ids, tf.int64, [len(ids)])
        update = getattr(tf, f"scatter_{kind}")(v, indices, updates)
        assert changed(v, update) == wanted.tolist()


def test_on_a_gpu():
    with tf.device("/gpu:0"):
        v = tf.Variable([1.0, 2.0])
        update = tf.scatter_add(v, [1], [1.0])
    options = tf.GPUOptions(virtual_gpus=1)
    with tf.Session(config=tf.ConfigProto(gpu_options=options)) as session:
        session.run(v.initializer)
        assert session.run(update).tolist() == [1, 3]
