"""Strategies on CPU devices: replicas, variables, reductions, training, checkpoints."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

CPUS = tf.ConfigProto(device_count={"CPU": 4})


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph
    assert not [thread for thread in threading.enumerate() if "replica" in thread.name]


def mirrored(count: int = 2) -> Any:
    return tf.distribute.MirroredStrategy([f"/cpu:{number}" for number in range(count)])


def number() -> Any:
    context = tf.distribute.get_replica_context()
    return tf.cast(context.replica_id_in_sync_group, tf.float32)


def run(tensors: Any) -> Any:
    with tf.Session(config=CPUS) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(tensors)


STRATEGIES: dict[str, Callable[[], Any]] = {
    "default": tf.distribute.get_strategy,
    "one device": lambda: tf.distribute.OneDeviceStrategy("/cpu:0"),
    "mirrored": mirrored,
    "mirrored on four": lambda: mirrored(4),
    "central": lambda: tf.distribute.experimental.CentralStorageStrategy(["/cpu:0", "/cpu:1"]),
    "workers": tf.distribute.experimental.MultiWorkerMirroredStrategy,
    "parameter servers": tf.distribute.experimental.ParameterServerStrategy,
    "contrib": lambda: tf.contrib.distribute.MirroredStrategy(devices=["/cpu:0", "/cpu:1"]),
}
BATCH = np.random.default_rng(0).uniform(-1, 1, (8, 5)).astype(np.float32)


def losses_of(strategy: Any, optimizer: Any, steps: int = 5) -> list[float]:
    """Return the losses of a training on BATCH, whose rows are divided among the replicas."""
    with strategy.scope():
        count = strategy.num_replicas_in_sync
        step = tf.train.get_or_create_global_step()

        def fn() -> Any:
            context = tf.distribute.get_replica_context()
            start = context.replica_id_in_sync_group * (8 // count)
            rows = tf.slice(tf.constant(BATCH), [start, 0], [8 // count, 5])
            hidden = tf.layers.dense(
                rows, 3, tf.tanh, kernel_initializer=tf.constant_initializer(0.3)
            )
            loss = tf.reduce_sum(tf.square(hidden - 1.0)) / 8.0
            train = optimizer.minimize(loss, global_step=step)
            with tf.control_dependencies([train]):
                return tf.identity(loss)

        total = strategy.reduce("SUM", strategy.experimental_run_v2(fn), axis=None)
        with tf.Session(config=CPUS) as session:
            session.run(tf.global_variables_initializer())
            losses = [float(session.run(total)) for _ in range(steps)]
            assert session.run(step) == steps
            for variable in tf.trainable_variables():
                copies = session.run(list(strategy.experimental_local_results(variable)))
                assert all((copy == copies[0]).all() for copy in copies)
            return losses


OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: tf.train.AdamOptimizer(0.05),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "default"])
def test_equal_global_batches_give_equal_losses(name: str, optimizer: str) -> None:
    with tf.Graph().as_default():
        expected = losses_of(tf.distribute.get_strategy(), OPTIMIZERS[optimizer]())
    losses = losses_of(STRATEGIES[name](), OPTIMIZERS[optimizer]())
    np.testing.assert_allclose(losses, expected, 1e-5)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("target", STRATEGIES)
@pytest.mark.parametrize("source", STRATEGIES)
def test_checkpoints_are_exchanged(tmp_path: Path, source: str, target: str) -> None:
    path = str(tmp_path / "model")

    def variables() -> list[Any]:
        on_read = {
            "synchronization": tf.VariableSynchronization.ON_READ,
            "aggregation": tf.VariableAggregation.SUM,
        }
        return [
            tf.get_variable("v", [2], initializer=tf.ones_initializer()),
            tf.get_variable("total", [], initializer=tf.zeros_initializer(), **on_read),
            tf.get_variable("count", [], tf.int64, tf.zeros_initializer(), **on_read),
        ]

    with tf.Graph().as_default(), STRATEGIES[source]().scope():
        v, total, count = variables()
        with tf.Session(config=CPUS) as session:
            session.run(tf.global_variables_initializer())
            session.run([v.assign([3.0, 4.0]), total.assign(8.0), count.assign(7)])
            tf.train.Saver().save(session, path)
    assert tf.train.list_variables(path) == [("count", []), ("total", []), ("v", [2])]
    strategy = STRATEGIES[target]()
    with tf.Graph().as_default(), strategy.scope():
        v, total, count = variables()
        saver = tf.train.Saver()
        with tf.Session(config=CPUS) as session:
            saver.restore(session, path)
            for copy in session.run(list(strategy.experimental_local_results(v))):
                np.testing.assert_array_equal(copy, [3, 4])
            reads = [strategy.extended.read_var(variable) for variable in (total, count)]
            assert session.run(reads) == [8, 7]


def test_a_variable_without_aggregation_has_no_value_outside_of_replicas() -> None:
    with mirrored().scope():
        mode = tf.VariableSynchronization.ON_READ
        variable = tf.Variable(1.0, name="mine", trainable=False, synchronization=mode)
        with pytest.raises(ValueError, match=r"Could not convert .*'mine:0'"):
            variable.read_value()


def test_a_failing_replica_ends_the_others() -> None:
    strategy = mirrored(3)

    def fn() -> Any:
        context = tf.distribute.get_replica_context()
        if context._replica_id == 1:
            raise LookupError("the second")
        return context.merge_call(lambda strategy: tf.constant(1.0))

    with strategy.scope():
        with pytest.raises(LookupError, match="the second"):
            strategy.experimental_run_v2(fn)
        values = strategy.experimental_run_v2(number)
    assert run(list(values.values)) == [0, 1, 2]


def test_replicas_inherit_the_scopes_of_the_caller() -> None:
    strategy = mirrored()
    with strategy.scope(), tf.variable_scope("outer", reuse=tf.AUTO_REUSE):
        before = tf.no_op(name="before")
        with tf.control_dependencies([before]):

            def fn() -> Any:
                return tf.get_variable("v", []) + 1.0

            values = strategy.experimental_run_v2(fn).values
    assert [value.op.name for value in values] == ["outer/outer/add", "outer/replica_1/outer/add"]
    assert [variable.name for variable in tf.global_variables()] == ["outer/v:0"]
    reads = [value.op.inputs[0].op for value in values]
    assert all(before in read.control_inputs for read in reads)


def test_strategies_do_not_mix() -> None:
    first, second = mirrored(), mirrored(3)
    with first.scope():
        with pytest.raises(RuntimeError, match=r"Mixing different tf\.distribute\.Strategy"):
            second.experimental_run_v2(number)
        with pytest.raises(RuntimeError, match="Must not be called inside"):
            tf.distribute.experimental_set_strategy(second)
    copied = copy.deepcopy(first)
    assert copied.extended is not first.extended
    assert copied.extended._container_strategy() is copied
    with pytest.raises(RuntimeError, match="Must only deepcopy"):
        copy.copy(first)
    with pytest.raises(AssertionError, match="No duplicates"):
        tf.distribute.MirroredStrategy(["/cpu:0", "/device:CPU:0"])


def test_a_deep_copy_is_a_strategy_of_its_own() -> None:
    strategy = mirrored()
    copied = copy.deepcopy(strategy)
    assert copied.extended is not strategy.extended
    with copied.scope():
        assert tf.distribute.get_strategy() is copied
        variable = tf.get_variable("v", initializer=2.0, aggregation=tf.VariableAggregation.SUM)
        total = copied.reduce("sum", copied.experimental_run_v2(lambda: variable + 1.0))
    with tf.Session(config=CPUS) as session:
        session.run(tf.global_variables_initializer())
        assert session.run(total) == 6.0
    assert copied.extended.variable_created_in_scope(variable)
    assert not strategy.extended.variable_created_in_scope(variable)


def test_a_variable_needs_an_aggregation_to_be_changed_by_replicas() -> None:
    strategy = mirrored()
    with strategy.scope():
        v = tf.Variable(1.0, name="v")
        with pytest.raises(ValueError, match="You must specify an aggregation method"):
            strategy.experimental_run_v2(lambda: v.assign(2.0))
        with pytest.raises(ValueError, match="`NONE` variable synchronization"):
            tf.Variable(1.0, synchronization=tf.VariableSynchronization.NONE)
        assert run(list(v.values)) == [1, 1]


class FakeDataset:
    """The part of a dataset that distributed input asks for: its iterators."""

    def __init__(self, tensors: Callable[[], Any]) -> None:
        self._tensors = tensors

    def make_initializable_iterator(self, shared_name: str | None = None) -> FakeDataset:
        return self

    @property
    def initializer(self) -> Any:
        return tf.no_op()

    def get_next(self, name: str | None = None) -> Any:
        return self._tensors()


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("rows", [8, 7, 1])
def test_batches_are_divided_among_the_replicas(rows: int, known: bool) -> None:
    strategy, batch = mirrored(4), np.arange(rows * 2.0).reshape(rows, 2)

    def tensors() -> Any:
        given = tf.constant(batch)
        return {"x": given if known else tf.placeholder_with_default(given, [None, 2])}

    with strategy.scope():
        iterator = strategy.make_dataset_iterator(FakeDataset(tensors))
        values = iterator.get_next()["x"]
        parts = run([iterator.initialize(), *values.values])[1:]
    np.testing.assert_array_equal(np.concatenate(parts), batch)
    assert max(len(part) for part in parts) == -(-rows // 4)


def test_an_input_function_is_called_with_its_context() -> None:
    strategy, contexts = mirrored(), []

    def input_fn(context: Any) -> Any:
        contexts.append((context.num_replicas_in_sync, context.get_per_replica_batch_size(6)))
        return lambda: tf.constant(5.0)

    with strategy.scope():
        iterator = strategy.make_input_fn_iterator(input_fn)
        results = strategy.experimental_run(lambda x: x + number(), iterator)
    assert run(list(results.values)) == [5, 6]
    assert contexts == [(2, 3)]


def test_virtual_gpus_are_replicas() -> None:
    options = tf.GPUOptions(virtual_gpus=2)
    strategy = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"])
    with strategy.scope():
        v = tf.Variable(2.0, aggregation=tf.VariableAggregation.SUM)
        changed = strategy.experimental_run_v2(lambda: v.assign_add(number() + 1.0))
        total = strategy.reduce("SUM", changed, axis=None)
        with tf.Session(config=tf.ConfigProto(gpu_options=options)) as session:
            session.run(tf.global_variables_initializer())
            assert session.run(total) == 10
            assert session.run(list(v.values)) == [5, 5]
    assert [value.device.rpartition("/")[2] for value in v.values] == [
        "device:GPU:0",
        "device:GPU:1",
    ]
