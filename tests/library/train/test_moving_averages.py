"""ExponentialMovingAverage: values step by step, names, collections, variables to restore."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.library.train.moving_averages import assign_moving_average


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def followed(update, average, change, values):
    """Return the average after each of some changes."""
    seen = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value in values:
            change(session, value)
            session.run(update)
            seen.append(session.run(average).tolist())
    return seen


VALUES = [1.0, 5.0, -2.0, 0.5]


def test_of_a_variable():
    v = tf.Variable(3.0, name="v")
    averages = tf.train.ExponentialMovingAverage(0.9)
    update = averages.apply([v])
    assert update.name == "ExponentialMovingAverage"
    assert averages.average(v).op.name == "v/ExponentialMovingAverage"
    actual = followed(update, averages.average(v), lambda s, value: v.load(value, s), VALUES)
    wanted = 3.0
    for seen, value in zip(actual, VALUES):
        wanted = 0.9 * wanted + 0.1 * value
        assert seen == pytest.approx(wanted, rel=1e-6)


def test_of_a_tensor():
    x = tf.Variable(0.0, name="x")
    doubled = tf.multiply(x, 2.0, name="doubled")
    plain = tf.train.ExponentialMovingAverage(0.9)
    corrected = tf.train.ExponentialMovingAverage(0.9, zero_debias=True, name="corrected")
    updates = [plain.apply([doubled]), corrected.apply([doubled])]
    both = tf.stack([plain.average(doubled), corrected.average(doubled)])
    actual = followed(updates, both, lambda s, value: x.load(value, s), VALUES)
    total = weight = 0.0
    for seen, value in zip(actual, VALUES):
        total, weight = 0.9 * total + 0.2 * value, 0.9 * weight + 0.1
        np.testing.assert_allclose(seen, [total, total / weight], rtol=1e-5)
    names = [variable.op.name for variable in tf.global_variables()]
    assert names == [
        "x", "doubled/ExponentialMovingAverage", "doubled/corrected",
        "doubled/corrected/biased", "doubled/corrected/local_step",
    ]  # fmt: skip


def test_with_a_count_of_updates():
    v, count = tf.Variable(0.0), tf.Variable(0, trainable=False)
    averages = tf.train.ExponentialMovingAverage(0.5, num_updates=count)
    update = averages.apply([v])

    def change(session, value):
        v.load(value, session)
        session.run(count.assign_add(3))

    wanted = 0.0
    actual = followed(update, averages.average(v), change, VALUES)
    for index, (seen, value) in enumerate(zip(actual, VALUES), 1):
        decay = min(0.5, (1 + 3 * index) / (10 + 3 * index))
        wanted = decay * wanted + (1 - decay) * value
        assert seen == pytest.approx(wanted, rel=1e-5)


def test_collections_and_defaults():
    v = tf.Variable(1.0, name="v")
    tf.Variable(1.0, trainable=False, name="rest")
    averages = tf.train.ExponentialMovingAverage(0.9)
    averages.apply()
    averages.apply([v])  # once more, of the same average
    assert tf.moving_average_variables() == [v]
    assert [variable.op.name for variable in tf.trainable_variables()] == ["v"]
    assert [variable.op.name for variable in tf.global_variables()] == [
        "v", "rest", "v/ExponentialMovingAverage",
    ]  # fmt: skip
    assert averages.name == "ExponentialMovingAverage"
    assert tf.train.ExponentialMovingAverage(0.9, name="shadow").name == "shadow"


def test_names_and_what_to_restore():
    with tf.name_scope("model"):
        v = tf.Variable(1.0, name="v")
        other = tf.Variable(1.0, trainable=False, name="other")
        averages = tf.train.ExponentialMovingAverage(0.9)
        averages.apply([v])
        assert averages.average_name(v) == "model/v/ExponentialMovingAverage"
        assert averages.average_name(other) == "model/model/other/ExponentialMovingAverage"
        assert averages.average(other) is None
    assert averages.variables_to_restore() == {
        "model/v/ExponentialMovingAverage": v,
        "model/other": other,
    }
    assert averages.variables_to_restore([other])["model/other/ExponentialMovingAverage"] is other


def test_integers_are_refused():
    with pytest.raises(TypeError, match="must be half, float, or double"):
        tf.train.ExponentialMovingAverage(0.9).apply([tf.Variable(1)])


def test_beside_its_variable_and_after_training(graph):
    with tf.device("/gpu:1"):
        v = tf.Variable(1.0, name="v")
    step = tf.train.GradientDescentOptimizer(1.0).minimize(v * 2.0)
    averages = tf.train.ExponentialMovingAverage(0.5)
    with tf.control_dependencies([step]):
        update = averages.apply([v])
    assert averages.average(v).op.colocation_groups() == [b"loc:@v"]
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=2))
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        session.run(update)
        assert session.run([v, averages.average(v)]) == [-1.0, 0.0]


# TensorFlow's figures, for x of 1, 2, 3, -1 in turn.
DEBIASED_9 = [1.0, 1.5263153, 2.07011, 1.1773769]
DEBIASED_8 = [1.0, 1.5555557, 2.147541, 1.0813007]


def test_one_average_may_be_assigned_without_an_object():
    x = tf.placeholder(tf.float32, [])
    with tf.variable_scope("a"):
        v = tf.get_variable("v", [2], initializer=tf.zeros_initializer())
        updates = [
            assign_moving_average(v, [x, 2 * x], 0.9),
            assign_moving_average(v, [x, 2 * x], tf.constant(0.8, tf.float32)),
            assign_moving_average(v, [x, 2 * x], 0.5, False, name="follow"),
        ]
    assert [update.op.name for update in updates] == [
        "a/AssignMovingAvg",
        "a/AssignMovingAvg_1",
        "a/follow",
    ]
    shadows = ["biased", "local_step", "biased_1", "local_step_1"]
    names = [variable.op.name for variable in tf.global_variables()]
    assert names == ["a/v", *[f"a/a/v/{shadow}" for shadow in shadows]]
    assert tf.trainable_variables() == [v]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value, first, second in zip([1.0, 2.0, 3.0, -1.0], DEBIASED_9, DEBIASED_8):
            for update, average in zip(updates, (first, second)):
                found = session.run(update, {x: value})
                np.testing.assert_allclose(found, [average, 2 * average], rtol=1e-6)
            half = session.run(updates[2], {x: value})
            np.testing.assert_allclose(half[0], (second + value) / 2, rtol=1e-6)


def test_averages_are_made_under_the_variable_scope():
    with tf.variable_scope("scope1"):
        v0 = tf.get_variable("v0", [])
        total = tf.add(v0, 1.0, name="add")
    with tf.variable_scope("scope2"):
        averages = tf.train.ExponentialMovingAverage(0.5, zero_debias=True, name="foo")
        assert averages.average_name(v0) == "scope2/scope1/v0/foo"
        averages.apply([v0, total])
    assert averages.average(v0).op.name == averages.average_name(v0) == "scope2/scope1/v0/foo"
    assert averages.average(total).op.name == "scope2/scope1/add/foo"
    names = {variable.op.name for variable in tf.global_variables()}
    debias = "scope2/scope2/scope1/add/foo"
    assert {f"{debias}/biased", f"{debias}/local_step"} < names


def test_weighted_averages():
    with tf.as_tensorflow():
        averages = importlib.import_module("tensorflow.python.training.moving_averages")
    value, weight = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    mean = averages.weighted_moving_average(value, 0.9, weight, name="w")
    names = [variable.op.name for variable in tf.global_variables()]
    assert names == ["w/value_x_weight", "w/weight"] and not tf.trainable_variables()
    above = below = 0.0
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number, share in ((1.0, 0.5), (3.0, 2.0), (-2.0, 1.0)):
            above = 0.9 * above + 0.1 * number * share
            below = 0.9 * below + 0.1 * share
            found = session.run(mean, {value: number, weight: share})
            np.testing.assert_allclose(found, above / below, rtol=1e-6)
