"""What trainings in replicas change: variables by functions, averages, Keras's steps, summaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.library.train.moving_averages import assign_moving_average

CPUS = tf.ConfigProto(device_count={"CPU": 2})


@pytest.fixture
def strategy() -> Any:
    with tf.Graph().as_default():
        yield tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


def number() -> Any:
    context = tf.distribute.get_replica_context()
    return tf.cast(context.replica_id_in_sync_group, tf.float32)


def after(operation: Any) -> Any:
    with tf.control_dependencies([operation]):
        return tf.identity(number())


def copies(variable: Any, *operations: Any, runs: int = 1) -> list[Any]:
    """Run operations in order; return all copies of a variable."""
    with tf.Session(config=CPUS) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        for _ in range(runs):
            for operation in operations:
                session.run(operation)
        return session.run([copy.value() for copy in variable.values])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda v: tf.assign(v, [5, 6]), [5, 6]),
        (lambda v: tf.assign_add(v, [1, 1]), [2, 3]),
        (lambda v: tf.assign_sub(v, [1, 1]), [0, 1]),
        (lambda v: tf.scatter_update(v, [1], [9]), [1, 9]),
        (lambda v: tf.scatter_add(v, [1, 1], [1, 1]), [1, 4]),
        (lambda v: tf.scatter_mul(v, [0], [3]), [3, 2]),
        (lambda v: tf.scatter_nd_update(v, [[0]], [7]), [7, 2]),
        (lambda v: v[1:].assign([8]), [1, 8]),
    ],
)
def test_functions_change_all_copies(
    strategy: Any, change: Callable[..., Any], expected: list[int]
) -> None:
    with strategy.scope():
        variable = tf.get_variable("v", initializer=tf.constant([1, 2]))
        done = change(variable)
    for copy in copies(variable, getattr(done, "op", done)):
        assert copy.tolist() == expected


def test_counts_by_all_copies(strategy: Any) -> None:
    with strategy.scope():
        variable = tf.Variable(0, trainable=False)
        assert copies(variable, tf.count_up_to(variable, 3), runs=2) == [2, 2]


def test_assigns_the_aggregate_in_replicas(strategy: Any) -> None:
    with strategy.scope():
        variable = tf.Variable(0.0, aggregation=tf.VariableAggregation.MEAN)
        done = strategy.experimental_run_v2(lambda: after(tf.assign(variable, number() + 1)))
        results = strategy.experimental_local_results(done)
        assert copies(variable, results) == [1.5, 1.5]
        plain = tf.Variable(0.0)
        with pytest.raises(ValueError, match="You must specify an aggregation method"):
            strategy.experimental_run_v2(lambda: tf.assign(plain, number()))


@pytest.mark.parametrize("zero_debias", [False, True])
def test_moving_averages_follow_the_mean(strategy: Any, zero_debias: bool) -> None:
    with strategy.scope():
        average = tf.get_variable("a", initializer=0.0, trainable=False)

        def fn() -> Any:
            return after(assign_moving_average(average, number() + 1, 0.9, zero_debias))

        done = strategy.experimental_local_results(strategy.experimental_run_v2(fn))
        values = copies(average, done, runs=2)
    np.testing.assert_allclose(values, [1.5 if zero_debias else 0.285] * 2, 1e-6)


@pytest.mark.parametrize(
    "name", ["SGD", "RMSprop", "Adagrad", "Adadelta", "Ftrl", "Adam", "Adamax", "Nadam"]
)
def test_steps_of_keras_equal_one_device(strategy: Any, name: str) -> None:
    table = tf.get_variable("one", initializer=tf.ones([4, 2]))
    single = getattr(tf.keras.optimizers, name)(0.1)
    rows = tf.nn.embedding_lookup(table, [0, 0, 2, 1, 1, 3])
    grads = tf.gradients(tf.reduce_sum(rows**2), [table])
    alone = single.apply_gradients(zip(grads, [table]))
    with strategy.scope():
        optimizer = getattr(tf.keras.optimizers, name)(0.1)
        mirrored = tf.get_variable("several", initializer=tf.ones([4, 2]))

        def fn() -> Any:
            rows = tf.nn.embedding_lookup(mirrored, [0, 0, 2] + tf.cast(number(), tf.int32))
            grads = tf.gradients(tf.reduce_sum(rows**2), [mirrored])
            return after(optimizer.apply_gradients(zip(grads, [mirrored])))

        done = strategy.experimental_local_results(strategy.experimental_run_v2(fn))
    with tf.Session(config=CPUS) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run([alone, done])
        expected = session.run(table)
        for copy in session.run([copy.value() for copy in mirrored.values]):
            np.testing.assert_allclose(copy, expected, 1e-5)
        assert session.run(optimizer.iterations) == 3


def test_metrics_of_keras_count_all_replicas(strategy: Any) -> None:
    with strategy.scope():
        mean = tf.keras.metrics.Mean()
        done = strategy.experimental_run_v2(lambda: mean([1.0, 2.0 + number()]))
        shown = strategy.experimental_local_results(done)
    with tf.Session(config=CPUS) as session:
        session.run(tf.variables_initializer(mean.variables))
        assert session.run(shown)[0] == 1.75


@pytest.mark.parametrize("name", ["precision", "recall", "auc", "true_positives"])
def test_metrics_of_counts_count_all_replicas(strategy: Any, name: str) -> None:
    labels, scores = [True, False, True, True], [0.9, 0.8, 0.3, 0.0]
    metric = getattr(tf.metrics, name)
    alone, of_all = metric(labels, scores)
    with strategy.scope():

        def fn() -> Any:
            first = tf.cast(number(), tf.int32) * 2
            return metric(tf.constant(labels)[first : first + 2],
                          tf.constant(scores)[first : first + 2])  # fmt: skip

        value, update = strategy.experimental_run_v2(fn)
    with tf.Session(config=CPUS) as session:
        session.run(tf.local_variables_initializer())
        session.run([of_all, strategy.experimental_local_results(update)])
        results = session.run([alone, *strategy.experimental_local_results(value)])
    np.testing.assert_allclose(results, results[0], 1e-6)


def test_the_first_replica_adds_summaries(strategy: Any) -> None:
    with strategy.scope():
        strategy.experimental_run_v2(lambda: tf.summary.scalar("mine", number()))
        merged = tf.summary.merge_all()
    with tf.Session(config=CPUS) as session:
        summary = tf.Summary.FromString(session.run(merged))
    assert [value.tag for value in summary.value] == ["mine"]


@pytest.mark.parametrize("is_training", [True, False])
def test_averages_merge_in_a_branch(strategy: Any, is_training: bool) -> None:
    with strategy.scope():
        average = tf.get_variable("a", initializer=0.0, trainable=False)
        condition = tf.placeholder_with_default(is_training, [])

        def update() -> Any:
            return tf.identity(assign_moving_average(average, number() + 1, 0.5, False))

        def fn() -> Any:
            return tf.cond(condition, update, lambda: tf.constant(0.0))

        done = strategy.experimental_local_results(strategy.experimental_run_v2(fn))
        assert copies(average, done) == [0.75 if is_training else 0.0] * 2


def test_a_variable_has_one_name_in_all_replicas(strategy: Any) -> None:
    with strategy.scope():
        variable = tf.get_variable("v", initializer=1.0)
        names = strategy.experimental_run_v2(lambda: variable.name)
    assert {*strategy.experimental_local_results(names), variable.name} == {"v:0"}


@pytest.mark.parametrize("aggregation", ["SUM", "MEAN", "ONLY_FIRST_REPLICA"])
def test_changes_of_a_central_variable_are_aggregated_also_on_read(aggregation: str) -> None:
    with tf.Graph().as_default():
        central = tf.distribute.experimental.CentralStorageStrategy(["/cpu:0", "/cpu:1"], "/cpu:0")
        with central.scope():
            variable = tf.get_variable(
                "v", [], initializer=tf.zeros_initializer(), trainable=False,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation[aggregation],
            )  # fmt: skip
            changed = central.experimental_run_v2(lambda: variable.assign_add(number() + 1.0))
        with tf.Session(config=CPUS) as session:
            session.run(tf.global_variables_initializer())
            session.run(list(central.experimental_local_results(changed)))
            expected = {"SUM": 3.0, "MEAN": 1.5, "ONLY_FIRST_REPLICA": 1.0}
            assert session.run(variable) == expected[aggregation]


def test_an_average_of_a_central_variable_moves_once() -> None:
    with tf.Graph().as_default():
        central = tf.distribute.experimental.CentralStorageStrategy(["/cpu:0", "/cpu:1"], "/cpu:0")
        with central.scope():
            average = tf.train.ExponentialMovingAverage(0.5)
            w = tf.get_variable("w", initializer=4.0)

            def step() -> Any:
                changed = tf.train.GradientDescentOptimizer(1.0).minimize(w)
                with tf.control_dependencies([changed]):
                    return after(average.apply([w]))

            done = central.experimental_run_v2(step)
        with tf.Session(config=CPUS) as session:
            session.run(tf.global_variables_initializer())
            session.run(list(central.experimental_local_results(done)))
            assert session.run([w, average.average(w)]) == [2.0, 3.0]
