"""Comparison of results of native code with those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from gpugraph.compile.steps.native_verification import are_equal

VALUES = np.linspace(-3, 3, 200, dtype=np.float32)


def judged(array, wanted, spread=None, exactly=False):
    """Return whether the array would be accepted as the expected result."""
    return are_equal([np.asarray(array)], [np.asarray(wanted)], exactly, spread)


def test_last_bits_may_differ():
    assert judged(np.nextafter(VALUES, np.float32(9)), VALUES)
    assert judged(VALUES, VALUES)


def test_elements_may_fall_on_the_other_side_of_a_threshold_where_rounding_explains_it():
    steps = (VALUES > 0).astype(np.float32)
    other = steps.copy()
    other[99:101] = 1 - other[99:101]
    limits = np.zeros_like(steps)
    limits[99:101] = 1
    assert judged(other, steps, lambda: [limits])
    assert not judged(other, steps)
    assert not judged(1 - steps, steps, lambda: [limits])
    assert not judged(other, steps, lambda: [limits], exactly=True)


def test_a_single_wrong_element_is_found():
    wrong = VALUES.copy()
    wrong[7] *= 1.01
    assert not judged(wrong, VALUES)


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


def test_what_is_not_finite_has_to_be_the_same():
    wanted = np.array([np.nan, np.inf, 1.0, 2.0])
    assert judged(wanted.copy(), wanted)
    assert not judged([1.0, np.inf, 1.0, 2.0], wanted)
    assert not judged([np.nan, -np.inf, 1.0, 2.0], wanted)
    assert not judged([np.nan, np.inf, np.nan, 2.0], wanted)
