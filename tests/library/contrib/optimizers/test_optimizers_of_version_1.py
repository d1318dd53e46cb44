"""Optimizers of `tf.contrib.opt` beside TensorFlow 1.15.5: the same variables after five steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

OPT = tf.contrib.opt

EXPECTED: dict[str, tuple[list[float], list[float]]] = {
    "shampoo": ([1.85017, 0.25926, 1.09313], [0.50092, 0.10348, 0.44926]),
    "shampoo_with_momentum": ([1.79293, 0.38546, 1.05274], [0.68937, 0.11729, 0.41159]),
    "shampoo_by_iterations": ([1.85016, 0.25926, 1.09313], [0.50092, 0.10348, 0.44926]),
    "shampoo_of_rows": ([1.77183, 0.50442, 0.6461], [0.79476, 0.5658, 0.21031]),
    "adam": ([2.21632, -0.04668, 1.40015], [0.28915, 0.20191, 0.27168]),
    "adam_of_rows": ([1.30374, 0.37652, 0.50831], [0.58018, 0.60572, 0.03412]),
    "lazy_adam": ([1.30374, 0.37652, 0.50831], [0.58018, 0.60572, 0.03412]),
    "adagrad": ([1.85215, 0.35412, 1.15439], [0.49159, 0.15066, 0.35509]),
    "multitask": ([1.80524, 0.39284, 1.08583], [0.31138, 0.12743, 0.25724]),
    "drop_stale": ([1.83782, 0.37756, 1.18434], [-0.06696, 0.15056, 0.11511]),
    "ggt": ([1.76594, 0.39863, 0.98714], [0.73917, 0.12325, 0.43914]),
    "elastic": ([1.99828, 0.25967, 1.27292], [0.39779, 0.20808, 0.31998]),
    "elastic_with_rate": ([1.78539, 0.38689, 1.04977], [0.5091, 0.13768, 0.36986]),
    "accumulated": ([1.80822, 0.38644, 1.10281], [0.26633, 0.13667, 0.25698]),
}
"""By program: the first numbers of the two variables, by TensorFlow 1.15.5."""


def momentum(*_: Any) -> Any:
    return tf.train.MomentumOptimizer(0.1, 0.9)


PLAIN: dict[str, Callable[[Any], Any]] = {
    "shampoo": lambda step: OPT.ShampooOptimizer(global_step=step, learning_rate=0.1),
    "shampoo_with_momentum": lambda step: OPT.ShampooOptimizer(
        global_step=step, learning_rate=0.1, gbar_decay=0.9, gbar_weight=0.1, svd_interval=2,
        precond_update_interval=2, max_matrix_size=3, mat_gbar_decay=0.9,
    ),
    "shampoo_by_iterations": lambda step: OPT.ShampooOptimizer(
        global_step=step, learning_rate=0.1, use_iterative_root=True
    ),
    "shampoo_of_rows": lambda step: OPT.ShampooOptimizer(
        global_step=step, learning_rate=0.1, max_matrix_size=3
    ),
    "adam": lambda step: OPT.AdamGSOptimizer(step, 0.1),
    "adam_of_rows": lambda step: OPT.AdamGSOptimizer(step, 0.1),
    "lazy_adam": lambda step: OPT.LazyAdamGSOptimizer(step, 0.1),
    "adagrad": lambda _: OPT.RegAdagradOptimizer(0.1),
    "multitask": lambda step: OPT.MultitaskOptimizerWrapper(momentum(step)),
    "drop_stale": lambda step: OPT.DropStaleGradientOptimizer(momentum(step), 0),
    "ggt": lambda _: OPT.GGTOptimizer(0.01, window=3),
}  # fmt: skip
OF_ROWS = ("shampoo_of_rows", "adam_of_rows", "lazy_adam")


def built(name: str, getter: Any = None) -> tuple[Any, Any, Any]:
    """Return the loss of a network, its two variables, and the global step."""
    random = np.random.RandomState(0)
    values = [random.randn(*shape).astype(np.float32) for shape in ((4, 3), (3, 2), (6, 4))]
    with tf.variable_scope("", custom_getter=getter):
        a, b = (tf.get_variable(key, initializer=value) for key, value in zip("ab", values))
    step = tf.train.get_or_create_global_step()
    hidden = tf.gather(a, [0, 2, 2]) if name in OF_ROWS else tf.matmul(values[2], a)
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.tanh(hidden), b) - 1.0))
    if name == "multitask":
        loss = loss * tf.cast(tf.equal(step % 2, 0), tf.float32)
    return loss, (a, b), step


def trained(session: Any, train: Any, variables: Any) -> Any:
    for _ in range(5):
        session.run(train)
    return [np.ravel(value)[:3] for value in session.run(variables)]


@pytest.mark.parametrize("name", PLAIN)
def test_variables_are_those_of_tensorflow(name: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        loss, variables, step = built(name)
        optimizer = PLAIN[name](step)
        pairs = optimizer.compute_gradients(loss)
        train = optimizer.apply_gradients(pairs, global_step=step)
        session.run(tf.global_variables_initializer())
        result = trained(session, train, variables)
    bound = 5e-4 if name == "ggt" else 1e-4  # a decomposition of equal singular values
    np.testing.assert_allclose(result, EXPECTED[name], rtol=bound, atol=2e-5)


CENTERED: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "elastic": (
        OPT.ElasticAverageCustomGetter,
        lambda getter: OPT.ElasticAverageOptimizer(
            tf.train.AdamOptimizer(0.1), 2, getter, communication_period=2, rho=0.3
        ),
    ),
    "elastic_with_rate": (
        OPT.ElasticAverageCustomGetter,
        lambda getter: OPT.ElasticAverageOptimizer(
            momentum(), 1, getter, communication_period=3, moving_rate=0.4
        ),
    ),
    "accumulated": (
        OPT.AGNCustomGetter,
        lambda getter: OPT.AGNOptimizer(momentum(), 2, getter, communication_period=2),
    ),
}


@pytest.mark.parametrize("name", CENTERED)
def test_local_variables_are_those_of_tensorflow(name: str) -> None:
    make_getter, make = CENTERED[name]
    with tf.Graph().as_default(), tf.Session() as session:
        getter = make_getter("/cpu:0")
        loss, variables, step = built(name, getter)
        optimizer = make(getter)
        pairs = optimizer.compute_gradients(loss)
        train = optimizer.apply_gradients(pairs, global_step=step)
        hook = optimizer.make_session_run_hook(is_chief=True, task_index=0)
        hook.begin()
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        hook.after_create_session(session, None)
        result = trained(session, train, variables)
    np.testing.assert_allclose(result, EXPECTED[name], rtol=1e-4, atol=2e-5)


def test_centers_are_saved_under_the_names_of_variables(tmp_path: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        getter = OPT.ElasticAverageCustomGetter("/cpu:0")
        loss, (a, _), step = built("elastic", getter)
        optimizer = OPT.ElasticAverageOptimizer(momentum(), 1, getter, synchronous=True)
        optimizer.apply_gradients(optimizer.compute_gradients(loss), global_step=step)
        saver = optimizer.swapping_saver()
        start = optimizer.get_init_op(0)
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(start)
        session.run(a.assign(tf.zeros_like(a)))
        path = saver.save(session, str(tmp_path / "model"))
        assert np.abs(tf.train.load_variable(path, "a")).min() > 0


def test_slots_stay_where_they_are_told_to() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([4.0])
        optimizer = OPT.RegAdagradOptimizer(0.5)
        with optimizer.avoid_updating_slots():
            regularize = optimizer.minimize(tf.square(v))
        session.run(tf.global_variables_initializer())
        session.run(regularize)
        assert session.run(optimizer.get_slot(v, "accumulator")) == np.float32([0.1])
        np.testing.assert_allclose(session.run(v), 4.0 - 0.5 * 8.0 / np.sqrt([0.1]), rtol=1e-5)


def test_rejected_inputs() -> None:
    with pytest.raises(TypeError, match=r"must be an instance of tf.train.Optimizer"):
        OPT.MultitaskOptimizerWrapper(object())
    with tf.Graph().as_default():
        v = tf.Variable(tf.ones([3, 2]))
        loss = tf.reduce_sum(tf.gather(v, [0]))
        with pytest.raises(NotImplementedError, match="Sparse gradient updates"):
            OPT.GGTOptimizer().minimize(loss)
        getter = OPT.ElasticAverageCustomGetter("/cpu:0")
        optimizer = OPT.ElasticAverageOptimizer(momentum(), 1, getter, rho=0.0)
        with pytest.raises(RuntimeError, match="global_center_variable is empty"):
            optimizer.swapping_saver()
        with pytest.raises(KeyError):
            optimizer.get_init_op(0)
