"""Open sizes: conditions, sizes that are equal by a condition, and reported sizes."""

from __future__ import annotations

from gpugraph.base.shapes import TensorShape, broadcast_shapes, equal_sizes
from gpugraph.base.sizes import SizeTrace, estimates


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
