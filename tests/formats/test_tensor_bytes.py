"""Tensors as the bytes of messages: TensorFlow's bytes, all dtypes, and bytes that are none."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from gpugraph.base import dtypes
from gpugraph.formats.message_bytes import bytes_field, int_field
from gpugraph.formats.tensor_bytes import encoded_strings, read_tensor_bytes, tensor_bytes
from gpugraph.ops.parsing.serialized_tensors import STORABLE


def test_the_bytes_are_those_of_tensorflow():
    matrix = np.array([[1, 2], [3, 4]], np.float32)
    content = b"\x08\x01\x12\x08\x12\x02\x08\x02\x12\x02\x08\x02\x22\x10" + matrix.tobytes()
    assert tensor_bytes(matrix, dtypes.float32) == content
    texts = np.array([b"ab", b"c"], object)
    assert tensor_bytes(texts, dtypes.string) == b"\x08\x07\x12\x04\x12\x02\x08\x02B\x02abB\x01c"


@pytest.mark.parametrize("dtype", STORABLE, ids=str)
def test_every_dtype_comes_back(dtype):
    if dtype is dtypes.bfloat16:
        pytest.importorskip("ml_dtypes", reason="the extra `bfloat16` is not installed")
    array = np.array([[1, 0], [1, 1]]).astype(dtype.as_numpy_dtype)
    if dtype is dtypes.string:
        array = np.array([[b"a", b""], [b"b", b"c"]], object)
    for part in (
        array,
        array[0, 0].reshape(()) if dtype is not dtypes.string else array,
        array[:0],
    ):
        value, read = read_tensor_bytes(tensor_bytes(np.asarray(part), dtype))
        assert read is dtype and value.dtype == array.dtype
        np.testing.assert_array_equal(value, part)


def test_values_in_fields_of_their_own():
    head = int_field(1, 3) + bytes_field(2, bytes_field(2, int_field(1, 4)))
    values, _ = read_tensor_bytes(head + bytes_field(7, b"\x05\x06"))
    assert values.tolist() == [5, 6, 6, 6]
    assert read_tensor_bytes(head + b"\x38\x07")[0].tolist() == [7] * 4
    assert read_tensor_bytes(head)[0].tolist() == [0] * 4
    texts = int_field(1, 7) + bytes_field(2, bytes_field(2, int_field(1, 2)))
    content = bytes_field(4, encoded_strings([b"ab", b"c"]))
    assert read_tensor_bytes(texts + content)[0].tolist() == [b"ab", b"c"]


def test_what_is_no_tensor():
    huge = int_field(1, 3) + bytes_field(2, bytes_field(2, int_field(1, 2**40)))
    with pytest.raises(ValueError, match="too few"):
        read_tensor_bytes(huge)
    with pytest.raises(ValueError, match="a size is -1"):
        read_tensor_bytes(int_field(1, 3) + bytes_field(2, bytes_field(2, int_field(1, -1))))
    with pytest.raises(ValueError, match="not known"):
        read_tensor_bytes(int_field(1, 3) + bytes_field(2, int_field(3, 1)))
    with pytest.raises(ValueError, match="resource has no bytes"):
        read_tensor_bytes(int_field(1, 20))


@settings(max_examples=200)
@given(
    st.binary(max_size=40), st.sampled_from([b"", b"\x08\x07", b"\x08\x03\x12\x04\x12\x02\x08\x02"])
)
def test_any_bytes_are_read_or_refused(content, head):
    with contextlib.suppress(ValueError):
        read_tensor_bytes(head + content)
