"""Lanes: replicas on several CPU devices run side by side, with the values of one after another."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.compile.steps import native_calls

REPLICAS = 2


@pytest.fixture(autouse=True)
def graph(monkeypatch):
    monkeypatch.setenv("GPUGRAPH_NATIVE", "wait")
    monkeypatch.setenv("GPUGRAPH_THREADS", "2")
    with tf.Graph().as_default() as current:
        yield current


def session(inter: int = 0) -> tf.Session:
    return tf.Session(config=tf.ConfigProto(
        device_count={"CPU": REPLICAS}, inter_op_parallelism_threads=inter
    ))  # fmt: skip


def training() -> Any:
    """The summed loss of a small network on two replicas, after a step."""
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    with strategy.scope():
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)

        def fn() -> Any:
            replica = tf.distribute.get_replica_context().replica_id_in_sync_group
            x = tf.reshape(tf.linspace(-1.0, 1.0, 4 * 64), [4, 8, 8, 1]) * tf.to_float(replica + 1)
            initial = tf.random_uniform_initializer(-0.3, 0.3, seed=1)
            x = tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu, kernel_initializer=initial)
            logits = tf.layers.dense(tf.layers.flatten(x), 3, kernel_initializer=initial)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=[0, 1, 2, 1], logits=logits
            )
            loss = tf.reduce_sum(losses) / 8
            with tf.control_dependencies([optimizer.minimize(loss)]):
                return tf.identity(loss)

        return strategy.reduce("SUM", strategy.experimental_run_v2(fn), axis=None)


def trained(loss: Any, inter: int) -> list[Any]:
    with session(inter) as running:
        running.run(tf.global_variables_initializer())
        losses = [running.run(loss) for _ in range(6)]
        return [*losses, *running.run(tf.trainable_variables())]


@pytest.fixture
def lanes(monkeypatch):
    """The numbers of lanes of each call of lanes."""
    made: list[int] = []
    beside = native_calls._beside

    def counted(inside: Any) -> Any:
        made.append(len(inside))
        return beside(inside)

    monkeypatch.setattr(native_calls, "_beside", counted)
    return made


def test_replicas_run_side_by_side_with_the_same_bits(lanes):
    loss = training()
    expected = trained(loss, inter=1)
    assert not lanes
    for one, other in zip(expected, trained(loss, inter=0)):
        np.testing.assert_array_equal(one, other)
    assert lanes == [2]


def test_an_index_out_of_range_in_the_second_lane(lanes):
    index = tf.placeholder(tf.int32, [])
    values = []
    for number in range(2):
        with tf.device(f"/cpu:{number}"):
            x = tf.get_variable(f"x{number}", [64, 64], initializer=tf.ones_initializer())
            y = tf.exp(x * 2.0) + tf.reduce_sum(x, 0)
            y = tf.gather(tf.tanh(y) * y, tf.reshape(index * number, [1]), name=f"rows{number}")
            values.append(tf.reduce_sum(tf.sqrt(y + tf.square(y)) * 3.0))
    with session() as running:
        running.run(tf.global_variables_initializer())
        for _ in range(3):
            first, second = running.run(values, {index: 1})
            assert first == second
        with pytest.raises(tf.errors.InvalidArgumentError, match="rows1"):
            running.run(values, {index: 99})
        assert running.run(values, {index: 2})[0] == first
    assert 2 in lanes


def test_traces_show_each_op_of_each_lane(lanes):
    loss, metadata = training(), tf.RunMetadata()
    with session() as running:
        running.run(tf.global_variables_initializer())
        for _ in range(3):
            running.run(loss)
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, timeout_in_ms=10_000)
        running.run(loss, options=options, run_metadata=metadata)
    devices = {part.device[-5:]: len(part.node_stats) for part in metadata.step_stats.dev_stats}
    assert devices["CPU:0"] > 5 and devices["CPU:1"] > 5


def test_an_update_between_two_reads_of_a_device_keeps_its_place():
    with tf.device("/cpu:0"):
        v = tf.get_variable("v", [64], initializer=tf.ones_initializer(), use_resource=True)
        before = tf.reduce_sum(tf.sqrt(tf.exp(v * 1.0) + 1.0) * 2.0)
        with tf.control_dependencies([before]):
            change = v.assign_add(tf.ones([64]))
        with tf.control_dependencies([change]):
            after = tf.reduce_sum(tf.sqrt(tf.exp(v.read_value() * 1.0) + 1.0) * 2.0)
    with tf.device("/cpu:1"):
        w = tf.get_variable("w", [64], initializer=tf.ones_initializer(), use_resource=True)
        other = tf.reduce_sum(tf.sqrt(tf.exp(w * 1.0) + 1.0) * 2.0)
    with session() as running:
        running.run(tf.global_variables_initializer())
        for turn in range(1, 5):
            values = running.run([before, after, other])
            expected = [64 * 2 * np.sqrt(np.exp(float(x)) + 1) for x in (turn, turn + 1, 1)]
            np.testing.assert_allclose(values, expected, 1e-5)


# -- random programs


def random_program(seed: int) -> list[Any]:
    """Values of a random program on two devices, which exchange tensors and change variables."""
    choose = random.Random(seed)
    known: list[list[Any]] = [[], []]
    variables = []
    for number in range(4):
        with tf.device(f"/cpu:{number % 2}"):
            initial = np.cos(np.arange(64, dtype=np.float32) + number).reshape(8, 8)
            variables.append(tf.get_variable(f"v{number}", initializer=initial, use_resource=True))
    last: list[Any] = []
    for _ in range(choose.randint(40, 90)):
        kind, here = choose.random(), choose.randrange(2)
        mine = known[here]
        with tf.device(f"/cpu:{here}"):
            if kind < 0.1 or len(mine) < 2:
                with tf.control_dependencies(last[-1:]):
                    mine.append(variables[here + 2 * choose.randrange(2)].read_value() * 1.5)
            elif kind < 0.13:
                with tf.control_dependencies(last[-1:]):
                    last.append(choose.choice(variables).assign_sub(0.1 * choose.choice(mine)).op)
            elif kind < 0.16 and known[1 - here]:
                mine.append(choose.choice(known[1 - here]) * 0.5)
            elif kind < 0.4:
                mine.append(tf.matmul(choose.choice(mine), choose.choice(mine[-4:])) / 8.0)
            elif kind < 0.5:
                mine.append(tf.transpose(choose.choice(mine)) - tf.reduce_mean(mine[-1], 0))
            else:
                one, other = choose.choice(mine[-8:]), choose.choice(mine)
                function = choose.choice([tf.add, tf.multiply, tf.subtract, tf.maximum])
                mine.append(tf.tanh(function(one, other) + 0.1))
    return [tf.add_n(known[0]), tf.add_n(known[1]), known[0][-1], known[1][-1]]


def values_of(seed: int, inter: int) -> list[Any]:
    with tf.Graph().as_default():
        fetches = random_program(seed)
        with session(inter) as running:
            running.run(tf.global_variables_initializer())
            runs = [running.run([*fetches, *last_values()]) for _ in range(4)]
    return [value for values in runs for value in values]


def last_values() -> list[Any]:
    return [variable.read_value() for variable in tf.global_variables()]


@pytest.mark.parametrize("seed", range(2))
def test_random_programs_keep_their_bits(seed, lanes):
    for one, other in zip(values_of(seed, 1), values_of(seed, 0)):
        np.testing.assert_array_equal(one, other)
    assert lanes


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(2, 100))
def test_more_random_programs_keep_their_bits(seed):
    for one, other in zip(values_of(seed, 1), values_of(seed, 0)):
        np.testing.assert_array_equal(one, other)
