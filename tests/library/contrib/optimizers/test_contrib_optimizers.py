"""The optimizers of `tf.contrib.opt`, against the rules of their papers in NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

START = np.array([[1.0, -2.0], [0.5, 3.0], [2.0, 1.0]], np.float32)
SCALE = np.array([[1.0, 0.5], [2.0, 1.5], [-1.0, 1.0]], np.float32)
ROWS = np.array([0, 2], np.int32)


@pytest.fixture(autouse=True)
def own_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def trained(optimizer: Any, sparse: bool, resource: bool, steps: int = 3, **more: Any) -> Any:
    """Return a variable after steps whose gradient is SCALE * variable, perhaps of ROWS alone."""
    variable = tf.get_variable("v", initializer=START, use_resource=resource)
    read, factor = (tf.gather(variable, ROWS), SCALE[ROWS]) if sparse else (variable, SCALE)
    train = optimizer.minimize(tf.reduce_sum(0.5 * factor * tf.square(read)), **more)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(train)
        return session.run(variable)


def adam_like(rule: str, sparse: bool, rate: float = 0.1) -> Any:
    """Return START after three steps of a variant of Adam."""
    w = START.astype(np.float64)
    m, v = np.zeros_like(w), np.zeros_like(w)
    mask = np.zeros_like(w)
    mask[ROWS] = 1.0
    if not sparse:
        mask[:] = 1.0
    for step in range(1, 4):
        g = SCALE * w * mask
        corrected = rate * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        new_m = 0.9 * m + 0.1 * g
        new_v = 0.999 * v + 0.001 * g * g
        if rule == "adamax":
            new_v = np.maximum(0.999 * v, abs(g))
            change = rate / (1 - 0.9**step) * new_m / (new_v + 1e-8)
        elif rule == "nadam":
            change = corrected * (0.9 * new_m + 0.1 * g) / (np.sqrt(new_v) + 1e-8)
        else:
            change = corrected * new_m / (np.sqrt(new_v) + 1e-8)
        lazy = mask if rule in ("lazy", "adamax") else np.ones_like(mask)
        m, v = (np.where(lazy > 0, new, old) for new, old in ((new_m, m), (new_v, v)))
        w = w - change * mask
    return w


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("rule", "name"),
    [("lazy", "LazyAdamOptimizer"), ("nadam", "NadamOptimizer"), ("adamax", "AdaMaxOptimizer")],
)
def test_variants_of_adam(rule: str, name: str, sparse: bool, resource: bool) -> None:
    found = trained(getattr(tf.contrib.opt, name)(0.1), sparse, resource)
    np.testing.assert_allclose(found, adam_like(rule, sparse), rtol=5e-5)


def test_lazy_adam_leaves_the_slots_of_other_rows() -> None:
    optimizer = tf.contrib.opt.LazyAdamOptimizer(0.1)
    variable = tf.get_variable("v", initializer=START)
    both = tf.reduce_sum(tf.square(variable)), tf.reduce_sum(tf.gather(variable, ROWS))
    dense, rows = (optimizer.minimize(loss) for loss in both)
    slot = optimizer.get_slot(variable, "m")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(dense)
        before = session.run(slot)
        session.run(rows)
        after = session.run(slot)
    assert (before[1] == after[1]).all()
    assert (before[ROWS] != after[ROWS]).all()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("power", [False, True])
def test_steps_by_signs(power: bool, sparse: bool) -> None:
    def decay(step: Any) -> Any:
        return 1.0 / (1.0 + tf.cast(step, tf.float32))

    kind = tf.contrib.opt.PowerSignOptimizer if power else tf.contrib.opt.AddSignOptimizer
    step = tf.train.get_or_create_global_step()
    found = trained(kind(0.1, sign_decay_fn=decay), sparse, False, global_step=step)
    w, m = START.astype(np.float64), np.zeros(START.shape)
    for count in range(3):
        g = SCALE * w
        m = 0.9 * m + 0.1 * g
        agreement = np.sign(g) * np.sign(m) / (1 + count)
        change = 0.1 * (np.exp(agreement) if power else 1 + agreement) * g
        if sparse:
            change[1] = 0
        w = w - change
    np.testing.assert_allclose(found, w, rtol=1e-5)


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("chosen", [False, True])
def test_weights_decay_apart_from_the_step(chosen: bool, resource: bool) -> None:
    other = tf.get_variable("other", initializer=START[0])
    optimizer = tf.contrib.opt.MomentumWOptimizer(0.01, 0.1, 0.9)
    more = {"decay_var_list": [other]} if chosen else {}
    variable = tf.get_variable("v", initializer=START, use_resource=resource)
    train = optimizer.minimize(tf.reduce_sum(variable) + tf.reduce_sum(0 * other), **more)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        values = session.run([variable, other])
    share = 1.0 if chosen else 0.99
    np.testing.assert_allclose(values[0], share * START - 0.1, rtol=1e-6)
    np.testing.assert_allclose(values[1], 0.99 * START[0], rtol=1e-6)


def test_any_optimizer_gets_weight_decay() -> None:
    made = tf.contrib.opt.extend_with_decoupled_weight_decay(tf.train.GradientDescentOptimizer)
    found = trained(made(0.02, 0.1, name="decayed"), False, False, steps=1)
    np.testing.assert_allclose(found, START * 0.98 - 0.1 * SCALE * START, rtol=1e-6)
    with tf.Graph().as_default():
        found = trained(tf.contrib.opt.AdamWOptimizer(0.02, 0.1), False, False, steps=1)
        first_step = 0.1 * np.sign(SCALE * START)
        np.testing.assert_allclose(found, START * 0.98 - first_step, rtol=1e-5)


def test_lars_scales_by_norms() -> None:
    found = trained(tf.contrib.opt.LARSOptimizer(0.5, 0.9, 0.01, 0.1), False, False, steps=1)
    g = SCALE * START
    weights, slope = np.linalg.norm(START), np.linalg.norm(g)
    rate = 0.5 * 0.1 * weights / (slope + 0.01 * weights)
    np.testing.assert_allclose(found, START - rate * (g + 0.01 * START), rtol=1e-5)
    with tf.Graph().as_default():
        skipping = tf.contrib.opt.LARSOptimizer(0.5, skip_list=["v"])
        np.testing.assert_allclose(
            trained(skipping, False, False, steps=1), START - 0.5 * g, rtol=1e-5
        )
        with pytest.raises(ValueError, match="momentum should be positive"):
            tf.contrib.opt.LARSOptimizer(0.5, -1.0)


def test_variables_are_clipped_after_the_step() -> None:
    variable = tf.get_variable("v", initializer=START)
    wrapped = tf.train.GradientDescentOptimizer(0.0)
    optimizer = tf.contrib.opt.VariableClippingOptimizer(wrapped, {variable: [1]}, 1.0)
    train = optimizer.minimize(tf.reduce_sum(variable))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        found = session.run(variable)
    np.testing.assert_allclose(
        found, START / np.linalg.norm(START, axis=1, keepdims=True), rtol=1e-6
    )


def test_the_swapping_saver_writes_averages(tmp_path: Any) -> None:
    variable = tf.get_variable("v", initializer=START)
    wrapped = tf.train.GradientDescentOptimizer(1.0)
    optimizer = tf.contrib.opt.MovingAverageOptimizer(wrapped, average_decay=0.5)
    with pytest.raises(RuntimeError, match="before creating the swapping_saver"):
        optimizer.swapping_saver()
    train = optimizer.minimize(tf.reduce_sum(variable))
    saver = optimizer.swapping_saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        path = saver.save(session, str(tmp_path / "model"))
    reader = tf.train.NewCheckpointReader(path)
    np.testing.assert_allclose(reader.get_tensor("v"), START - 0.5)
    np.testing.assert_allclose(reader.get_tensor("v/ExponentialMovingAverage"), START - 1.0)


def test_gradients_are_clipped_together() -> None:
    variables = [tf.get_variable(name, initializer=START) for name in "ab"]
    pairs = [(tf.constant(START), variables[0]), (None, variables[1])]
    clipped = tf.contrib.opt.clip_gradients_by_global_norm(pairs, 1.0)
    assert [variable for _, variable in clipped] == variables
    assert clipped[1][0] is None
    with tf.Session() as session:
        found = session.run(clipped[0][0])
    np.testing.assert_allclose(found, START / np.linalg.norm(START), rtol=1e-6)


def test_scipy_minimizes_with_bounds_and_constraints() -> None:
    pytest.importorskip("scipy")
    vector = tf.Variable([7.0, 7.0], name="vector")
    other = tf.Variable(2.0, name="other")
    scale = tf.placeholder(tf.float32, [])
    loss = scale * tf.reduce_sum(tf.square(vector)) + tf.square(other - 1.0)
    seen: list[Any] = []
    plain = tf.contrib.opt.ScipyOptimizerInterface(loss, options={"maxiter": 100})
    bounded = tf.contrib.opt.ScipyOptimizerInterface(loss, var_to_bounds={vector: ([1, 2], np.inf)})
    held = tf.contrib.opt.ScipyOptimizerInterface(
        loss, equalities=[vector[1] - 1.0], inequalities=[vector[0] - 3.0], method="SLSQP"
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for optimizer, expected in ((plain, [0, 0]), (bounded, [1, 2]), (held, [3, 1])):
            optimizer.minimize(session, {scale: 1.5}, fetches=[loss], loss_callback=seen.append)
            np.testing.assert_allclose(session.run(vector), expected, atol=1e-4)
            assert abs(session.run(other) - 1.0) < 1e-4
    assert seen[-1] < seen[0]
    with pytest.raises(ValueError, match="'jac' is set automatically"):
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            tf.contrib.opt.ScipyOptimizerInterface(loss, jac=None).minimize(session, {scale: 1.0})
