"""Moves: strided copies as native calls, against NumPy's assignment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from gpugraph.base.errors import InternalError
from gpugraph.devices.native import NotNativeError, move, sequence

from ..native_programs import needs_compiler
from ..native_views import filled, views

pytestmark = needs_compiler

TYPES = [np.bool_, np.uint8, np.float16, np.int32, np.float32, np.int64, np.float64, np.complex128]

shapes = st.one_of(
    st.lists(st.integers(1, 4), max_size=6),
    st.lists(st.integers(0, 6), max_size=4),
    st.lists(st.integers(1, 40), min_size=2, max_size=3),
).map(tuple)


@settings(max_examples=300, deadline=None)
@given(st.data(), shapes, st.sampled_from(TYPES))
def test_moves_are_numpy_s(data: Any, shape: tuple[int, ...], dtype: Any) -> None:
    source = data.draw(views(shape, dtype, repeated=True))
    target = data.draw(views(shape, dtype))
    wanted = np.array(source)
    assert move(source, target)() == 0
    np.testing.assert_array_equal(target, wanted)
    target[...] = 1
    rest = whole(target).copy()
    move(source, target)()
    target[...] = 1
    np.testing.assert_array_equal(whole(target), rest, "nothing beside it is written to")


def whole(view: np.ndarray) -> np.ndarray:
    """Return the array that owns the memory of a view."""
    return view if view.base is None else whole(view.base)


@pytest.mark.parametrize("dtype", TYPES)
def test_numbers_fill(dtype: Any) -> None:
    target = filled((3, 5, 7), dtype)
    sequence([move(dtype(3), target[:2]), move(1, target[2, :, ::-2])])()
    wanted = filled((3, 5, 7), dtype)
    wanted[:2], wanted[2, :, ::-2] = dtype(3), 1
    np.testing.assert_array_equal(target, wanted)


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64, np.complex128])
def test_large_moves_on_threads(dtype: Any, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_THREADS", str(threads))
    x = filled((9, 130, 37, 33), dtype)
    for source in (
        x,
        x.transpose(0, 2, 1, 3),
        x.transpose(0, 1, 3, 2),
        x.transpose(3, 2, 1, 0),
        x.transpose(1, 2, 3, 0)[::-1],
        np.broadcast_to(x[:, :1], x.shape),
        np.broadcast_to(x[..., :1], x.shape),
        x[:, :, ::-1, ::2],
        np.broadcast_to(x[0, 0, 0, 0], x.shape),
    ):
        target = np.empty(source.shape, dtype)
        move(source, target)()
        np.testing.assert_array_equal(target, source)


def test_what_is_there_when_called_is_moved() -> None:
    source, target = np.zeros((4, 5), np.float32), np.zeros((5, 4), np.float32)
    run = move(source.T, target)
    source[...] = filled((4, 5), np.float32)
    run()
    np.testing.assert_array_equal(target, source.T)


def test_views_of_one_array_may_lie_between_each_other() -> None:
    x = filled((6, 8), np.float32)
    wanted = x.copy()
    wanted[:, 1::2] = wanted[:, ::2]
    sequence([move(x[:, ::2], x[:, 1::2]), move(x, x)])()
    np.testing.assert_array_equal(x, wanted)


@pytest.mark.parametrize(
    ("source", "target", "why"),
    [
        (np.arange(5)[:-1], None, "overlaps"),
        (np.zeros(2), np.broadcast_to(np.zeros(1), 2), "read-only"),
        (0.0, np.lib.stride_tricks.as_strided(np.zeros(8), (3, 4), (8, 8)), "may share memory"),
        (np.zeros((2, 3)), np.zeros((3, 2)), "do not fit"),
        (np.zeros(3), np.zeros((3, 2)), "do not fit"),
        (np.zeros((1, 3)), np.zeros(3), "do not fit"),
        (np.zeros(3), np.zeros(3, np.float32), "dtypes differ"),
        (np.float32(1), np.zeros(3), "dtypes differ"),
        (300, np.zeros(3, np.uint8), "300 is no uint8"),
        ("a", np.zeros(3), "'a' is no float64"),
        (np.zeros(3, "S3"), np.zeros(3, "S3"), "3 bytes"),
        (np.zeros(3, object), np.zeros(3, object), "object"),
        (np.zeros(3), np.zeros(25, np.uint8)[1:].view(np.float64), "not aligned"),
        (0.0, np.zeros((3,) * 9)[(slice(0, 2),) * 9], "9 axes"),
    ],
)
def test_others_are_refused(source: Any, target: Any, why: str) -> None:
    into = source.base[1:] if target is None else target
    with pytest.raises((NotNativeError, InternalError), match=why):
        move(source, into)


def test_eight_axes_are_moved() -> None:
    target = np.zeros((3,) * 8)
    move(1.0, target[(slice(0, 2),) * 8])()
    assert target.sum() == 2**8


@pytest.mark.parametrize("size", [2047, 2048, 2175, 2176, 5000, 70_001])
def test_long_rows_at_any_distance_are_moved(size: int) -> None:
    source = np.random.default_rng(size).integers(0, 256, size + 80, np.uint8)
    for before, after in [(0, 0), (0, 1), (3, 0), (7, 4), (0, 63), (64, 0), (0, 33)]:
        target = np.zeros(size + 80, np.uint8)
        move(source[before : before + size], target[after : after + size])()
        wanted = np.zeros_like(target)
        wanted[after : after + size] = source[before : before + size]
        np.testing.assert_array_equal(target, wanted)


@pytest.mark.parametrize("dtype", TYPES)
def test_every_second_element_is_moved(dtype: Any) -> None:
    wide, narrow = filled((3, 134), dtype), filled((3, 67), dtype)
    for part in range(2):
        target = np.zeros_like(narrow)
        move(wide[:, part::2], target)()
        np.testing.assert_array_equal(target, wide[:, part::2])
        spread = np.zeros_like(wide)
        move(narrow, spread[:, part::2])()
        np.testing.assert_array_equal(spread[:, part::2], narrow)
        assert not spread[:, 1 - part :: 2].any()
