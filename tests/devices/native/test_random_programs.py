"""Random programs of many ops, shapes and dtypes agree with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import event, given, settings, strategies as st

import gpugraph as tf
from gpugraph.devices.native import NotNativeError

from ..native_programs import MAX, MEAN, MIN, SUM, Made, needs_compiler

pytestmark = needs_compiler

BINARY = ("x + y", "x - y", "x * y", "x >= y || x != x ? x : y")
UNARY = ("-x", "tanh(x)", "x < (T)0 ? (T)0 : x")


SPACES = ((3, 17), (70,), (17, 70), (2, 3, 5), (3, 1, 1100), (1, 4), (), (2, 1, 3, 2))


def draw_shape(draw: Any, space: tuple[int, ...]) -> tuple[int, ...]:
    """Return one that broadcasts to the space."""
    kept = draw(st.integers(0, len(space)))
    return tuple(size if draw(st.booleans()) else 1 for size in space[kept:])


def draw_input(draw: Any, kernel: Made, shape: tuple[int, ...], seed: int) -> int:
    """Return an input of this shape, or one (or a value of it) of fewer axes, expanded to the
    shape.
    """
    array = np.random.default_rng(seed).uniform(-2, 2, shape).astype(np.float32)
    if draw(st.booleans()):
        return kernel.input(array)
    value = kernel.input(array.reshape([size for size in shape if size != 1]))
    if draw(st.booleans()):
        value = kernel.apply("-x", value)
    return kernel.expand(value, shape)


def draw_program(draw: Any) -> Made:
    space = draw(st.sampled_from(SPACES))
    kernel = Made()
    values = []
    for _ in range(draw(st.integers(1, 3))):
        shape = draw(st.sampled_from([space, draw_shape(draw, space)]))
        values.append(draw_input(draw, kernel, shape, draw(st.integers(0, 1000))))
    if space and draw(st.booleans()):
        axis = draw(st.integers(0, len(space) - 1))
        places = kernel.cast(kernel.index(space[axis]), tf.float32)
        values.append(kernel.expand(places, (space[axis], *(1 for _ in space[axis + 1 :]))))
    values.append(kernel.constant(draw(st.sampled_from([0.5, -1.0, 2.0]))))
    leaves, flags = list(values), []
    for _ in range(draw(st.integers(1, 9))):
        kind = draw(st.integers(0, 9))
        x, y = (draw(st.sampled_from(values)) for _ in range(2))
        if kind < 4:
            values.append(kernel.apply(draw(st.sampled_from(BINARY)), x, y))
        elif kind < 6:
            values.append(kernel.apply(draw(st.sampled_from(UNARY)), x))
        elif kind == 6:
            x, y = (draw(st.sampled_from(leaves)) for _ in range(2))  # exact in any precision
            flags.append(kernel.apply("x < y", x, y, dtype=tf.bool))
        elif kind == 7 and flags:
            values.append(kernel.apply("x ? y : z", draw(st.sampled_from(flags)), x, y))
        elif len(kernel.fusion.shape(x)) == len(space):
            reduction = draw(st.sampled_from([SUM, MEAN, MAX, MIN]))
            rank = len(space)
            axes = draw(st.sampled_from([None, [rank - 1], list(range(rank - 1))]))
            values.append(kernel.reduce(reduction, x, axes if rank else None))
    for value in draw(st.lists(st.sampled_from(values), min_size=1, max_size=3)):
        kernel.output(value, shape=draw(st.sampled_from([space, kernel.fusion.shape(value)])))
    return kernel


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_program_computes_what_numpy_computes(data: st.DataObject) -> None:
    kernel = draw_program(data.draw)
    try:
        kernel.finish()
    except NotNativeError as error:
        event(f"refused: {error}")
        return
    event(
        f"{len(kernel.finish().sizes)} axes, {len(kernel.finish().program.reductions)} reductions"
    )
    check_random(kernel, kernel.run())


def check_random(kernel: Made, result: list[np.ndarray]) -> None:
    """Compare the results, unless numbers are so large that rounding shows."""
    for one, wanted in zip(result, kernel.wanted):
        scale = 1 + max(float(np.abs(array).max(initial=0)) for array in kernel.values.values())
        if np.isfinite(scale) and scale < 1e6:
            np.testing.assert_allclose(one, wanted, 1e-4, 3e-5 * scale)
