"""Gradients that are IndexedSlices: which rows move, how far, and the effect on the other rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

TABLE = np.linspace(-1, 1, 10, dtype=np.float32).reshape(5, 2)
IDS = [3, 1, 3]

LIKE_DENSE = {
    "descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "adam": lambda: tf.train.AdamOptimizer(0.1),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
}
"""Optimizers that move rows without a gradient as a gradient of zeros does."""
ROWS_ALONE = {
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(1.0),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5),
    "centered rmsprop": lambda: tf.train.RMSPropOptimizer(0.1, centered=True),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
    "shrinking ftrl": lambda: tf.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.1),
    "proximal descent": lambda: tf.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.1),
    "proximal adagrad": lambda: tf.train.ProximalAdagradOptimizer(0.1, 0.1, 0.01, 0.1),
    "dual averaging": lambda: tf.train.AdagradDAOptimizer(
        0.1, tf.train.get_or_create_global_step(), l1_regularization_strength=0.01
    ),
}
"""Optimizers that leave rows without a gradient, and their slots, alone."""
ALL = {**LIKE_DENSE, **ROWS_ALONE}


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def trained(make: Any, rows: Any, dense: bool, steps: int = 4) -> list[np.ndarray]:
    """Return a table, whose first rows are read in the order of `rows`, and its slots after some
    steps.
    """
    with tf.Graph().as_default():
        v = tf.Variable(TABLE, name="v")
        actual = tf.gather(v, rows)
        loss = tf.reduce_sum(tf.square(actual) * actual)
        optimizer = make()
        ((grad, _),) = optimizer.compute_gradients(loss)
        assert isinstance(grad, tf.IndexedSlices)
        grad = tf.convert_to_tensor(grad) if dense else grad
        step = optimizer.apply_gradients([(grad, v)], tf.train.get_or_create_global_step())
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(steps):
                session.run(step)
            names = optimizer.get_slot_names()
            return session.run([v, *(optimizer.get_slot(v, name) for name in names)])


@pytest.mark.parametrize("make", ALL.values(), ids=ALL.keys())
def test_rows_with_a_gradient_move_as_in_a_dense_step(make):
    """Rows that come twice count once, with the sum of their gradients."""
    for sparse, dense in zip(trained(make, IDS, False), trained(make, IDS, True)):
        np.testing.assert_allclose(sparse[[1, 3]], dense[[1, 3]], rtol=1e-5, atol=1e-6)
        assert np.abs(sparse[[1, 3]] - TABLE[[1, 3]]).max() > 1e-3


@pytest.mark.parametrize("make", ROWS_ALONE.values(), ids=ROWS_ALONE.keys())
def test_other_rows_and_their_slots_rest(make):
    before = trained(make, IDS, False, steps=0)
    for start, end in zip(before, trained(make, IDS, False)):
        np.testing.assert_array_equal(start[[0, 2, 4]], end[[0, 2, 4]])


@pytest.mark.parametrize("make", LIKE_DENSE.values(), ids=LIKE_DENSE.keys())
def test_whole_tables_move_as_in_a_dense_step(make):
    for sparse, dense in zip(trained(make, IDS, False), trained(make, IDS, True)):
        np.testing.assert_allclose(sparse, dense, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("make", ALL.values(), ids=ALL.keys())
def test_no_rows_at_all(make):
    none = np.zeros(0, np.int64)
    for start, end in zip(trained(make, none, False, 0), trained(make, none, False)):
        np.testing.assert_allclose(start[0], end[0])


@pytest.mark.parametrize("make", ALL.values(), ids=ALL.keys())
def test_an_index_outside_changes_nothing(make):
    v = tf.Variable(TABLE)
    rows, values = tf.placeholder(tf.int32, [2]), tf.ones([2, 2])
    optimizer = make()
    step = optimizer.apply_gradients([(tf.IndexedSlices(values, rows), v)])
    slots = [optimizer.get_slot(v, name) for name in optimizer.get_slot_names()]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run([v, *slots])
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"5 (is not in \[0, 5\)|at offset 1)"
        ):
            session.run(step, {rows: [1, 5]})
        if not isinstance(optimizer, tf.train.AdamOptimizer):  # its slots decay by other ops
            for start, end in zip(before, session.run([v, *slots])):
                np.testing.assert_array_equal(start, end)


def test_op_names(graph):
    v = tf.Variable(TABLE, name="v")
    loss = tf.reduce_sum(tf.gather(v, IDS))
    tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    apply = graph.get_operation_by_name("Momentum/update_v/SparseApplyMomentum")
    assert [tensor.name for tensor in apply.inputs] == [
        "v:0", "v/Momentum:0", "Momentum/learning_rate:0",
        "Momentum/update_v/UnsortedSegmentSum:0", "Momentum/update_v/Unique:0",
        "Momentum/momentum:0",
    ]  # fmt: skip
    assert apply.colocation_groups() == [b"loc:@v"]
    scatter = graph.get_operation_by_name("GradientDescent/update_v/ScatterSub")
    assert scatter.inputs[2].op.name == "GradientDescent/update_v/mul"


def test_a_constraint_is_refused():
    v = tf.Variable(TABLE, name="v", constraint=tf.abs)
    with pytest.raises(RuntimeError, match="constraint function on a sparse variable"):
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.gather(v, IDS)))


def test_an_optimizer_written_outside():
    class Counting(tf.train.Optimizer):
        def _apply_sparse(self, grad, var):
            return tf.scatter_add(var, grad.indices, tf.ones_like(grad.values))

    v = tf.Variable(TABLE, name="v")
    step = Counting(False, "Counting").minimize(tf.reduce_sum(tf.gather(v, IDS)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose(session.run(v) - TABLE, [[0] * 2, [1] * 2] * 2 + [[0] * 2])
    with pytest.raises(NotImplementedError, match="does not define how rows change"):
        tf.train.Optimizer(False, "None").minimize(tf.reduce_sum(tf.gather(v, IDS)))


def test_parts_of_a_table():
    partitioner = tf.fixed_size_partitioner(2)
    table = tf.get_variable("v", initializer=tf.constant(TABLE), partitioner=partitioner)
    rows = tf.nn.embedding_lookup(table, IDS, partition_strategy="div")
    optimizer = tf.train.MomentumOptimizer(0.5, 0.9)
    step = optimizer.minimize(tf.reduce_sum(rows))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        moved = np.concatenate(session.run(list(table))) - TABLE
    np.testing.assert_allclose(moved[:, 0], [0, -0.5, 0, -1, 0], atol=1e-6)
    slot = optimizer.get_slot(table._get_variable_list()[1], "momentum")
    info = slot._get_save_slice_info()
    assert info.full_name == "v/Momentum"
    assert list(info.var_offset) == [3, 0]


@pytest.mark.parametrize("make", ALL.values(), ids=ALL.keys())
@pytest.mark.parametrize("dense_too", [False, True])
def test_on_a_gpu(make, dense_too):
    """The variable and its slots stay there; rows are found on the host."""
    actual = []
    for device, gpus in (("/gpu:0", 1), ("/cpu:0", 0)):
        with tf.Graph().as_default():
            with tf.device(device):
                v = tf.Variable(TABLE, name="v")
            loss = tf.reduce_sum(tf.gather(v, IDS) ** 2)
            loss = loss + tf.reduce_sum(v) if dense_too else loss
            step = make().minimize(loss, tf.train.get_or_create_global_step())
            config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=gpus))
            with tf.Session(config=config) as session:
                session.run(tf.global_variables_initializer())
                session.run(step)
                actual.append(session.run(v))
    np.testing.assert_array_equal(*actual)
