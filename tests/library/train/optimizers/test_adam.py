"""Adam against its formula in NumPy, step for step, and the variables it keeps."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from ..linear import B, Linear, W, gradients, train

F = np.float32


def adam(rate, beta1=0.9, beta2=0.999, epsilon=1e-8, steps=50):
    values = [W, B]
    m, v = ([np.zeros_like(value) for value in values] for _ in range(2))
    power1, power2 = F(beta1), F(beta2)
    for _ in range(steps):
        grads = gradients(*values)
        step = F(rate) * np.sqrt(1 - power2) / (1 - power1)
        m = [value + (grad - value) * (1 - F(beta1)) for value, grad in zip(m, grads)]
        v = [value + (grad**2 - value) * (1 - F(beta2)) for value, grad in zip(v, grads)]
        values = [
            value - step * mean / (np.sqrt(square) + F(epsilon))
            for value, mean, square in zip(values, m, v)
        ]
        power1, power2 = power1 * F(beta1), power2 * F(beta2)
    return values


@pytest.mark.parametrize(
    "settings",
    [
        {"learning_rate": 0.001},
        {"learning_rate": 0.05},
        {"learning_rate": 0.01, "beta1": 0.5, "beta2": 0.9, "epsilon": 0.1},
        {"learning_rate": 0.01, "beta1": 0.0},
    ],
)
def test_against_the_formula(settings):
    rate = settings["learning_rate"]
    rest = {key: value for key, value in settings.items() if key != "learning_rate"}
    for value, other in zip(train(tf.train.AdamOptimizer(**settings)), adam(rate, **rest)):
        assert value.dtype == np.float32
        np.testing.assert_allclose(value, other, rtol=0, atol=1e-6)
        assert abs(value - (W if value.ndim == 2 else B)).max() > rate


def test_the_variables_it_keeps():
    with tf.Graph().as_default() as graph:
        model = Linear()
        optimizer = tf.train.AdamOptimizer(0.1)
        optimizer.minimize(model.loss)
        result = ["beta1_power", "beta2_power", "w/Adam", "w/Adam_1", "b/Adam", "b/Adam_1"]
        assert [variable.op.name for variable in tf.global_variables()] == ["w", "b", *result]
        assert [variable.op.name for variable in tf.trainable_variables()] == ["w", "b"]
        assert [variable.op.name for variable in optimizer.variables()] == sorted(result)
        assert optimizer.get_slot_names() == ["m", "v"]
        assert optimizer.get_slot(model.w, "m").op.name == "w/Adam"
        assert optimizer.get_slot(model.w, "v").op.name == "w/Adam_1"
        assert optimizer.get_slot(model.w, "other") is None
        groups = graph.get_operation_by_name("beta1_power").colocation_groups()
        assert groups == [b"loc:@b"]  # beside the first by name


def test_the_powers_go_on_after_the_updates():
    with tf.Graph().as_default() as graph:
        optimizer = tf.train.AdamOptimizer(0.1, beta1=0.5, beta2=0.25)
        model = Linear()
        step = optimizer.minimize(model.loss)
        powers = [graph.get_tensor_by_name(f"beta{index}_power:0") for index in (1, 2)]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(powers) == [0.5, 0.25]
            session.run(step)
            session.run(step)
            assert session.run(powers) == [0.125, 0.015625]
        assert {op.name for op in graph.get_operation_by_name("Adam/mul").control_inputs} == {
            "Adam/update_w/ApplyAdam",
            "Adam/update_b/ApplyAdam",
        }


def test_one_optimizer_for_two_losses_shares_its_variables():
    with tf.Graph().as_default():
        variable = tf.Variable(1.0, name="v")
        optimizer = tf.train.AdamOptimizer(0.1)
        optimizer.minimize(variable * variable)
        optimizer.minimize(variable * 2.0)
        assert len(tf.global_variables()) == 5
        tf.train.AdamOptimizer(0.1).minimize(variable * 3.0)
        names = [variable.op.name for variable in tf.global_variables()[5:]]
        assert names == ["beta1_power_1", "beta2_power_1", "v/Adam_2", "v/Adam_3"]


def test_one_optimizer_in_two_graphs():
    optimizer = tf.train.AdamOptimizer(0.1)
    assert all((a == b).all() for a, b in zip(train(optimizer, 3), train(optimizer, 3)))


def test_settings_as_callables_and_tensors():
    def settings(make):
        return [make(value) for value in (0.05, 0.8, 0.99, 1e-4)]

    expected = train(tf.train.AdamOptimizer(*settings(lambda value: value)), 5)
    actual = train(tf.train.AdamOptimizer(*settings(lambda value: lambda: value)), 5)
    with tf.Graph().as_default():
        model = Linear()
        rate, epsilon = tf.placeholder(tf.float32, []), tf.constant(1e-4)
        step = tf.train.AdamOptimizer(rate, 0.8, 0.99, epsilon).minimize(model.loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(5):
                session.run(step, {rate: 0.05})
            tensors = session.run([model.w, model.b])
    for plain, called, fed in zip(expected, actual, tensors):
        np.testing.assert_array_equal(plain, called)
        np.testing.assert_array_equal(plain, fed)


def test_variables_of_several_dtypes():
    with tf.Graph().as_default():
        small = tf.Variable([1.0], name="small")
        large = tf.Variable(np.float64([2.0]), name="large")
        loss = tf.reduce_sum(tf.cast(large, tf.float32) * small)
        step = tf.train.AdamOptimizer(0.125).minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(step)
            values = session.run([small, large])
    assert [value.dtype for value in values] == [np.float32, np.float64]
    np.testing.assert_allclose(np.concatenate(values), [0.875, 1.875], rtol=1e-5)
