"""Open sizes: conditions, sizes that are equal by a condition, and reported sizes."""

from __future__ import annotations

import pytest

from gpugraph.base.shapes import TensorShape, broadcast_shapes, equal_sizes
from gpugraph.base.sizes import OpenSizeError, SizeTrace, estimates, least_of, may_vanish, varies


def test_sizes_that_are_equal_by_a_condition_are_one_size() -> None:
    trace = SizeTrace([4, 4, 9])
    one, other, third = trace.sizes
    assert one * 3 == other * 3
    assert len(trace.conditions) == 1
    assert one + third == third + other
    assert other * third - one * third == 0
    assert len(trace.conditions) == 1
    assert trace.values([5, 5, 9]) is not None
    assert trace.values([5, 6, 9]) is None


def test_conditions_of_a_single_call_make_no_sizes_equal() -> None:
    trace = SizeTrace([4, 4])
    one, other = trace.sizes
    with trace.recording() as conditions:
        assert one == other
    assert len(conditions) == 1
    assert not trace.conditions
    assert type(one - other) is not int


def test_shapes_of_other_ranks_or_ints_are_compared_without_conditions() -> None:
    trace = SizeTrace([4])
    [size] = trace.sizes
    assert not equal_sizes((size, 3), (4,))
    assert not equal_sizes((size, 3), (4, 5))
    assert TensorShape.of((size, 3)) != TensorShape.of((4, 5))
    assert broadcast_shapes(TensorShape.of((size, 4)), TensorShape.of((4,))).sizes == (size, 4)
    assert broadcast_shapes(TensorShape.of((1, 4)), TensorShape.of((size, 1))).sizes == (size, 4)
    assert not trace.conditions
    assert equal_sizes((size, 3), (4, 3))
    assert len(trace.conditions) == 1


def test_conditions_on_reported_sizes_are_checked_if_these_are_known() -> None:
    trace = SizeTrace([10], {"Where": 4})
    [size], count = trace.sizes, trace.report("Where")
    assert count < size
    assert size > 2
    assert trace.values([3]) is not None
    assert trace.values([3], {"Where": 2}) is not None
    assert trace.values([3], {"Where": 3}) is None
    assert trace.values([2]) is None


def test_choices_of_kernels_are_no_conditions_on_reported_sizes() -> None:
    trace = SizeTrace([10], {"Where": 4})
    assert estimates((trace.sizes[0], trace.report("Where"), 7)) == (trace.sizes[0], 4, 7)
    assert not trace.conditions


def test_a_size_of_a_loop_equals_no_other_size_without_a_condition() -> None:
    trace = SizeTrace([10], {})
    length = trace.report("loop:size0", 5, 1)
    assert varies(length + 2) and not varies(trace.sizes[0])
    assert length != 1 and length + 1 != 1 and length != trace.sizes[0] and length != 0
    assert least_of(length * 3 - 1) == 2
    assert not may_vanish(length * trace.sizes[0])
    assert not trace.conditions
    other = trace.report("loop:size1", 5, 0)
    assert other != 0 and other == length and may_vanish(other)
    assert len(trace.conditions) == 2


def test_a_comparison_that_differs_between_iterations_is_refused_for_constants() -> None:
    trace = SizeTrace([], {})
    length = trace.report("loop:size0", 5, 1)
    with trace.loops_undecided():
        assert length > 0
        for compare in (lambda: length > 2, lambda: length == 5, lambda: length == 6):
            with pytest.raises(OpenSizeError):
                compare()
