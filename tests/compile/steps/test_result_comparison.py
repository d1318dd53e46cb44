"""Comparison of results when native code is checked against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from gpugraph.compile.steps.result_comparison import are_close

VALUES = np.linspace(-3, 3, 200, dtype=np.float32)


def judged(array, wanted):
    """Whether `found` would be taken for what was wanted."""
    return are_close([np.asarray(array)], [np.asarray(wanted)])


def test_last_bits_may_differ():
    assert judged(np.nextafter(VALUES, np.float32(9)), VALUES)
    assert judged(VALUES, VALUES)


def test_a_few_elements_may_fall_on_the_other_side_of_a_threshold():
    steps = (VALUES > 0).astype(np.float32)
    other = steps.copy()
    other[99:101] = 1 - other[99:101]
    assert judged(other, steps)
    assert not judged(1 - steps, steps)


@pytest.mark.parametrize(
    "wrong", [-VALUES, VALUES * 1.5, VALUES[::-1], VALUES + 1, VALUES * np.nan]
)
def test_other_numbers_are_found(wrong):
    assert not judged(wrong, VALUES)


def test_other_numbers_are_found_in_large_arrays():
    large = np.random.RandomState(0).randn(200_000)
    wrong = large.copy()
    wrong[100_000:] *= 2
    assert not judged(wrong, large)


def test_flags_and_integers():
    assert not judged(~(VALUES > 0), VALUES > 0)
    assert not judged(np.arange(9) * 2, np.arange(9))
    assert judged(np.arange(9), np.arange(9))


def test_what_is_not_finite_is_not_compared():
    wanted = np.array([np.nan, np.inf, 1.0, 2.0])
    assert judged([1.0, 2.0, 1.0, 2.0], wanted)
    assert not judged([np.nan, np.inf, np.nan, np.nan], wanted)
