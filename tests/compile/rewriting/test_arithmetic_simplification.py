"""Cancel: inverse or neutral ops become views, only where no bit can differ."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as arrays

import gpugraph as tf
from gpugraph.compile.rewriting.arithmetic_simplification import LARGEST_NEUTRAL
from gpugraph.ops.framework.op_declaration import raw_ops

from ..stages import compiled, make_target, node, run, types


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def fed(shape, dtype=tf.float32, name="x"):
    return tf.placeholder(dtype, shape, name=name)


def after(fetches, feeds):
    return compiled(fetches, feeds, upto="arithmetic_simplification")


def plain():
    """Return a target that simplifies nothing."""
    options = tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0)
    config = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=options))
    return make_target()._replace(config=config)


def the_same_bits(fetches, feeds):
    for one, other in zip(run(fetches, feeds), run(fetches, feeds, plain())):
        one, other = np.asarray(one), np.asarray(other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes()


# Shapes


def test_views_of_views_are_one_reshape():
    x = fed((2, 6))
    flat = tf.reshape(x, [12], name="flat")
    y = tf.expand_dims(tf.squeeze(tf.reshape(flat, [3, 1, 4]), [1]), 0, name="y")
    unit = after([y], {x: (2, 6)})
    assert types(unit) == ["Const", "Reshape"]
    the_same_bits([y], {x: np.arange(12).reshape(2, 6)})


def test_there_and_back_is_an_identity():
    x = fed((2, 6))
    y = tf.reshape(tf.reshape(x, [12]), [2, 6], name="y")
    unit = after([y], {x: (2, 6)})
    assert types(unit) == ["Identity"]
    assert unit.reports[-1].lines == ["y: Reshape of Reshape Reshape"]


def test_a_reshape_that_may_fail_in_a_run_stays():
    x = fed((None,))
    y = tf.reshape(tf.reshape(x, [-1, 2], name="pairs"), [-1], name="y")
    assert types(after([y], {x: (None,)})).count("Reshape") == 2
    sizes = fed((2,), tf.int32, "sizes")
    z = tf.reshape(tf.reshape(x, sizes), [4])
    assert types(after([z], {x: (4,), sizes: (2,)})).count("Reshape") == 2
    with pytest.raises(tf.errors.InvalidArgumentError), tf.Session() as session:
        session.run(z, {x: np.ones(4), sizes: [3, 3]})


# Dtypes

NUMBERS = [
    tf.bool, tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.uint32, tf.int64, tf.uint64,
    tf.float16, tf.float32, tf.float64, tf.complex64, tf.complex128,
]  # fmt: skip
LOSSLESS = [
    (tf.int32, tf.float64, tf.float32),
    (tf.float16, tf.float32, tf.float16),
    (tf.float32, tf.float64, tf.float32),
    (tf.int8, tf.int32, tf.int8),
    (tf.bool, tf.float32, tf.int32),
    (tf.float32, tf.complex64, tf.float32),
    (tf.uint8, tf.float16, tf.float32),
    (tf.int32, tf.int64, tf.float32),
]
LOSING = [
    (tf.float32, tf.int32, tf.float32),
    (tf.float64, tf.float32, tf.float64),
    (tf.int32, tf.float32, tf.int32),
    (tf.int64, tf.float64, tf.int64),
    (tf.int32, tf.float64, tf.int8),  # values out of range wrap differently
    (tf.float32, tf.float64, tf.int32),  # a NaN is another int
    (tf.int8, tf.uint8, tf.int32),
    (tf.complex64, tf.float32, tf.complex64),
    (tf.int32, tf.int64, tf.bool),
]


@pytest.mark.parametrize("dtypes", LOSSLESS, ids=str)
def test_a_cast_of_a_lossless_cast_is_one(dtypes):
    value, between, result = dtypes
    x = fed((3,), value)
    y = tf.cast(tf.cast(x, between), result, name="y")
    unit = after([y], {x: (3,)})
    assert types(unit) == ["Identity" if result is value else "Cast"]
    the_same_bits([y], {x: [0, 1, 100]})


@pytest.mark.parametrize("dtypes", LOSING, ids=str)
def test_a_cast_that_loses_something_stays(dtypes):
    value, between, result = dtypes
    x = fed((3,), value)
    y = tf.cast(tf.cast(x, between), result, name="y")
    assert types(after([y], {x: (3,)})) == ["Cast", "Cast"]


@settings(max_examples=300)
@given(st.data())
def test_no_bit_of_any_two_casts_differs(data):
    given_type, between, result = (data.draw(st.sampled_from(NUMBERS)) for _ in range(3))
    values = data.draw(arrays.arrays(given_type.as_numpy_dtype, 4))
    quiet = np.array([0x7FC00000, 0xFFC00000], np.uint32).view(np.float32)
    if values.dtype.kind == "f":  # any NaN, but quiet ones: arithmetic makes no others
        values = np.where(np.isnan(values), quiet.astype(values.dtype)[0], values)
    if values.dtype.kind == "c":
        values = np.where(np.isnan(values), 0, values).astype(values.dtype)
    with tf.Graph().as_default():
        x = fed((4,), given_type)
        the_same_bits([tf.cast(tf.cast(x, between), result)], {x: values})


# Numbers


@pytest.mark.parametrize(
    ("make", "dtype"),
    [(tf.negative, tf.float32), (tf.logical_not, tf.bool), (tf.conj, tf.complex64)],
)
def test_an_op_that_undoes_itself(make, dtype):
    x = fed((3,), dtype)
    y = make(tf.identity(make(x)), name="y")
    assert types(after([y], {x: (3,)})) == ["Identity"]
    the_same_bits([y], {x: [0, 1, 1]})
    assert len(types(after([make(make(make(x)))], {x: (3,)}))) == 2  # one of three, and a view


F, I = tf.float32, tf.int32  # noqa: E741
NEUTRAL = {
    "x * 1.0": (F, lambda x: x * 1.0),
    "1.0 * x": (F, lambda x: 1.0 * x),
    "x / 1.0": (F, lambda x: x / 1.0),
    "x - 0.0": (F, lambda x: x - 0.0),
    "x + -0.0": (F, lambda x: x + -0.0),
    "-0.0 + x": (F, lambda x: tf.add(-0.0, x)),
    "x * ones": (F, lambda x: x * np.ones((1, 3), np.float32)),
    "x * 1": (I, lambda x: x * 1),
    "x + 0": (I, lambda x: x + 0),
    "x - 0": (I, lambda x: x - 0),
    "x // 1": (I, lambda x: x // 1),
    "div(x, 1)": (I, lambda x: tf.div(x, 1)),
    "truncatediv(x, 1)": (I, lambda x: tf.truncatediv(x, 1)),
}
KEPT = {
    "x + 0.0": (F, lambda x: x + 0.0),  # -0.0 becomes 0.0
    "0.0 + x": (F, lambda x: 0.0 + x),
    "x - -0.0": (F, lambda x: x - -0.0),
    "0.0 - x": (F, lambda x: 0.0 - x),
    "1.0 / x": (F, lambda x: 1.0 / x),
    "x // 1.0": (F, lambda x: x // 1.0),
    "x * 0.0": (F, lambda x: x * 0.0),
    "x * -1.0": (F, lambda x: x * -1.0),
    "x * mixed": (F, lambda x: x * np.array([1, 1, 2], np.float32)),
    "0 - x": (I, lambda x: 0 - x),
    "x of another shape": (F, lambda x: x * np.ones((2, 2, 3), np.float32)),
    "complex": (tf.complex64, lambda x: x * 1.0),  # inf * 1 has a NaN in it
}
ODD = np.array([[0.0, -0.0, np.inf], [-np.inf, np.nan, 1e-45]], np.float32)


@pytest.mark.parametrize("what", NEUTRAL)
def test_a_neutral_number_is_left_out(what):
    dtype, make = NEUTRAL[what]
    x = fed((2, 3), dtype)
    y = make(x)
    unit = after([y], {x: (2, 3)})
    assert types(unit) == ["Identity"]
    assert node(unit, y.op.name).type == "Identity"
    values = ODD if dtype is F else np.array([[0, 1, -1], [7, 2**31 - 1, -(2**31)]])
    the_same_bits([y], {x: values})


@pytest.mark.parametrize("what", KEPT)
def test_what_is_not_neutral_for_every_x_stays(what):
    dtype, make = KEPT[what]
    x = fed((2, 3), dtype)
    y = make(x)
    assert node(after([y], {x: (2, 3)}), y.op.name).type == y.op.type
    the_same_bits([y], {x: ODD if dtype is not I else np.arange(6).reshape(2, 3)})


def test_ones_that_may_repeat_x_or_are_many_stay():
    x = fed((None, 3))
    y = tf.multiply(x, np.ones((2, 3), np.float32), name="y")
    assert node(after([y], {x: (None, 3)}), "y").type == "Mul"
    wide = fed((LARGEST_NEUTRAL + 1,), name="wide")
    z = tf.multiply(wide, np.ones(LARGEST_NEUTRAL + 1, np.float32), name="z")
    assert node(after([z], {wide: (LARGEST_NEUTRAL + 1,)}), "z").type == "Mul"


def test_a_variable_is_read_when_the_op_runs():
    v = tf.Variable([1.0, 2.0], name="v")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = raw_ops.Mul(v._ref(), 1.0)
        with tf.control_dependencies([before]):
            written = tf.assign_add(v, [1.0, 1.0])
        with tf.control_dependencies([written]):
            later = raw_ops.Neg(raw_ops.Neg(v._ref()))
        a, b = session.run([before, later])
    assert (a.tolist(), b.tolist()) == ([1.0, 2.0], [2.0, 3.0])


def test_what_was_waited_for_is_waited_for():
    x = fed((3,))
    v = tf.Variable(1.0, name="v")
    with tf.control_dependencies([tf.assign(v, 2.0, name="written")]):
        one, there = tf.constant(1.0), tf.negative(x)
    unit = after([tf.multiply(x, one, name="y"), tf.negative(there, name="z")], {x: (3,)})
    assert [each.name for each in node(unit, "y").control_inputs] == ["written"]
    assert [each.name for each in node(unit, "z").control_inputs] == ["written"]


def test_a_number_from_before_a_branch_or_a_loop():
    one, x, n = tf.constant(1.0), fed(()), fed((), tf.int32, "n")
    y = tf.cond(n > 1, lambda: tf.constant(2.0) * one, lambda: x * one)
    loop = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * one + 1.0), [0, x])[1]
    for count in (0, 3):
        the_same_bits([y, loop], {x: 5.0, n: count})
    assert run([y, loop], {x: 5.0, n: 3}) == [2.0, 8.0]


# Powers


POWERS = {1: "Identity", 2: "Square", 3: "Mul", -1: "Reciprocal", 0.5: "Sqrt", -0.5: "Rsqrt"}


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64, tf.int32])
@pytest.mark.parametrize("exponent", POWERS)
def test_a_power_with_a_constant_exponent(exponent, dtype):
    if dtype.is_integer and exponent not in (1, 2, 3):
        return
    x = fed((2, 4), dtype)
    y = tf.pow(x, tf.constant(exponent, dtype))
    stays = dtype is tf.float16 and exponent == 3
    found_type = node(after([y], {x: (2, 4)}), y.op.name).type
    assert found_type == ("Pow" if stays else POWERS[exponent])
    values = np.array([[0.5, 1, 2, 3], [7, 10, 8, 5]], dtype.as_numpy_dtype)
    expected = values.astype("f8") ** exponent
    (found,) = run([y], {x: values})
    unit = 0 if dtype.is_integer else np.finfo(values.dtype).eps
    np.testing.assert_allclose(found, expected, rtol=unit)


def test_powers_that_stay():
    x, unknown = fed((3,)), fed((), name="unknown")
    for exponent in (4.0, 0.0, unknown, np.array([2, 2, 3], "f"), np.full((2, 3), 2, "f")):
        y = tf.pow(x, exponent)
        feeds = {x: (3,), **({unknown: ()} if exponent is unknown else {})}
        assert "Pow" in types(after([y], feeds))
    counts = fed((3,), tf.complex64, "counts")
    assert "Pow" in types(after([counts**2], {counts: (3,)}))
