"""The values that CUDA finds behind the array of pointers to a kernel's arguments."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from gpugraph.devices.cuda.driver.launch_parameters import Parameters

from ..fake_cupy import Arguments

integers = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(integers | st.floats()))
def test_each_argument_lies_where_its_pointer_says(values: list[Any]) -> None:
    parameters = Parameters(values)
    result = Arguments(parameters.address)
    for index, value in enumerate(values):
        if isinstance(value, float):
            assert result.number(index) == value or math.isnan(value)
        else:
            assert result.integer(index) == value


def test_addresses_numpys_numbers_and_truths() -> None:
    inputs = [0xFFFF_8000_0000_0000, np.int32(-7), np.uint64(2**64 - 1), True, np.float64(0.5)]
    parameters = Parameters(inputs)
    result = Arguments(parameters.address)
    unsigned = [result.integer(index) % 2**64 for index in range(4)]
    assert unsigned == [inputs[0], 2**64 - 7, 2**64 - 1, 1]
    assert result.number(4) == 0.5


def test_a_structure_of_words_is_where_its_first_one_is() -> None:
    parameters = Parameters([0.5, 7, -8, 1 << 40])
    place = ctypes.c_void_p.from_address(parameters.address + 8).value
    assert place is not None
    assert list((ctypes.c_int64 * 3).from_address(place)) == [7, -8, 1 << 40]


def test_no_arguments_are_an_array_too() -> None:
    assert ctypes.c_uint64.from_address(Parameters([]).address).value == 0


@pytest.mark.parametrize("wrong", [None, "1", np.float32(1), [1]])
def test_what_is_no_number_of_a_kernel_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="argument 1 of a kernel is"):
        Parameters([0, wrong])


@pytest.mark.parametrize("wrong", [2**64, -(2**63) - 1])
def test_what_has_not_64_bits_is_refused(wrong: int) -> None:
    with pytest.raises(OverflowError, match=f"argument 0 of a kernel, {wrong}"):
        Parameters([wrong])
