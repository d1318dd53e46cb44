"""optimize_loss: its treatment of a loss, and its errors."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

optimize_loss = tf.contrib.layers.optimize_loss


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def model():
    variable = tf.get_variable("v", initializer=10.0)
    step = tf.train.get_or_create_global_step()
    return variable, tf.abs(variable * 5.0), step


def trained(train, variable, steps=1):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(train)
        return session.run([variable, tf.train.get_global_step()])


@pytest.mark.parametrize(
    "optimizer",
    [
        "SGD", tf.train.GradientDescentOptimizer, tf.train.GradientDescentOptimizer(0.1),
        lambda rate: tf.train.GradientDescentOptimizer(rate),
    ],
)  # fmt: skip
def test_an_optimizer_in_each_form(model, optimizer):
    variable, loss, step = model
    train = optimize_loss(loss, step, 0.1, optimizer)
    assert trained(train, variable) == [9.5, 1]
    assert "OptimizeLoss/learning_rate" in [v.op.name for v in tf.global_variables()]


@pytest.mark.parametrize("name", sorted(tf.contrib.layers.OPTIMIZER_CLS_NAMES))
def test_all_names(model, name):
    variable, loss, step = model
    value, count = trained(optimize_loss(loss, step, 0.1, name), variable)
    assert value < 10 and count == 1


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ({"clip_gradients": 0.1}, 9.99),
        ({"clip_gradients": lambda pairs: [(g * 2.0, v) for g, v in pairs]}, 9.0),
        ({"gradient_multipliers": {"v": 7.0}}, 6.5),
        ({"learning_rate_decay_fn": lambda rate, step: rate / 2.0}, 9.75),
        ({"variables": []}, 10.0),
    ],
)
def test_what_happens_to_gradients(model, arguments, value):
    variable, loss, step = model
    if arguments.get("variables") == []:
        other = tf.get_variable("other", initializer=1.0)
        arguments, loss = {"variables": [other]}, loss + other
    train = optimize_loss(loss, step, 0.1, "SGD", **arguments)
    np.testing.assert_allclose(trained(train, variable)[0], value, 1e-6)


def test_noise_changes_the_step(model):
    variable, loss, step = model
    train = optimize_loss(loss, step, 0.1, "SGD", gradient_noise_scale=10.0)
    assert trained(train, variable)[0] not in (9.5, 10.0)


def test_the_step_may_stay_and_updates_run_before(model):
    variable, loss, step = model
    doubled = tf.assign(variable, variable * 2.0)
    train = optimize_loss(loss, step, 0.1, "SGD", update_ops=[doubled], increment_global_step=False)
    assert trained(train, variable) == [19.5, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"optimizer": "bad"}, "Optimizer name should be one of"),
        ({"optimizer": 3}, "Unrecognized optimizer: should be string, subclass"),
        ({"optimizer": lambda rate: 3}, "function should return subclass of Optimizer"),
        ({"learning_rate": None}, "Learning rate is None, but should be specified"),
        ({"learning_rate": -1.0}, r"Invalid learning_rate -1\.0"),
        ({"learning_rate": "x"}, "should be 0d Tensor or float"),
        ({"clip_gradients": "x"}, "Unknown type .* for clip_gradients"),
        ({"gradient_multipliers": {}}, "should not be empty"),
        ({"summaries": ["bad"]}, r"Summaries should be one of \[learning_rate, .*provided bad"),
    ],
)
def test_what_is_refused(model, arguments, message):
    _, loss, step = model
    with pytest.raises(ValueError, match=message):
        optimize_loss(**{"loss": loss, "global_step": step, "learning_rate": 0.1,
                         "optimizer": "SGD", **arguments})  # fmt: skip


def test_summaries_that_are_wanted(model):
    _, loss, step = model

    def tags(**settings):
        tf.get_default_graph().clear_collection(tf.GraphKeys.SUMMARIES)
        optimize_loss(loss, step, 0.1, "SGD", name="o", **settings)
        return [tensor.op.name for tensor in tf.get_collection(tf.GraphKeys.SUMMARIES)]

    with tf.variable_scope("", reuse=tf.AUTO_REUSE):
        assert tags(summaries=[]) == []
        names = ["learning_rate", "global_norm/gradient_norm", "loss"]
        assert [tag.partition("/")[2] for tag in tags()] == names
        more = tags(summaries=["gradients", "gradient_norm"], clip_gradients=1.0)
    assert [tag.split("/")[1] for tag in more] == ["gradients", "gradient_norm", "global_norm"]


def test_a_decay_needs_a_step():
    loss = tf.abs(tf.get_variable("v", initializer=10.0))
    with pytest.raises(ValueError, match="global_step is required for learning_rate_decay_fn"):
        optimize_loss(loss, None, 0.1, "SGD", learning_rate_decay_fn=lambda rate, step: rate)
