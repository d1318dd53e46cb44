"""Common: equal computations are done once, and nothing else is merged."""

from __future__ import annotations

import cProfile
import pstats

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.compile.rewriting.common_subexpression_elimination import common

from ..stages import compiled, make_target, node, run, types


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def fed(name="x", shape=(3,), dtype=tf.float32):
    return tf.placeholder(dtype, shape, name=name)


def after(fetches, feeds=None, **kwargs):
    return compiled(fetches, feeds, upto="common_subexpression_elimination", **kwargs)


def count(unit, op_type):
    return types(unit).count(op_type)


def test_the_same_op_of_the_same_input_runs_once():
    x = fed()
    one, two = tf.tanh(x, name="one"), tf.tanh(x, name="two")
    y = tf.add(tf.exp(one, name="e"), tf.exp(two, name="f"), name="y")
    unit = after([y], {x: (3,)})
    assert types(unit) == ["Add", "Exp", "Tanh"]
    assert unit.reports[-1].lines == ["two: as one", "f: as e"]
    value = np.array([0.1, -2.0, 3.0], np.float32)
    np.testing.assert_array_equal(run([y], {x: value})[0], np.exp(np.tanh(value)) * 2)


def test_explain_still_knows_the_op_that_is_gone_and_its_device():
    x = fed()
    one, two = tf.tanh(x, name="one"), tf.tanh(x, name="two")
    with tf.Session() as session:
        explanation = session.explain(one + two, {x: np.ones(3, np.float32)})
    assert explanation.device_of("two") == explanation.device_of("one")
    (line,) = [op for op in explanation.placed if op.name == "two"]
    assert (line.op_type, line.mode) == ("Tanh", "the same as one")


def test_both_of_two_equal_fetches_and_targets_are_served():
    x = fed()
    one, two = tf.tanh(x, name="one"), tf.tanh(x, name="two")
    unit = after([one, two, two.op], {x: (3,)})
    assert count(unit, "Tanh") == 1
    assert unit.roots[2:] == [node(unit, "one")]
    with tf.Session() as session:
        a, b = session.run([one, two], {x: [0.5, 1.0, 2.0]})
        assert session.run(two.op, {x: [0.5, 1.0, 2.0]}) is None
    np.testing.assert_array_equal(a, b)
    assert a is not b and not np.shares_memory(a, b)


def test_one_of_them_may_be_fed():
    x = fed()
    one, two = tf.tanh(x), tf.tanh(x)
    with tf.Session() as session:
        a, b, c = session.run([one, two, two * 2.0], {x: [0.0, 0.0, 0.0], two: [1.0, 2.0, 3.0]})
    assert (a.tolist(), b.tolist(), c.tolist()) == ([0, 0, 0], [1, 2, 3], [2, 4, 6])


@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        (tf.multiply, tf.float32),
        (lambda x, y: x + y, tf.float32),
        (tf.equal, tf.float32),
        (tf.logical_and, tf.bool),
        (lambda x, y: tf.add_n([x, y]), tf.float32),
    ],
)
def test_operands_of_commutative_ops_count_in_either_order(op, dtype):
    x, y = fed("x", dtype=dtype), fed("y", dtype=dtype)
    assert len(types(after([op(x, y), op(y, x)], {x: (3,), y: (3,)}))) == 1


def _sine(x):
    return tf.py_func(np.sin, [x], tf.float32, stateful=False)


def of(op_type, make):
    return pytest.param(op_type, make, id=op_type)


@pytest.mark.parametrize(
    ("op_type", "make"),
    [
        of("Sub", lambda x, y: (x - y, y - x)),
        of("Maximum", lambda x, y: (tf.maximum(x, y), tf.maximum(y, x))),  # of 0.0 and -0.0
        of("Cast", lambda x, y: (tf.cast(x, tf.int32), tf.cast(x, tf.int64))),
        of("Tanh", lambda x, y: (tf.tanh(x), tf.tanh(y))),
        of("AddN", lambda x, y: (tf.add_n([x, y, x]), tf.add_n([x, x, y]))),
        of("Mul", lambda x, y: (x * 0.0, x * -0.0)),
        of("RandomUniform", lambda x, y: tuple(tf.random_uniform([3], seed=1) for _ in "ab")),
        of("PyFunc", lambda x, y: tuple(tf.py_func(np.sin, [x], tf.float32) for _ in "ab")),
        of("PyFuncStateless", lambda x, y: tuple(_sine(x) for _ in "ab")),
    ],
)
def test_what_differs_or_is_more_than_its_outputs_stays(op_type, make):
    x, y = fed("x"), fed("y")
    assert count(after(list(make(x, y)), {x: (3,), y: (3,)}), op_type) == 2


def test_complex_products_keep_their_order():
    x, y = fed("x", dtype=tf.complex64), fed("y", dtype=tf.complex64)
    assert count(after([x * y, y * x], {x: (3,), y: (3,)}), "Mul") == 2


def test_equal_constants_are_one_up_to_a_size():
    x = fed(shape=(300,))
    small = [tf.constant([1.5], name=name) for name in "ab"]
    large = [tf.constant(np.full(300, 3.0, np.float32), name=name) for name in "cd"]
    y = [x * item for item in (*small, *large)]
    assert count(after([tf.tanh(item) for item in y], {x: (300,)}), "Const") == 3


def test_constants_are_told_apart_by_their_bits_and_dtypes():
    with np.errstate(invalid="ignore"):
        nans = np.array([0x7FC00000, 0xFFC00000], np.uint32).view(np.float32)
    values = [0.0, -0.0, *nans, 1, 1.0, True, np.float64(1), [1.0], [[1.0]], "1", "2"]
    made = [tf.identity(tf.constant(value)) for value in values]
    assert count(after(made), "Const") == len(values)
    for tensor, answer in zip(made, run(made)):
        value = tensor.op.inputs[0].op.attrs["value"]
        assert np.asarray(answer).tolist() == value.tolist() or np.isnan(value)
        assert value.dtype == object or np.asarray(answer).tobytes() == value.tobytes()


def test_constants_of_equal_strings_are_one():
    values = [tf.identity(tf.constant(["a", "b"])) for _ in range(2)]
    assert count(after(values), "Const") == 1


def test_control_inputs_must_agree():
    x = fed()
    v = tf.Variable(1.0, name="v")
    with tf.control_dependencies([tf.assign(v, 2.0, name="written")]):
        later, again = tf.tanh(x, name="later"), tf.tanh(x, name="again")
    unit = after([tf.tanh(x, name="now"), later, again], {x: (3,)})
    assert count(unit, "Tanh") == 2
    assert unit.reports[-1].lines == ["again: as later"]


def test_what_waited_for_the_op_that_is_gone_waits_for_the_other():
    x = fed()
    one, two = tf.tanh(x, name="one"), tf.tanh(x, name="two")
    with tf.control_dependencies([two]):
        waiting = tf.exp(x, name="waiting")
    unit = after([one, waiting], {x: (3,)})
    assert [each.name for each in node(unit, "waiting").control_inputs] == ["one"]


def test_devices_must_agree():
    x = fed()
    values = []
    for device in ("/cpu:0", "/gpu:0", "/gpu:0", None):
        with tf.device(device):
            values.append(tf.tanh(x))
    assert count(after(values, {x: (3,)}, target=make_target(gpus=1)), "Tanh") == 3


def test_with_whom_they_are_colocated_must_agree_and_leaders_stay():
    x = fed()
    one, two = tf.tanh(x, name="one"), tf.tanh(x, name="two")
    with tf.colocate_with(two):
        near, too = tf.exp(x, name="near"), tf.exp(x, name="too")
    far = tf.exp(x, name="far")
    unit = after([one, two, near, too, far], {x: (3,)})
    assert (count(unit, "Tanh"), count(unit, "Exp")) == (2, 2)
    assert unit.reports[-1].lines == ["too: as near"]


def test_reads_of_variables_before_and_after_a_write_are_two():
    v = tf.Variable([1.0, 2.0], name="v")
    before = tf.tanh(v.read_value())
    with tf.control_dependencies([before]):
        written = tf.assign_add(v, [1.0, 1.0])
    with tf.control_dependencies([written]):
        later = tf.tanh(v.read_value())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        a, b = session.run([before, later])
    np.testing.assert_array_equal(a, np.tanh(np.array([1, 2], np.float32)))
    np.testing.assert_array_equal(b, np.tanh(np.array([2, 3], np.float32)))


def test_an_identity_is_looked_through_and_stays():
    x = fed()
    y = tf.tanh(x, name="y") + tf.tanh(tf.identity(tf.identity(x)), name="z")
    unit = after([y], {x: (3,)})
    assert count(unit, "Tanh") == 1


def test_both_branches_of_a_cond_keep_what_they_do():
    p, x = tf.placeholder(tf.bool, []), fed(shape=())
    y = tf.cond(p, lambda: tf.tanh(x) + 1.0, lambda: tf.tanh(x) - 1.0)
    assert count(after([y], {p: (), x: ()}), "Tanh") == 2
    with tf.Session() as session:
        assert session.run(y, {p: True, x: 0.0}) == 1.0
        assert session.run(y, {p: False, x: 0.0}) == -1.0


def test_in_a_loop_what_is_twice_in_the_body_is_done_once():
    n = tf.placeholder(tf.int32, [])
    loop = tf.while_loop(
        lambda i, a: i < n, lambda i, a: (i + 1, tf.tanh(a) + tf.tanh(a)), [0, 1.0]
    )
    assert count(after([loop[1]], {n: ()}), "Tanh") == 1
    expected = np.float32(1)
    for _ in range(3):
        expected = np.tanh(expected) * 2
    assert run([loop[1]], {n: 3})[0] == expected


def test_an_error_names_an_op_of_the_program():
    x = fed(dtype=tf.int32)
    one, two = tf.floordiv(1, x, name="one"), tf.floordiv(1, x, name="two")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="one"):
        session.run(two + one, {x: [1, 0, 2]})


def test_a_stack_or_an_array_is_not_shared():
    arrays = [tf.TensorArray(tf.float32, 1).write(0, 2.0).read(0) for _ in range(2)]
    assert run([arrays[0] + arrays[1]])[0] == 4.0
    unit = after([arrays[0] + arrays[1]])
    assert count(unit, "TensorArrayV3") == 2
    assert count(unit, "TensorArrayReadV3") == 2


def test_attrs_must_agree():
    x = fed()
    values = [tf.nn.leaky_relu(x, item) for item in (0.2, 0.2, 0.3)]
    assert count(after(values, {x: (3,)}), "LeakyRelu") == 2


def test_its_work_grows_with_the_graph_however_much_is_alike():
    def calls(n):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [])
            same = [tf.exp(x) for _ in range(n)]
            alike = [tf.exp(x * float(i)) for i in range(n)]
            by_attrs = [tf.nn.leaky_relu(x, float(i)) for i in range(n)]
            unit = compiled([*same, *alike, *by_attrs], {x: ()}, upto="arithmetic_simplification")
        profile = cProfile.Profile()
        profile.runcall(common, unit)
        assert len(unit.reports[-1].lines) == n  # x * 1.0 is x
        return pstats.Stats(profile).total_calls

    assert calls(600) < 12 * calls(60)
