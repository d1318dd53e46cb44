"""Functions with a gradient of their own: anywhere, in loops and branches, and of variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf

X = np.array([0.5, 1.0, -2.0])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def vector() -> tf.Tensor:
    return tf.placeholder(tf.float64, [3])


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


@tf.custom_gradient
def log1pexp(x: Any) -> Any:
    """log(1 + exp(x)), whose gradient would overflow."""
    e = tf.exp(x)

    def grad(dy: Any) -> Any:
        return dy * (1.0 - 1.0 / (1.0 + e))

    return tf.log(1.0 + e), grad


@tf.custom_gradient
def times_seven_backwards(x: Any) -> Any:
    return tf.sin(x), lambda dy: dy * 7.0


def test_its_gradient_is_its_own() -> None:
    x = tf.placeholder(tf.float32, [])
    actual = tf.gradients(log1pexp(x), x)[0]
    assert run(actual, {x: 100.0}) == 1.0
    assert run(actual, {x: 0.0}) == 0.5
    assert log1pexp.__name__ == "log1pexp"


def test_further_ops_are_differentiated_as_ever() -> None:
    x = vector()
    actual = tf.gradients(tf.square(times_seven_backwards(x * 2.0)), x)[0]
    np.testing.assert_allclose(run(actual, {x: X}), 2 * np.sin(2 * X) * 7 * 2)


def test_several_arguments_and_results() -> None:
    @tf.custom_gradient
    def both(x: Any, y: Any) -> Any:
        return {"sum": x + y, "product": x * y}, lambda dp, ds: (ds * 3.0, dp * 5.0)

    x, y = vector(), vector()
    result = both(x, y)
    assert set(result) == {"sum", "product"}
    actual = run([result["sum"], *tf.gradients([result["sum"]], [x, y])], {x: X, y: X})
    np.testing.assert_allclose(actual[0], 2 * X)
    np.testing.assert_allclose(actual[1], [3, 3, 3])
    np.testing.assert_allclose(actual[2], [0, 0, 0])


def test_second_order_differentiates_the_gradient() -> None:
    square = tf.custom_gradient(lambda x: (tf.exp(x), lambda dy: dy * x * x))
    x = vector()
    first = tf.gradients(square(x), x)[0]
    np.testing.assert_allclose(run(tf.gradients(first, x)[0], {x: X}), 2 * X)


def test_in_a_loop() -> None:
    x = vector()
    y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, times_seven_backwards(a)), (0, x))[1]
    value, slope = run([y, tf.gradients(y, x)[0]], {x: X})
    np.testing.assert_allclose(value, np.sin(np.sin(np.sin(X))))
    np.testing.assert_allclose(slope, [343.0] * 3)


def test_in_a_loop_with_what_the_forward_step_had() -> None:
    @tf.custom_gradient
    def step(x: Any) -> Any:
        y = tf.exp(-x)
        return y, lambda dy: dy * y * x

    x = vector()
    y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, step(a)), (0, x))[1]
    wanted, slope = X, np.ones(3)
    for _ in range(3):
        wanted, slope = np.exp(-wanted), slope * np.exp(-wanted) * wanted
    actual = run([y, tf.gradients(y, x)[0]], {x: X})
    np.testing.assert_allclose(actual, [wanted, slope])


def test_in_a_branch() -> None:
    p, x = tf.placeholder(tf.bool, []), vector()
    y = tf.cond(p, lambda: times_seven_backwards(x), lambda: x)
    actual = tf.gradients(y, x)[0]
    np.testing.assert_allclose(run(actual, {p: True, x: X}), [7, 7, 7])
    np.testing.assert_allclose(run(actual, {p: False, x: X}), [1, 1, 1])


def test_a_gradient_that_has_branches() -> None:
    @tf.custom_gradient
    def clipped(x: Any) -> Any:
        def grad(dy: Any) -> Any:
            return tf.cond(tf.reduce_sum(dy) > 5.0, lambda: dy * 0.1, lambda: dy)

        return x * 1.0, grad

    x = vector()
    for factor, wanted in ((1.0, 1.0), (3.0, 0.3)):
        actual = tf.gradients(clipped(x) * factor, x)[0]
        np.testing.assert_allclose(run(actual, {x: X}), [wanted] * 3)


def test_numbers_as_arguments() -> None:
    y = times_seven_backwards(3.0)
    assert isinstance(y, tf.Tensor)
    assert run(y) == np.sin(np.float32(3.0))


def test_variables_it_reads() -> None:
    w = tf.Variable(np.array(2.0))

    @tf.custom_gradient
    def scaled(x: Any) -> Any:
        def grad(dy: Any, variables: Any) -> Any:
            assert variables == [w]
            return dy * 10.0, [tf.reduce_sum(dy) * 100.0]

        return x * w, grad

    x = vector()
    value, of_x, of_w = run([scaled(x), *tf.gradients(scaled(x), [x, w])], {x: X})
    np.testing.assert_allclose(value, 2 * X)
    np.testing.assert_allclose(of_x, [10.0] * 3)
    assert of_w == 300.0


def test_variables_as_arguments() -> None:
    w = tf.Variable(np.array(2.0))
    y = times_seven_backwards(w)
    assert run(tf.gradients(y, w)[0]) == 7.0


def test_what_is_refused() -> None:
    x, w = vector(), tf.Variable(np.array(2.0))
    with pytest.raises(TypeError, match="takes a function, not 3"):
        tf.custom_gradient(3)
    with pytest.raises(TypeError, match=r"must return \(result, grad_fn\)"):
        tf.custom_gradient(lambda x: x)(x)
    with pytest.raises(TypeError, match="grad_fn of '<lambda>' is not callable"):
        tf.custom_gradient(lambda x: (x, 3))(x)
    with pytest.raises(ValueError, match=r"keyword arguments \['x'\]"):
        times_seven_backwards(x=x)
    with pytest.raises(TypeError, match="must accept a keyword argument 'variables'"):
        tf.custom_gradient(lambda x: (x * w, lambda dy: dy))(x)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_another_number_of_gradients(count: int) -> None:
    x, y = vector(), vector()
    z = tf.custom_gradient(lambda x, y: (x + y, lambda dz: [dz] * count))(x, y)
    with pytest.raises(ValueError, match=f"gave {count} gradients for 2 arguments"):
        tf.gradients(z, [x, y])


@pytest.mark.parametrize("use_resource", [True, False])
def test_variables_that_a_function_creates_are_resource_variables(use_resource: bool) -> None:
    @tf.custom_gradient
    def scaled(x: Any) -> Any:
        scale = tf.get_variable("scale", initializer=2.0, use_resource=use_resource)

        def grad(dy: Any, variables: Any = None) -> Any:
            return dy * scale, [dy * x for _ in variables]

        return x * scale, grad

    x = tf.constant(3.0)
    if use_resource:
        assert run(tf.gradients(scaled(x), x)) == [2]
    else:
        with pytest.raises(TypeError, match="must be `ResourceVariable`s"):
            scaled(x)
