"""Ring, halving and doubling, shared memory: the members' exchange, without a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from gpugraph.cluster.collectives import collective_exchange
from gpugraph.cluster.collectives.collective_exchange import (
    MERGES,
    all_reduce,
    divide,
    halving_doubling,
    ring,
    shared_all_reduce,
)

from .collective_wire import Wires, all_ranks


def reduced(way: Any, values: Any, merge_op: str, divisor: int) -> tuple[list[Any], Wires]:
    """Return each member's result of the reduction, and the wires with the sent messages."""
    wires = Wires(len(values))
    arrays = [value.copy() for value in values]

    def work(rank: int) -> None:
        if way is shared_all_reduce:
            way(wires.wire(rank), arrays, MERGES[merge_op], divisor)
        else:
            way(wires.wire(rank), arrays[rank], MERGES[merge_op], divisor)

    all_ranks(len(values), work)
    return arrays, wires


def values(size: int, count: int, dtype: Any, seed: int = 0) -> Any:
    draw = np.random.RandomState(seed)
    return draw.uniform(-9, 9, (size, count)).astype(dtype)


@pytest.mark.parametrize("way", [ring, halving_doubling, shared_all_reduce])
@settings(max_examples=30, deadline=None)
@given(
    size=st.integers(2, 9),
    count=st.integers(0, 70),
    dtype=st.sampled_from([np.float32, np.float64, np.float16, np.int32, np.int64]),
    merge_op=st.sampled_from(sorted(MERGES)),
    divides=st.booleans(),
    piece=st.sampled_from([8, 64, 1 << 20]),
)
def test_all_members_have_the_bits_of_the_reduction(
    way: Any, size: int, count: int, dtype: Any, merge_op: str, divides: bool, piece: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collective_exchange, "PIECE_BYTES", piece)
        given_values = values(size, count, dtype)
        divisor = size if divides else 1
        arrays, wires = reduced(way, given_values, merge_op, divisor)
        again, _ = reduced(way, given_values, merge_op, divisor)
    assert wires.num_left == 0
    for array in [*arrays, *again]:
        assert array.tobytes() == arrays[0].tobytes()
    if dtype is np.float16:
        return  # its sums and products round too much for a bound
    wide = np.float64 if np.dtype(dtype).kind == "f" else np.int64
    want = MERGES[merge_op].reduce(given_values.astype(wide), 0)
    if np.dtype(dtype).kind == "i":
        want = want.astype(dtype)
        want = np.trunc(want.astype(object) / divisor).astype(dtype) if divides and count else want
        np.testing.assert_array_equal(arrays[0], want)
    else:
        bound = np.abs(given_values.astype(wide)).sum(0) if merge_op == "Add" else np.abs(want)
        difference = np.abs(arrays[0] - want / divisor)
        assert (difference <= bound * size * np.finfo(dtype).eps + 1e-30).all()


def test_a_ring_sends_what_it_has_to_and_no_more() -> None:
    _, wires = reduced(ring, values(5, 1000, np.float32), "Add", 1)
    for rank in range(5):
        sent = [message for message in wires.messages if message[0] == rank]
        assert {to for _, to, name, _ in sent if name != "read"} == {(rank + 1) % 5}
        assert sum(count for _, _, name, count in sent if name != "read") == 2 * 4 * 4000 // 5
    _, wires = reduced(halving_doubling, values(8, 1000, np.float32), "Add", 1)
    for rank in range(8):
        sent = [message for message in wires.messages if message[0] == rank]
        assert len(sent) == 2 * 3
        assert sum(count for _, _, _, count in sent) == 2 * 7 * 4000 // 8


@pytest.mark.parametrize("way", [ring, halving_doubling, shared_all_reduce])
def test_what_is_no_number_stays_so_for_all(way: Any) -> None:
    given_values = np.zeros((3, 8), np.float32)
    given_values[1] = [np.nan, np.inf, -np.inf, -0.0, 1e38, 3e38, -3e38, 1]
    given_values[2] = [1, -np.inf, -np.inf, 0.0, 1e38, 3e38, -3e38, np.nan]
    for merge_op in ("Add", "Max", "Min"):  # a product depends on its order
        with np.errstate(all="ignore"):
            arrays, _ = reduced(way, given_values, merge_op, 1)
            want = MERGES[merge_op].reduce(given_values, 0)
        for array in arrays:
            assert array.tobytes() == arrays[0].tobytes()
            np.testing.assert_array_equal(array, want)


@pytest.mark.parametrize("way", [ring, halving_doubling, shared_all_reduce])
def test_an_array_may_be_written_to_as_soon_as_it_is_reduced(way: Any) -> None:
    given_values = values(4, 40, np.float32)
    wires = Wires(4, delay_s=0.003)
    arrays = [value.copy() for value in given_values]

    def work(rank: int) -> Any:
        own = arrays if way is shared_all_reduce else arrays[rank]
        way(wires.wire(rank), own, MERGES["Add"], 1)
        result = arrays[rank].copy()
        arrays[rank][:] = np.nan
        return result

    for result in all_ranks(4, work):
        np.testing.assert_allclose(result, given_values.sum(0), rtol=1e-5, atol=1e-5)


def test_small_reductions_go_by_halves_and_large_ones_round() -> None:
    def way(wire: Any, array: Any, merge: Any, divisor: int) -> None:
        all_reduce(wire, array, merge, divisor)

    for size, count, word in ((3, 1000, "half"), (3, 100_000, "sum"), (8, 100_000, "half")):
        arrays, wires = reduced(way, values(size, count, np.float32), "Add", 3)
        assert any(name.startswith(word) for _, _, name, _ in wires.messages)
        np.testing.assert_array_equal(arrays[0], arrays[2])


def test_integers_are_divided_toward_zero() -> None:
    array = np.array([-7, -1, 0, 1, 7], np.int32)
    divide(array, 2)
    np.testing.assert_array_equal(array, [-3, 0, 0, 0, 3])
