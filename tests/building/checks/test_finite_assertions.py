"""Checks that tensors are finite: one, those of a gradient, all of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf

Invalid = tf.errors.InvalidArgumentError


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ([np.nan, 1], "NaN"),
        ([[np.inf]], "Inf"),
        (-np.inf, "Inf"),
        ([np.nan, -np.inf], "Inf and NaN"),
    ],
)
def test_what_is_not_finite_is_named(dtype: Any, value: Any, kind: str) -> None:
    x = tf.placeholder(dtype)
    check = tf.check_numerics(x, "the loss")
    with tf.Session() as session:
        with pytest.raises(Invalid, match=f"the loss : Tensor had {kind} values"):
            session.run(check, {x: value})
        assert session.run(check, {x: [1.5]}).tolist() == [1.5]


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_what_waits_for_a_check_does_not_run(device: str) -> None:
    """An op that depends on a failed check does not run, though nothing consumes the check's
    output.
    """
    x = tf.placeholder(tf.float32, [2])
    v = tf.Variable(1.0)
    with tf.device(device):
        check = tf.check_numerics(x * 2.0, "x")
    with tf.control_dependencies([check]):
        change, other = v.assign(2.0), tf.constant(3.0) + 1.0
    options = tf.GPUOptions(virtual_gpus=1)
    with tf.Session(config=tf.ConfigProto(gpu_options=options)) as session:
        session.run(tf.global_variables_initializer())
        for fetch in (change, other):
            with pytest.raises(Invalid, match="x : Tensor had Inf values"):
                session.run(fetch, {x: [1, np.inf]})
        assert session.run(v) == 1.0
        assert session.run([change, other], {x: [1, 2]}) == [2.0, 4.0]


def test_constants_are_checked_in_the_run_too() -> None:
    with tf.control_dependencies([tf.check_numerics(tf.constant(np.nan), "c")]):
        y = tf.constant(1.0) + 1.0
    with tf.Session() as session, pytest.raises(Invalid, match="c : Tensor had NaN values"):
        session.run(y)


def test_checks_within_branches_and_loops() -> None:
    x = tf.placeholder(tf.float32, [])

    def body(i: Any, y: Any) -> Any:
        with tf.control_dependencies([tf.check_numerics(1.0 / (3.0 - y), "step")]):
            return i + 1, y + 1.0

    _, last = tf.while_loop(lambda i, _: i < 4, body, [0, x])
    chosen = tf.cond(x > 0.0, lambda: tf.check_numerics(tf.log(x - 5.0), "log"), lambda: x)
    with tf.Session() as session:
        assert session.run(last, {x: 3.5}) == 7.5
        with pytest.raises(Invalid, match="step : Tensor had Inf values"):
            session.run(last, {x: 1.0})
        assert session.run(chosen, {x: -1.0}) == -1.0
        with pytest.raises(Invalid, match="log : Tensor had NaN values"):
            session.run(chosen, {x: 1.0})


def test_gradient_is_checked() -> None:
    x = tf.placeholder(tf.float32, [2])
    (dx,) = tf.gradients(tf.sqrt(tf.check_numerics(x, "root of")), x)
    assert dx.op.type == "CheckNumerics"
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(dx, {x: [1, 4]}), [0.5, 0.25])
        with pytest.raises(Invalid, match=r"detected in gradient\. root of : Tensor had Inf"):
            session.run(dx, {x: [0, 1]})


def test_only_floats_are_checked() -> None:
    with pytest.raises(TypeError, match="int32 not in list of allowed values: float16, bfloat16"):
        tf.check_numerics(tf.placeholder(tf.int32), "x")


def test_verify_gives_the_tensor(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [1], name="X")
    checked = tf.verify_tensor_all_finite(x, "bad x")
    assert [op.name for op in graph.get_operations()] == [
        "X",
        "VerifyFinite/CheckNumerics",
        "VerifyFinite/control_dependency",
    ]
    with tf.Session() as session:
        assert session.run(checked, {x: [2]}) == [2]
        with pytest.raises(Invalid, match="bad x : Tensor had NaN"):
            session.run(checked, {x: [np.nan]})
    assert tf.debugging.assert_all_finite is tf.verify_tensor_all_finite
    with pytest.raises(ValueError, match="Cannot specify both 't' and 'x'"):
        tf.verify_tensor_all_finite(x, "m", x=x)


def test_all_of_a_graph_is_checked_in_order(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [], name="X")
    tf.exp(tf.log(x, name="l"), name="e")
    tf.placeholder(tf.int32)
    check = tf.add_check_numerics_ops()
    checks = [op for op in graph.get_operations() if op.type == "CheckNumerics"]
    assert [[c.name for c in op.control_inputs] for op in checks] == [
        [],
        ["CheckNumerics"],
        ["CheckNumerics_1"],
    ]
    with tf.Session() as session:
        assert session.run(check, {x: 1}) is None
        with pytest.raises(Invalid, match="l:0 : Tensor had NaN") as caught:
            session.run(check, {x: -1})
    operation = graph.get_operation_by_name("l")
    assert f"CheckNumerics_1 (defined at {operation.origin}" in str(caught.value)


def test_branches_are_not_checked_from_outside() -> None:
    x = tf.placeholder(tf.float32, [])
    tf.cond(x > 0.0, lambda: tf.exp(x), lambda: x)
    with pytest.raises(ValueError, match="not compatible with TensorFlow control flow"):
        tf.add_check_numerics_ops()
