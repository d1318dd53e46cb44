"""Optimizers of which a step is one op: against their formulas, and their errors."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from ..linear import B, Linear, W, gradients, train

STEPS = 30


def walked(update, count, *starts):
    """w and b after steps of `update(var, grad, step, *slots)`, which gives new var and slots."""
    state = [[value, *(np.full_like(value, start) for start in starts)] for value in (W, B)]
    for step in range(1, count + 1):
        grads = gradients(state[0][0], state[1][0])
        state = [
            list(update(value[0], grad, step, *value[1:])) for value, grad in zip(state, grads)
        ]
    return [value[0] for value in state]


def shrunk(values, by):
    return np.sign(values) * np.maximum(np.abs(values) - by, 0)


def adagrad(var, grad, _, accum):
    accum = accum + grad**2
    return var - 0.1 * grad / np.sqrt(accum), accum


def adadelta(var, grad, _, accum, updates):
    accum = 0.9 * accum + 0.1 * grad**2
    step = np.sqrt(updates + 1e-3) / np.sqrt(accum + 1e-3) * grad
    return var - 0.5 * step, accum, 0.9 * updates + 0.1 * step**2


def rms_prop(var, grad, _, rms, momentum):
    rms = 0.8 * rms + 0.2 * grad**2
    momentum = 0.5 * momentum + 0.01 * grad / np.sqrt(rms + 1e-3)
    return var - momentum, rms, momentum


def centered(var, grad, _, rms, momentum, mean):
    rms, mean = 0.8 * rms + 0.2 * grad**2, 0.8 * mean + 0.2 * grad
    momentum = 0.5 * momentum + 0.01 * grad / np.sqrt(rms - mean**2 + 1e-3)
    return var - momentum, rms, momentum, mean


def ftrl(shrinkage, power):
    def update(var, grad, _, accum, linear):
        new = accum + grad**2
        linear = linear + grad + 2 * shrinkage * var
        linear = linear - (new**-power - accum**-power) / 0.1 * var
        solved = (np.sign(linear) * 0.01 - linear) / (new**-power / 0.1 + 2 * 0.02)
        return np.where(np.abs(linear) > 0.01, solved, 0), new, linear

    return update


def proximal(var, grad, _):
    return (shrunk(var - 0.1 * grad, 0.1 * 0.01) / (1 + 0.1 * 0.02),)


def proximal_adagrad(var, grad, _, accum):
    accum = accum + grad**2
    rate = 0.1 / np.sqrt(accum)
    return shrunk(var - rate * grad, rate * 0.01) / (1 + rate * 0.02), accum


def dual_averaging(var, grad, step, grads, squares):
    grads, squares = grads + grad, squares + grad**2
    var = -0.1 * shrunk(grads, 0.01 * step) / (np.sqrt(squares) + 0.02 * step * 0.1)
    return var, grads, squares


CASES = {
    "adagrad": (lambda: tf.train.AdagradOptimizer(0.1), adagrad, 0.1),
    "adadelta": (lambda: tf.train.AdadeltaOptimizer(0.5, 0.9, 1e-3), adadelta, 0, 0),
    "rmsprop": (lambda: tf.train.RMSPropOptimizer(0.01, 0.8, 0.5, 1e-3), rms_prop, 1, 0),
    "centered rmsprop": (
        lambda: tf.train.RMSPropOptimizer(0.01, 0.8, 0.5, 1e-3, centered=True), centered, 1, 0, 0
    ),
    "ftrl": (lambda: tf.train.FtrlOptimizer(0.1, -0.5, 0.2, 0.01, 0.02), ftrl(0, -0.5), 0.2, 0),
    "ftrl of another power": (
        lambda: tf.train.FtrlOptimizer(0.1, -0.75, 0.2, 0.01, 0.02), ftrl(0, -0.75), 0.2, 0
    ),
    "shrinking ftrl": (
        lambda: tf.train.FtrlOptimizer(
            0.1, -0.5, 0.2, 0.01, 0.02, l2_shrinkage_regularization_strength=0.03
        ),
        ftrl(0.03, -0.5), 0.2, 0,
    ),
    "proximal descent": (
        lambda: tf.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.02), proximal
    ),
    "proximal adagrad": (
        lambda: tf.train.ProximalAdagradOptimizer(0.1, 0.3, 0.01, 0.02), proximal_adagrad, 0.3
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_against_the_formula(case):
    make, update, *starts = case
    for actual, wanted in zip(train(make(), STEPS), walked(update, STEPS, *starts)):
        assert actual.dtype == np.float32
        np.testing.assert_allclose(actual, wanted, rtol=1e-4, atol=1e-5)
        assert np.abs(actual - (W if actual.ndim == 2 else B)).max() > 0.01


def test_dual_averaging_against_the_formula():
    with tf.Graph().as_default():
        model, step = Linear(), tf.train.get_or_create_global_step()
        optimizer = tf.train.AdagradDAOptimizer(0.1, step, 0.3, 0.01, 0.02)
        update = optimizer.minimize(model.loss, step)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(STEPS):
                session.run(update)
            actual = session.run([model.w, model.b])
    for number, wanted in zip(actual, walked(dual_averaging, STEPS, 0, 0.3)):
        np.testing.assert_allclose(number, wanted, rtol=1e-4, atol=1e-5)


SLOTS = {
    "adagrad": {"accumulator": "w/Adagrad"},
    "adadelta": {"accum": "w/Adadelta", "accum_update": "w/Adadelta_1"},
    "rmsprop": {"momentum": "w/RMSProp_1", "rms": "w/RMSProp"},
    "centered rmsprop": {"mg": "w/RMSProp_1", "momentum": "w/RMSProp_2", "rms": "w/RMSProp"},
    "ftrl": {"accum": "w/Ftrl", "linear": "w/Ftrl_1"},
    "proximal descent": {},
    "proximal adagrad": {"accumulator": "w/ProximalAdagrad"},
}


@pytest.mark.parametrize(("name", "slots"), SLOTS.items())
def test_slots(name, slots):
    with tf.Graph().as_default():
        model, optimizer = Linear(), CASES[name][0]()
        optimizer.minimize(model.loss)
        assert optimizer.get_slot_names() == list(slots)
        actual = {slot: optimizer.get_slot(model.w, slot).op.name for slot in slots}
        assert actual == slots


def test_settings_as_tensors_and_callables():
    def settings(make):
        return [make(value) for value in (0.5, 0.9, 1e-3)]

    plain = train(tf.train.AdadeltaOptimizer(*settings(float)), 3)
    called = train(tf.train.AdadeltaOptimizer(*settings(lambda value: lambda: value)), 3)
    for value, other in zip(plain, called):
        np.testing.assert_array_equal(value, other)


def test_ftrl_names_its_slots():
    with tf.Graph().as_default():
        model = Linear()
        optimizer = tf.train.FtrlOptimizer(0.1, accum_name="a", linear_name="l")
        optimizer.minimize(model.loss)
        assert optimizer.get_slot(model.w, "accum").op.name == "w/a"
        assert optimizer.get_slot(model.w, "linear").op.name == "w/l"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.train.AdagradOptimizer(0.1, 0.0), "initial_accumulator_value must be positive"),
        (lambda: tf.train.ProximalAdagradOptimizer(0.1, -1.0), "must be positive"),
        (lambda: tf.train.AdagradDAOptimizer(0.1, 1, 0.0), "must be positive"),
        (lambda: tf.train.FtrlOptimizer(0.1, 0.5), "learning_rate_power 0.5 needs to be negative"),
        (lambda: tf.train.FtrlOptimizer(0.1, -0.5, -0.1), "initial_accumulator_value -0.1"),
        (lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=-1.0), "l1_regular"),
        (lambda: tf.train.FtrlOptimizer(0.1, l2_regularization_strength=-1.0), "l2_regular"),
        (
            lambda: tf.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=-1.0),
            "l2_shrinkage_regularization_strength -1.0 needs to be positive or zero",
        ),
    ],
)
def test_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
