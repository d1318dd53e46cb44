"""Transposes: products take them over, some cancel, some move nothing."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf

from ..stages import compiled, make_plan, node, run, types


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def fed(shape, dtype=tf.float32, name="x"):
    return tf.placeholder(dtype, shape, name=name)


def after(fetches, feeds):
    return compiled(fetches, feeds, upto="transpose_folding")


def numbers(shape, dtype=np.float32):
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


@pytest.mark.parametrize("flags", [(a, b) for a in (False, True) for b in (False, True)])
@pytest.mark.parametrize("turned", [(1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_a_product_transposes_by_its_own_flags(flags, turned, batch):
    a_shape = (*batch, 4, 3) if flags[0] ^ turned[0] else (*batch, 3, 4)
    b_shape = (*batch, 5, 4) if flags[1] ^ turned[1] else (*batch, 4, 5)
    a, b = fed(a_shape, name="a"), fed(b_shape, name="b")
    left = tf.matrix_transpose(a) if turned[0] else a
    right = tf.matrix_transpose(b) if turned[1] else b
    y = tf.matmul(left, right, transpose_a=flags[0], transpose_b=flags[1], name="y")
    unit = after([y], {a: a_shape, b: b_shape})
    assert types(unit) == ["BatchMatMulV2" if batch else "MatMul"]
    assert len(unit.reports[-1].lines) == sum(turned)
    x, z = numbers(a_shape), numbers(b_shape)
    value = x.swapaxes(-1, -2) if flags[0] ^ turned[0] else x
    other = z.swapaxes(-1, -2) if flags[1] ^ turned[1] else z
    np.testing.assert_allclose(run([y], {a: x, b: z})[0], value @ other, rtol=1e-5, atol=1e-6)


def test_a_complex_batch_keeps_its_transpose_for_the_flag_says_adjoint():
    x = fed((2, 3, 4), tf.complex64)
    y = tf.matmul(tf.matrix_transpose(x), x)
    assert "Transpose" in types(after([y], {x: (2, 3, 4)}))
    two = fed((3, 4), tf.complex64, "two")
    z = tf.matmul(tf.transpose(two), two)
    assert "Transpose" not in types(after([z], {two: (3, 4)}))
    value = (numbers((3, 4)) + 1j * numbers((3, 4))).astype(np.complex64)
    np.testing.assert_allclose(run([z], {two: value})[0], value.T @ value, rtol=1e-4)


def test_a_transpose_that_others_take_stays_for_them():
    x = fed((3, 4))
    turned = tf.transpose(x, name="turned")
    y = tf.matmul(turned, x, name="y")
    unit = after([y, turned], {x: (3, 4)})
    assert types(unit) == ["Const", "MatMul", "Transpose"]
    assert node(unit, "y").attrs["transpose_a"]


@pytest.mark.parametrize("perm", [(1, 0, 2), (2, 1, 0)])
def test_a_transpose_of_other_axes_is_not_the_products(perm):
    x = fed((3, 3, 3))
    y = tf.matmul(tf.transpose(x, perm), x)
    assert "Transpose" in types(after([y], {x: (3, 3, 3)}))


def test_two_transposes_are_one_and_there_and_back_is_a_view():
    x = fed((2, 3, 4))
    there = tf.transpose(x, [1, 2, 0], name="there")
    y = tf.transpose(there, [2, 1, 0], name="y")
    back = tf.transpose(tf.identity(there), [2, 0, 1], name="back")
    unit = after([y, back], {x: (2, 3, 4)})
    assert types(unit) == ["Const", "Identity", "Transpose"]
    assert unit.reports[-1].lines == ["y: one with there", "back: one with there"]
    value = numbers((2, 3, 4))
    a, b = run([y, back], {x: value})
    np.testing.assert_array_equal(a, value.transpose(1, 2, 0).transpose(2, 1, 0))
    np.testing.assert_array_equal(b, value)


def test_three_in_a_row_and_negative_axes():
    x = fed((2, 3, 4))
    y = x
    for perm in ([-1, 0, 1], [1, 0, 2], [0, -1, -2]):
        y = tf.transpose(y, perm)
    assert types(after([y], {x: (2, 3, 4)})).count("Transpose") <= 1
    value = numbers((2, 3, 4))
    expected = value.transpose(2, 0, 1).transpose(1, 0, 2).transpose(0, 2, 1)
    np.testing.assert_array_equal(run([y], {x: value})[0], expected)


@pytest.mark.parametrize("shape", [(1, 3, 4), (3, 1, 4), (1, 1, 5)])
def test_axes_of_size_1_are_moved_without_moving_elements(shape):
    x = fed(shape)
    y = tf.transpose(x, [1, 0, 2], name="y")
    assert node(after([y], {x: shape}), "y").type == "Reshape"
    assert make_plan([y], {x: shape}).steps == ()
    value = numbers(shape)
    np.testing.assert_array_equal(run([y], {x: value})[0], value.transpose(1, 0, 2))


def test_one_size_may_be_open():
    x = fed((None, 1, 4))
    y = tf.transpose(x, [1, 0, 2], name="y")
    assert node(after([y], {x: (None, 1, 4)}), "y").type == "Reshape"
    wide = fed((None, None, 1), name="wide")
    z = tf.transpose(wide, [2, 0, 1], name="z")
    assert node(after([z], {wide: (None, None, 1)}), "z").type == "Transpose"
    none = fed((None, 1, 0), name="none")
    w = tf.transpose(none, [1, 0, 2], name="w")
    assert node(after([w], {none: (None, 1, 0)}), "w").type == "Transpose"


def test_an_order_known_only_to_the_run_is_left_to_it():
    x, order = fed((3, 4)), fed((2,), tf.int32, "order")
    y = tf.matmul(tf.transpose(x, order), x)
    feeds = {x: (3, 4), order: (2,)}
    assert "Transpose" in types(after([y], feeds))
    np.testing.assert_allclose(
        run([y], {x: np.ones((3, 4)), order: [1, 0]})[0], np.full((4, 4), 3.0)
    )


def test_what_the_transpose_waited_for_the_product_waits_for():
    x = fed((3, 3))
    v = tf.Variable(1.0, name="v")
    with tf.control_dependencies([tf.assign(v, 2.0, name="written")]):
        turned = tf.transpose(x, name="turned")
    unit = after([tf.matmul(turned, x, name="y")], {x: (3, 3)})
    assert [each.name for each in node(unit, "y").control_inputs] == ["written"]


def test_in_a_loop_and_in_a_branch():
    x, n = fed((3, 3)), fed((), tf.int32, "n")
    loop = tf.while_loop(
        lambda i, a: i < n, lambda i, a: (i + 1, tf.matmul(tf.transpose(a), x) / 4.0), [0, x]
    )[1]
    y = tf.cond(n > 1, lambda: tf.matmul(tf.transpose(loop), x), lambda: tf.transpose(x))
    unit = after([y], {x: (3, 3), n: ()})
    assert types(unit).count("Transpose") == 1
    value = numbers((3, 3))
    for count in (0, 1, 3):
        expected = value
        for _ in range(count):
            expected = expected.T @ value / 4
        expected = expected.T @ value if count > 1 else value.T
        answer = run([y], {x: value, n: count})[0]
        np.testing.assert_allclose(answer, expected, rtol=1e-4, atol=1e-6)


def test_explain_still_knows_the_transpose():
    x = fed((3, 4))
    y = tf.matmul(tf.transpose(x, name="turned"), x, name="y")
    with tf.Session() as session:
        explanation = session.explain(y, {x: np.ones((3, 4), np.float32)})
    (line,) = [op for op in explanation.placed if op.name == "turned"]
    assert (line.op_type, line.mode) == ("Transpose", "part of y")
