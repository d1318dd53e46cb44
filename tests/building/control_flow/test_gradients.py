"""Gradients through branches and loops: against finite differences and closed forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import gpugraph as tf

STEP = 1e-6
X = np.array([0.4, 0.9, 0.7])
W = np.array([0.3, -0.5, 0.8])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def loop(times: Any, body: Callable[..., Any], *start: Any, **how: Any) -> Any:
    """Run `body(i, *variables)` `times` times, and return the variables after the loop."""
    found = tf.while_loop(
        lambda i, *_: i < times,
        lambda i, *held: (i + 1, *_listed(body(i, *held))),
        (0, *start),
        **how,
    )
    return found[1] if len(start) == 1 else found[1:]


def _listed(found: Any) -> Any:
    return found if isinstance(found, (list, tuple)) else (found,)


def even(i: Any) -> tf.Tensor:
    return tf.equal(i % 2, 0)


def nested(x: Any, w: Any, n: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        y = tf.tanh(a)
        return loop(i, lambda j, b: b * y + tf.reduce_sum(w), a)

    return loop(n, body, x)


def nested_with_open_shapes(x: Any, w: Any, n: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        y = tf.tanh(a)
        b, c = loop(i, lambda j, b, c: (b * y + tf.reduce_sum(w), c * b), a, w)
        return b + tf.reduce_sum(c)

    return loop(n, body, x)


def loop_in_branch_in_loop(x: Any, w: Any, n: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        y = tf.sin(a)

        def taken() -> Any:
            b, c = loop(i, lambda j, b, c: (b * y + tf.reduce_sum(w), c + b), a, a)
            return b * c

        return tf.cond(even(i), taken, lambda: a + y)

    return loop(n, body, x)


def branches_in_branches_in_loop(x: Any, w: Any, n: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        return tf.cond(
            tf.equal(i % 3, 0),
            lambda: a * x,
            lambda: tf.cond(tf.equal(i % 3, 1), lambda: tf.exp(w) * w + a, lambda: a * a * w),
        )

    return loop(n, body, x)


def gradient_in_body(x: Any, w: Any, n: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        g = tf.gradients(tf.reduce_sum(a * a * w), [a, w])
        return g[0] * g[1] + 0.1

    return loop(n, body, x)


def arrays(x: Any, w: Any, n: Any) -> Any:
    given = tf.TensorArray(tf.float64, 3).unstack(x)

    def body(i: Any, state: Any, out: Any) -> Any:
        state = tf.tanh(state * w + given.read(i))
        return state, out.write(i, state * state)

    out = loop(3, body, w, tf.TensorArray(tf.float64, 3))[1]
    return out.stack()


def grows(x: Any, w: Any, n: Any) -> Any:
    shapes = (tf.TensorShape([]), tf.TensorShape([None]))
    return loop(n, lambda i, a: tf.concat([a, a * a], 0), x, shape_invariants=shapes)


def shrinks(x: Any, w: Any, n: Any) -> Any:
    shapes = (tf.TensorShape([]), tf.TensorShape([None]))
    times = tf.minimum(n, 2)
    return loop(times, lambda i, a: a[1:] * a[:-1], x, shape_invariants=shapes)


FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "branch of both": lambda x, w, n: tf.cond(n < 2, lambda: x * w, lambda: tf.exp(x) * x),
    "branch of one": lambda x, w, n: tf.cond(n < 2, lambda: x * x, lambda: tf.exp(w) * 2.0),
    "branch in branch": lambda x, w, n: tf.cond(
        n < 5, lambda: tf.cond(n < 2, lambda: x * w, lambda: tf.sin(w)), lambda: x + w * w
    ),
    "branch that returns what it got": lambda x, w, n: tf.cond(n < 2, lambda: x, lambda: w) * x,
    "loop": lambda x, w, n: loop(n, lambda i, a: tf.sin(a) * x + 2.0 * a, x),
    "loop with invariants": lambda x, w, n: loop(n, lambda i, a: a * w + tf.reduce_sum(w * w), x),
    "loop of two": lambda x, w, n: loop(
        n, lambda i, a, b: (a * tf.reduce_sum(b), tf.square(b)), x, w
    )[0],
    "loop that forgets": lambda x, w, n: tf.add_n(
        loop(n, lambda i, a, b: (x * 2.0, tf.exp(w)), x, w)
    ),
    "loop that swaps": lambda x, w, n: loop(n, lambda i, a, b: (b, a * x), x, w)[0],
    "two loops": lambda x, w, n: loop(n, lambda i, a: a * w, loop(n, lambda i, a: a * x, x)),
    "loop from a number": lambda x, w, n: loop(
        n, lambda i, a: a * w + x, tf.zeros_like(x), parallel_iterations=1, swap_memory=True
    ),
    "at most": lambda x, w, n: tf.while_loop(
        lambda a: tf.reduce_sum(a) < 20.0, lambda a: a * 1.5 + w * w, [x], maximum_iterations=n
    ),
    "branch in loop": lambda x, w, n: loop(
        n, lambda i, a: tf.cond(even(i), lambda: a * x, lambda: tf.exp(-w) * w + a), x
    ),
    "loop in branch": lambda x, w, n: tf.cond(
        n < 4, lambda: loop(n, lambda i, a: a * w + tf.sin(a), x), lambda: x * w
    ),
    "branches in branches in loop": branches_in_branches_in_loop,
    "loop in loop": nested,
    "loop in loop with open shapes": nested_with_open_shapes,
    "loop in branch in loop": loop_in_branch_in_loop,
    "gradient in body": gradient_in_body,
    "arrays": arrays,
    "grows": grows,
    "shrinks": shrinks,
}


@pytest.mark.parametrize("size", [3, None], ids=["known", "open"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_against_finite_differences(name: str, size: int | None) -> None:
    x, w = (tf.placeholder(tf.float64, [size]) for _ in range(2))
    if size is None and name == "arrays":
        x.set_shape([3])
    n = tf.placeholder(tf.int32, [])
    y = tf.reduce_sum(FUNCTIONS[name](x, w, n))
    found = tf.gradients(y, [x, w], unconnected_gradients="zero")
    with tf.Session() as session:
        for times in (0, 1, 2, 5):
            feeds = {x: X, w: W, n: times}
            for tensor, gradient in zip((x, w), session.run(found, feeds)):
                wanted = _differences(session, y, tensor, feeds)
                np.testing.assert_allclose(gradient, wanted, rtol=1e-5, atol=1e-6)


def _differences(session: Any, y: Any, tensor: Any, feeds: Any) -> np.ndarray:
    at = feeds[tensor]
    found = np.zeros_like(at)
    for index in range(at.size):
        step = np.zeros_like(at)
        step[index] = STEP
        up, down = (session.run(y, {**feeds, tensor: at + sign * step}) for sign in (1, -1))
        found[index] = (up - down) / (2 * STEP)
    return found


@given(times=st.integers(0, 12), at=st.floats(0.5, 1.5), by=st.floats(0.5, 1.5))
def test_a_power(times: int, at: float, by: float) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.placeholder(tf.float64, []), tf.placeholder(tf.float64, [])
        y = loop(times, lambda i, a: a * w, x)
        found = session.run([y, *tf.gradients(y, [x, w])], {x: at, w: by})
    wanted = [at * by**times, by**times, times * at * by ** (times - 1) if times else 0.0]
    np.testing.assert_allclose(found, wanted, rtol=1e-10)


def test_second_order_through_branches() -> None:
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float64, [3])
    y = tf.cond(p, lambda: x * x * x, lambda: tf.exp(x))
    first = tf.gradients(y, x)[0]
    second = tf.gradients(first, x)[0]
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(second, {p: True, x: X}), 6 * X)
        np.testing.assert_allclose(session.run(second, {p: False, x: X}), np.exp(X))


def test_second_order_through_loops_is_refused() -> None:
    x, w = tf.placeholder(tf.float64, [3]), tf.placeholder(tf.float64, [3])
    first = tf.gradients(loop(3, lambda i, a: a * w, x), x)[0]
    with pytest.raises(TypeError, match="Second-order gradient for while loops not supported"):
        tf.gradients(first, w)


@pytest.mark.parametrize("which", ["foldl", "inner gradient", "beside another path"])
def test_second_order_by_what_a_loop_keeps_is_refused(which: str) -> None:
    """TensorFlow gives None, or a sum that lacks the part."""
    x, w = tf.placeholder(tf.float64, [3]), tf.placeholder(tf.float64, [3])
    if which == "inner gradient":
        y = loop(2, lambda i, a: tf.gradients(a * a * w * x, a)[0], x)
    else:
        y = tf.foldl(lambda a, e: a * e * w[0], x)
    (first,) = tf.gradients(y, w)
    if which == "beside another path":
        first = first + w * w
    with pytest.raises(TypeError, match="Second-order gradient for while loops not supported"):
        tf.gradients(first, w)
    (outside,) = tf.gradients(tf.stop_gradient(first) * w, w)
    (constant,) = tf.gradients(first + w, w, stop_gradients=[first])
    (again,) = tf.gradients(y, w)
    with tf.Session() as session:
        feeds = {x: X, w: X + 1}
        before, alone, ones, after = session.run([first, outside, constant, again], feeds)
    np.testing.assert_allclose(alone, before)
    np.testing.assert_allclose(ones, np.ones(3))
    assert after.shape == (3,)


def test_a_loop_without_back_prop_has_no_gradient() -> None:
    x = tf.placeholder(tf.float64, [3])
    y = loop(3, lambda i, a: a * 2.0, x, back_prop=False)
    assert tf.gradients(y, x) == [None]
    with tf.Session() as session:
        assert session.run(tf.gradients(y + x, x), {x: X})[0].tolist() == [1.0, 1.0, 1.0]


def test_stopped_gradients_inside() -> None:
    x = tf.placeholder(tf.float64, [3])
    y = loop(4, lambda i, a: tf.stop_gradient(a) * x, x)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(tf.gradients(y, x), {x: X})[0], X**4)


def test_given_gradients_go_into_the_loop() -> None:
    x, grad = tf.placeholder(tf.float64, [3]), tf.placeholder(tf.float64, [3])
    y = loop(3, lambda i, a: a * 2.0, x)
    with tf.Session() as session:
        found = session.run(tf.gradients(y, x, grad_ys=grad), {x: X, grad: W})
    np.testing.assert_allclose(found[0], 8 * W)


def test_through_the_first_value_of_a_loop_that_is_being_made() -> None:
    x = tf.placeholder(tf.float64, [3])
    with pytest.raises(ValueError, match="through the initial value of a loop variable"):
        loop(3, lambda i, a: tf.gradients(a * a * x, x)[0], x)


def test_a_gradient_of_a_loop_inside_of_a_body() -> None:
    x, w = tf.placeholder(tf.float64, [3]), tf.placeholder(tf.float64, [3])
    y = loop(4, lambda i, a: a + tf.gradients(loop(3, lambda j, b: b * w, a), a)[0], x)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(y, {x: X, w: W}), X + 4 * W**3)


def test_a_gradient_inside_of_a_branch() -> None:
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float64, [3])
    y = tf.cond(p, lambda: tf.gradients(tf.sin(x) * x, x)[0], lambda: x)
    with tf.Session() as session:
        found = session.run(y, {p: True, x: X})
        np.testing.assert_allclose(found, np.cos(X) * X + np.sin(X))
        np.testing.assert_allclose(session.run(y, {p: False, x: X}), X)


def test_a_gradient_inside_of_a_branch_through_a_loop_outside() -> None:
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float64, [3])
    y = loop(3, lambda i, a: a * x, x)
    z = tf.cond(p, lambda: tf.gradients(y, x)[0], lambda: x)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(z, {p: True, x: X}), 4 * X**3)
        np.testing.assert_allclose(session.run(z, {p: False, x: X}), X)


def test_variables_in_a_loop() -> None:
    w = tf.Variable(np.array([[0.5, 0.1], [-0.2, 0.3]]))
    b = tf.Variable(np.array([0.1, -0.1]))
    x = tf.placeholder(tf.float64, [None, 2])
    y = tf.reduce_sum(loop(4, lambda i, a: tf.tanh(tf.matmul(a, w) + b), x))
    found = tf.gradients(y, [w, b])
    at = np.array([[0.3, 0.4], [1.0, -1.0], [0.2, 0.0]])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        gradients = session.run(found, {x: at})
        for variable, gradient in zip((w, b), gradients):
            value = session.run(variable)
            wanted = np.zeros_like(value)
            for index in np.ndindex(value.shape):
                ends = []
                for sign in (1, -1):
                    moved = value.copy()
                    moved[index] += sign * STEP
                    variable.load(moved, session)
                    ends.append(session.run(y, {x: at}))
                wanted[index] = (ends[0] - ends[1]) / (2 * STEP)
            variable.load(value, session)
            np.testing.assert_allclose(gradient, wanted, rtol=1e-5, atol=1e-8)


def kept(graph: tf.Graph) -> list[str]:
    """Return the tensors of forward loops that backward loops wait for."""
    waited = {each for op in graph.get_operations() for each in op.control_inputs}
    return [
        op.inputs[1].op.name
        for op in graph.get_operations()
        if op.type == "StackPushV2" and op in waited
    ]


def test_constants_and_invariants_are_not_kept(graph: tf.Graph) -> None:
    x, w = tf.placeholder(tf.float64, [3]), tf.placeholder(tf.float64, [3])
    y = loop(3, lambda i, a: a * 2.0 * w + tf.constant(1.0, tf.float64), x)
    tf.gradients(y, x)
    assert kept(graph) == []


def test_what_only_the_gradient_at_a_constant_needs_is_not_kept() -> None:
    """TensorFlow keeps it."""
    x, w = tf.placeholder(tf.float64, [3]), tf.placeholder(tf.float64, [3])
    y = loop(3, lambda i, a: tf.sin(a) * 2.0 * w, x)
    found = tf.gradients(y, x)
    assert kept(x.graph) == ["while/Identity_1"]  # the sine's operand
    with tf.Session() as session:
        values = session.run([y, *found], {x: X, w: W})
    wanted, slope = X, np.ones(3)
    for _ in range(3):
        wanted, slope = np.sin(wanted) * 2 * W, slope * np.cos(wanted) * 2 * W
    np.testing.assert_allclose(values, [wanted, slope])


def test_known_shapes_are_not_kept(graph: tf.Graph) -> None:
    x, b = tf.placeholder(tf.float64, [3, 2]), tf.placeholder(tf.float64, [2])
    y = loop(3, lambda i, a: tf.reduce_sum(a) + a + b, x)
    tf.gradients(y, [x, b])
    assert kept(graph) == []


def test_of_an_open_shape_the_shape_is_kept_and_not_the_tensor(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float64, [None])
    tf.gradients(loop(3, lambda i, a: tf.reduce_sum(a) + a, x), x)
    names = kept(graph)
    assert names
    assert all(graph.get_operation_by_name(name).type == "Shape" for name in names)


def test_what_is_used_twice_is_kept_once(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float64, [3])
    tf.gradients(loop(3, lambda i, a: a * a * a, x), x)
    assert len(kept(graph)) == len(set(kept(graph))) == 2  # a and a * a


def test_through_raw_switches_and_merges() -> None:
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float64, [3])
    sides = tf.raw_ops.Switch(x, p)
    merged = tf.raw_ops.Merge([tf.exp(sides.output_false), tf.square(sides.output_true)])
    found = tf.gradients(merged.output, x)[0]
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(found, {p: True, x: X}), 2 * X)
        np.testing.assert_allclose(session.run(found, {p: False, x: X}), np.exp(X))


def test_a_raw_loop_has_no_gradient() -> None:
    x = tf.placeholder(tf.float64, [])
    left = tf.raw_ops.Exit(tf.raw_ops.Enter(x, frame_name="loop"))
    with pytest.raises(LookupError, match=r"'Exit' .*its loop was not made by tf.while_loop"):
        tf.gradients(left, x)


@pytest.mark.parametrize("how", [{"gate_gradients": True}, {"colocate_gradients_with_ops": True}])
def test_gated_and_colocated_gradients(how: dict[str, bool]) -> None:
    x, w = tf.placeholder(tf.float64, [3]), tf.placeholder(tf.float64, [3])
    y = loop(3, lambda i, a: tf.cond(even(i), lambda: a * w, lambda: a + w), x)
    with tf.Session() as session:
        found = session.run(tf.gradients(y, [x, w], **how), {x: X, w: W})
    np.testing.assert_allclose(found, [W * W, 2 * X * W + 2 * W])


def test_the_initial_value_of_a_loop_that_is_being_made_is_named() -> None:
    x = tf.placeholder(tf.float64, [3], name="x")
    with pytest.raises(ValueError, match=r"inside while loop with respect to op 'x'\. We do not"):
        loop(3, lambda i, a: tf.gradients(a * a, x)[0], x)


def test_what_branches_of_other_devices_keep_for_the_gradient() -> None:
    """The stack of a loop in branches of a loop makes stacks of the branches' predicates.

    They are colocated with both, as in TensorFlow, which refuses devices that differ too.
    """
    x = tf.placeholder(tf.float64, [])

    def branches(i: Any, a: Any) -> Any:
        with tf.device("/cpu:0"):
            return tf.cond(a > 10.0, lambda: a + 0.0, lambda: inner(a))

    def inner(a: Any) -> Any:
        with tf.device("/gpu:1"):
            return tf.cond(a > 50.0, lambda: tf.identity(a), lambda: loop(2, lambda j, b: b * b, a))

    with tf.device("/gpu:0"):
        y = loop(2, branches, x)
    gradients = tf.gradients(y, x)
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(virtual_gpus=2))
    with tf.Session(config=config) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="was colocated with a group"):
            session.run(gradients, {x: 1.1})
    config.allow_soft_placement = True
    with tf.Session(config=config) as session:
        np.testing.assert_allclose(session.run(gradients, {x: 1.1}), [16 * 1.1**15])


def test_what_waits_for_a_loop_has_gradients_of_it():
    weight = tf.Variable(0.5)
    average = tf.Variable(0.0)
    _, result = tf.while_loop(lambda t, h: t < 3, lambda t, h: (t + 1, h * weight), [0, 2.0])
    with tf.control_dependencies([tf.assign(average, result)]):
        gradient = tf.gradients(result, weight)[0]
        second = tf.gradients(result * result, weight)[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([gradient, second, average]) == [1.5, 0.75, 0.25]
