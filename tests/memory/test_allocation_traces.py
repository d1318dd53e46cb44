"""Allocation traces: text, order, and replays by several policies."""

import pytest
from hypothesis import given, strategies as st

from gpugraph.base.errors import InvalidArgumentError
from gpugraph.memory import (
    AllocationTrace,
    Event,
    Lifetime,
    compare,
    comparison_table,
    lower_bound,
    size_class,
)

LIVES = st.lists(
    st.tuples(st.integers(0, 9000), st.integers(0, 20), st.integers(0, 9)).map(
        lambda row: Lifetime(row[0], row[1], row[1] + row[2])
    ),
    max_size=40,
)


@given(LIVES)
def test_a_trace_of_lifetimes_has_their_bound_and_comes_back_from_its_text(lives):
    trace = AllocationTrace.of_lifetimes(lives)
    assert lower_bound(trace.lifetimes()) == lower_bound(lives)
    assert AllocationTrace.parse(trace.text()).events == trace.events
    peaks = {row.policy: row.peak_bytes for row in compare(trace)}
    assert peaks["bound"] == lower_bound(lives)
    assert all(peak >= peaks["bound"] for peak in peaks.values())
    assert peaks["BFC"] % 256 == 0


def test_policies_differ_where_sizes_grow():
    """Blocks of a class are no use for larger ones; BFC joins its chunks; an arena has both
    sizes.
    """
    trace = AllocationTrace()
    for number in range(1, 9):
        trace.add(Event(number, 4096 * number))
        trace.add(Event(number, None))
    peaks = {row.policy: row for row in compare(trace)}
    assert peaks["bound"].peak_bytes == peaks["arena"].peak_bytes == peaks["BFC"].peak_bytes
    assert peaks["size classes"].peak_bytes == 4096 * sum((1, 2, 3, 4, 5, 6, 7, 8))
    assert peaks["size classes"].of_bound == 4.5
    assert "size classes     144.0KiB   4.500" in comparison_table(trace)


def test_buffers_that_are_never_freed_live_to_the_end():
    trace = AllocationTrace([Event(7, 100), Event(8, 50), Event(8, None), Event(9, 60)])
    assert trace.lifetimes() == [Lifetime(100, 1, 3), Lifetime(50, 2, 2), Lifetime(60, 3, 3)]


@given(st.integers(1, 1 << 40))
def test_a_size_class_wastes_less_than_a_quarter(num_bytes):
    size = size_class(num_bytes)
    assert num_bytes <= size < max(1.25 * num_bytes, num_bytes + 256)
    assert size_class(size) == size


@pytest.mark.parametrize(
    "events, wrong",
    [
        ([(1, 8), (1, 8)], "Event 1 of an allocation trace, .* the buffer is allocated"),
        ([(1, None)], "Event 0 .* the buffer is not allocated"),
        ([(1, 8), (1, None), (1, None)], "Event 2 "),
        ([(1, -8)], "Event 0 "),
    ],
)
def test_events_that_do_not_follow_are_refused(events, wrong):
    with pytest.raises(InvalidArgumentError, match=wrong):
        AllocationTrace(Event(*event) for event in events)


@pytest.mark.parametrize("line", ["+1", "1 2", "-1 2", "+a 2", "+1 -2", "", "+1 2 3", "+\u0661 2"])
def test_text_that_is_no_trace_is_refused_with_its_line(line):
    with pytest.raises(InvalidArgumentError, match="Line 2 of an allocation trace"):
        AllocationTrace.parse(f"+5 10\n{line}\n-5")
