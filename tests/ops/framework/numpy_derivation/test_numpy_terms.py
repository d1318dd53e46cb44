"""NumPy kernels of formulas: values of random formulas, memory, shared outputs, rows."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st

import gpugraph as tf
from gpugraph.ops.framework.numpy_derivation.numpy_terms import (
    numpy_elementwise,
    numpy_kernel,
    numpy_rows,
)
from gpugraph.ops.reductions.reduction_ops import MAX, SUM


def context(num_outputs: int = 1, dtype: tf.DType = tf.float32) -> SimpleNamespace:
    """Return a context that counts the elements of its scratch memory."""

    def scratch(shape, dtype):
        array = np.full(shape, 3, dtype.as_numpy_dtype)
        made.scratched.append(array.size)
        return array

    made = SimpleNamespace(
        attrs={}, input_types=[dtype], output_types=[dtype] * num_outputs, scratch=scratch
    )
    made.scratched = []
    return made


LEAVES = st.sampled_from(["x", "y", "z", "(T)2", "(T)0.5", "(T)0"])


def combined(parts):
    pairs = st.tuples(parts, st.sampled_from("+-*"), parts)
    choices = st.tuples(parts, st.sampled_from(["<", ">=", "=="]), parts, parts, parts)
    return st.one_of(
        pairs.map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        parts.map(lambda p: f"rounded(fabs({p}))"),
        parts.map(lambda p: f"-({p})"),
        choices.map(lambda p: f"({p[0]} {p[1]} {p[2]} ? {p[3]} : {p[4]})"),
    )


def reference(expression: str, *arrays: np.ndarray) -> np.ndarray:
    """Evaluate an expression by NumPy on whole arrays, without any reuse of memory."""
    kernel = numpy_elementwise(expression)
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    flat = [np.broadcast_to(array, shape).reshape(-1) for array in arrays]
    results = []
    for elements in zip(*flat, strict=True):
        out = np.empty((), np.float32)
        kernel.bind(context(), [*(np.array(element) for element in elements), out])()
        results.append(out)
    return np.array(results, np.float32).reshape(shape)


@given(st.recursive(LEAVES, combined, max_leaves=12), st.integers(0, 2), st.booleans())
def test_arrays_get_the_values_of_their_elements(expression, shared, is_large) -> None:
    """Also if the output has the memory of an input."""
    random = np.random.default_rng(0)
    arrays = [random.integers(-3, 4, (3, 4)).astype(np.float32) for _ in range(3)]
    expected = reference(expression, *arrays)
    if is_large:  # choices of bits
        arrays = [np.tile(array, (16, 60)) for array in arrays]
        expected = np.tile(expected, (16, 60))
    out = arrays[shared]
    numpy_elementwise(expression).bind(context(), [*arrays, out])()
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("x < (T)0 ? x * y : x + z", -20.0),
        ("-(x * y) / (z - (T)1)", 20 / 29),
        ("x * (T)(y > (T)0 && z < (T)6)", 0.0),
        ("fmax(x, z) + exp(x - x)", 31.0),
        ("fmax((T)2, (T)3) * y", 30.0),
    ],
)
def test_known_values(expression: str, value: float) -> None:
    x, y, z = (np.full((2, 2), number, np.float32) for number in (-2, 10, 30))
    out = np.empty_like(x)
    numpy_elementwise(expression).bind(context(), [x, y, z, out])()
    np.testing.assert_allclose(out, np.full((2, 2), value), rtol=1e-6)


def test_a_chain_needs_no_scratch_memory() -> None:
    x, out = np.ones((8, 8), np.float32), np.empty((8, 8), np.float32)
    made = context()
    numpy_elementwise("(T)1 / rounded((T)1 + rounded(exp(-x)))").bind(made, [x, out])()
    assert made.scratched == []
    np.testing.assert_allclose(out, 1 / (1 + np.exp(-x)), rtol=1e-6)


def test_equal_values_are_computed_once() -> None:
    x, out = np.full(4, 3, np.float32), np.empty(4, np.float32)
    made = context()
    numpy_elementwise("rounded((T)1 + x) * rounded((T)1 + x)").bind(made, [x, out])()
    assert made.scratched == [] and out.tolist() == [16.0] * 4


def test_negative_zero_is_no_zero() -> None:
    x, out = np.full(2, -0.0, np.float32), np.empty(2, np.float32)
    numpy_elementwise("x + -(T)0").bind(context(), [x, out])()
    assert np.signbit(out).all()


@pytest.mark.parametrize("shape", [(3, 4), (100, 5), (5, 100), (2, 3, 4), (4,), (0, 3), (3, 0)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_rows_of_every_shape(shape, dtype) -> None:
    """The results are: the sum of each row, and each element minus the row's maximum."""
    x = np.random.default_rng(1).normal(size=shape).astype(dtype)
    total, rest = np.full(shape[:-1], 7, dtype), np.empty(shape, dtype)
    kernel = numpy_rows(lambda _, x: [x.reduced(SUM, [-1]), x - x.reduced(MAX, [-1])])
    kernel.bind(context(2, tf.as_dtype(dtype)), [x, total, rest])()
    np.testing.assert_allclose(total, x.sum(-1), rtol=1e-5, atol=0.01 if dtype == np.float16 else 0)
    expected = x - x.max(-1, keepdims=True) if x.size else x
    np.testing.assert_array_equal(rest, expected)


def test_operations_without_a_numpy_kernel_are_refused() -> None:
    x, out = np.ones(3, np.float32), np.empty(3, np.float32)
    for formula in (lambda _, x: [x.expanded((3, 1))], lambda _, x: [x.index(3, tf.int32)]):
        with pytest.raises(NotImplementedError, match="NumPy kernels of formulas"):
            numpy_kernel(formula).bind(context(), [x, out])
