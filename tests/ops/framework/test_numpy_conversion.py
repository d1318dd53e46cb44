"""Python values as arrays: their dtypes and shapes, and values that are no tensor's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays

import gpugraph as tf
from gpugraph.base import dtypes
from gpugraph.base.shapes import Dimension, TensorShape
from gpugraph.ops.framework.numpy_conversion import constant_array, zero_of


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, np.int32),
        (-(2**31), np.int32),
        (2**31, np.int64),
        ([1, 2**40], np.int64),
        (1.5, np.float32),
        ([1, 2.5], np.float32),
        ([], np.float32),
        ([[]], np.float32),
        (True, np.bool_),
        ([True, 1], np.int32),
        (1j, np.complex128),
        (range(3), np.int32),
        ((1, 2), np.int32),
        (np.float64(1), np.float64),
        (np.int64(1), np.int64),
        (np.arange(3, dtype=np.uint8), np.uint8),
        ([np.float64(1), 2.0], np.float32),
        ([np.int64(1), 2], np.int32),
        (Dimension(3), np.int32),
        ([Dimension(3), 2], np.int32),
        ([[Dimension(2**40)]], np.int64),
    ],
)
def test_the_dtype_follows_from_the_value(value, dtype):
    array = constant_array(value)
    assert array.dtype == dtype
    items = np.vectorize(int)(value) if "Dimension" in repr(value) else value
    np.testing.assert_array_equal(array, np.asarray(items))


@pytest.mark.parametrize("value", ["a", b"a", np.array("a"), np.array(b"a"), np.str_("a")])
def test_text_becomes_bytes(value):
    array = constant_array(value)
    assert (array.dtype, array.item()) == (object, b"a")


def test_text_is_kept_whole():
    value = [["é", "a\0b"], ["", b"\xff\0"]]
    expected = [["é".encode(), b"a\0b"], [b"", b"\xff\0"]]
    assert constant_array(value, dtypes.string).shape == (2, 2)
    assert constant_array(value).tolist() == expected


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, dtypes.float16),
        (1, dtypes.complex64),
        (1.5, dtypes.float64),
        (True, dtypes.float32),
        (True, dtypes.int8),
        (255, dtypes.uint8),
        ([], dtypes.int64),
        ([], dtypes.string),
        (np.float64([1.5]), dtypes.int32),
        (np.arange(3), dtypes.float32),
        (1, dtypes.float32_ref),
    ],
)
def test_the_dtype_asked_for(value, dtype):
    array = constant_array(value, dtype)
    assert array.dtype == dtype.base_dtype.as_numpy_dtype
    np.testing.assert_array_equal(array, np.asarray(value).astype(array.dtype))


@pytest.mark.parametrize(
    ("value", "dtype", "error", "match"),
    [
        (1.5, dtypes.int32, TypeError, "Expected int32, got 1.5 of type 'float'"),
        (1, dtypes.bool, TypeError, "Expected bool"),
        (1, dtypes.string, TypeError, "Expected string"),
        ("1", dtypes.int32, TypeError, "Expected int32, got '1'"),
        (1j, dtypes.float32, TypeError, "Expected float32"),
        (2**70, None, TypeError, "Failed to convert"),
        (None, None, ValueError, "None values not supported"),
        ([1, None], None, TypeError, "Failed to convert"),
        ({"a": 1}, None, TypeError, "Failed to convert"),
        (object(), None, TypeError, "Failed to convert"),
        ([[1], [1, 2]], None, ValueError, "dense tensor"),
        (["a", 1], None, TypeError, "got 1 of type 'int'"),
        ([b"a", 1.5], dtypes.string, TypeError, "got 1.5"),
        (np.array([1, 2], object), None, TypeError, "got 1"),
        (np.datetime64("2020"), None, TypeError, "DType"),
        (Dimension(None), None, ValueError, "unknown Dimension"),
        ([Dimension(1), object()], None, TypeError, "Failed to convert"),
    ],
)
def test_what_is_refused(value, dtype, error, match):
    with pytest.raises(error, match=match):
        constant_array(value, dtype)


@pytest.mark.parametrize(
    ("value", "shape", "expected"),
    [
        (7, [2, 2], [[7, 7], [7, 7]]),
        ([1, 2, 3], [2, 3], [[1, 2, 3], [3, 3, 3]]),
        ([1, 2, 3, 4], [2, 2], [[1, 2], [3, 4]]),
        ([[1, 2]], [2], [1, 2]),
        (5, [], 5),
        (5, 3, [5, 5, 5]),
        ("a", [2], [b"a", b"a"]),
        ([], [0, 3], np.zeros((0, 3))),
        ([1, 2], [0], []),
    ],
)
def test_filling_a_shape(value, shape, expected):
    array = constant_array(value, shape=shape)
    np.testing.assert_array_equal(array, np.array(expected, array.dtype))


@pytest.mark.parametrize(
    ("value", "shape", "match"),
    [
        ([1, 2], [1], "at most 1, but received 2"),
        ([], [2], "empty"),
        (1, [None], "fully defined"),
        (1, TensorShape(None), "unknown"),
    ],
)
def test_what_does_not_fit_the_shape(value, shape, match):
    with pytest.raises(ValueError, match=match):
        constant_array(value, shape=shape)


@given(arrays.arrays(st.sampled_from([np.int8, np.uint16, np.float16, np.float64]), (2, 3)))
def test_arrays_are_copied_as_they_are(value):
    array = constant_array(value)
    assert array.dtype == value.dtype and not np.shares_memory(array, value)
    np.testing.assert_array_equal(array, value)


@given(
    st.recursive(
        st.floats(width=32) | st.integers(-(2**24), 2**24), lambda x: st.lists(x, max_size=3)
    )
)
def test_any_nested_list_is_what_numpy_makes_of_it(value):
    try:
        expected = np.array(value)
    except ValueError:
        with pytest.raises(ValueError, match="dense tensor"):
            constant_array(value)
        return
    array = constant_array(value)
    assert array.dtype in (np.float32, np.int32)
    np.testing.assert_array_equal(array, expected.astype(array.dtype))


def test_what_is_too_large_becomes_infinite():
    assert constant_array(1e300).item() == np.inf


def test_zeros():
    assert (zero_of(np.dtype(object)), zero_of(np.dtype(np.float32))) == (b"", 0)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (-1, dtypes.uint8, 255),
        ([300, 1], dtypes.uint8, [44, 1]),
        (2**31, dtypes.int32, -(2**31)),
        (2**45, dtypes.int32, 0),
        ([1, 2**45 + 3], dtypes.int32, [1, 3]),
        (-129, dtypes.int8, 127),
        (2**16, dtypes.uint16, 0),
        (-1, dtypes.uint64, 2**64 - 1),
        (2**63, dtypes.int64, -(2**63)),
        ([[2**63, 1]], dtypes.int64, [[-(2**63), 1]]),
        ([2**64 - 1, -1], dtypes.uint64, [2**64 - 1, 2**64 - 1]),
        (np.array([2**45 + 7]), dtypes.int32, [7]),
        (np.int64(-1), dtypes.uint8, 255),
    ],
)
def test_integers_that_do_not_fit_wrap_around(value, dtype, expected):
    array = constant_array(value, dtype)
    assert array.dtype == dtype.as_numpy_dtype
    assert array.tolist() == expected


@pytest.mark.parametrize("value", [2**64, [1, 2**64], -(2**63) - 1])
@pytest.mark.parametrize("dtype", [dtypes.int32, dtypes.uint64, dtypes.bool])
def test_integers_of_more_than_64_bits_are_refused(value, dtype):
    with pytest.raises(TypeError):
        constant_array(value, dtype)


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float64, dtypes.complex64])
def test_large_integers_are_rounded_to_floats(dtype):
    assert constant_array(2**70, dtype).item() == 2.0**70
    assert constant_array([2**70, -1], dtype).tolist() == [2.0**70, -1]
    with pytest.raises(TypeError):
        constant_array(10**400, dtype)


def test_a_depth_beyond_int32_wraps_around_as_an_int32_constant_does():
    with tf.Graph().as_default():
        assert tf.one_hot([0, 1], 2**45).shape == [2, 0]
        with pytest.raises(ValueError, match="negative"):
            tf.one_hot([0, 1], 2**31)
