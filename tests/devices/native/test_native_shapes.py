"""Native kernels of values in other shapes, of positions, and those that check their operands."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.errors import InvalidArgumentError
from gpugraph.devices.native import Fusion

from ..native_programs import SUM, Made, needs_compiler, run_program

pytestmark = needs_compiler


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def test_an_input_runs_along_another_axis() -> None:
    """A bias of channels, in the middle, whose number is that of the columns too."""
    kernel = Made()
    x, bias = kernel.input(random(4, 3, 2, 3)), kernel.input(random(3))
    kernel.output(kernel.apply("x + y", x, kernel.expand(bias, (3, 1, 1))))
    kernel.check()


def test_an_input_runs_along_both_axes_at_once() -> None:
    kernel = Made()
    x = kernel.input(random(40))
    kernel.output(kernel.apply("x * y", kernel.expand(x, (40, 1)), x))
    kernel.check()


def test_an_input_that_nobody_needs_may_have_another_shape() -> None:
    kernel = Made()
    x, y = kernel.input(random(4, 7)), kernel.input(random(4))
    kernel.expand(y, (4, 1))
    kernel.output(kernel.apply("x * x", x))
    kernel.check()


@pytest.mark.parametrize("size", [1, 7, 2000])
def test_what_is_computed_moves_with_all_it_is_made_of(size: int) -> None:
    kernel = Made()
    x, y = kernel.input(random(5)), kernel.input(random(5))
    total = kernel.apply(
        "x * y", kernel.apply("exp(x)", x), kernel.apply("x - y", y, kernel.constant(0.5))
    )
    rows = kernel.expand(total, (5, 1))
    kernel.output(kernel.apply("x - y", kernel.input(random(5, size)), rows))
    kernel.check()


def test_a_reduction_moves_too() -> None:
    """Of rows of three matrices, which become columns of a wider space."""
    kernel = Made()
    x = kernel.reduce(SUM, kernel.input(random(6, 1)), [1])
    spread = kernel.expand(x, (6, 1, 1))
    kernel.output(kernel.apply("x + y", spread, kernel.input(random(6, 3, 4))))
    kernel.check()


@pytest.mark.parametrize("shape", [(3, 2), (5, 1), (1,), (3, 5, 1), ()])
def test_only_axes_of_size_1_can_be_added(shape: tuple[int, ...]) -> None:
    fusion = Fusion()
    with pytest.raises(ValueError, match=r"\[3\] can't be"):
        fusion.expand(fusion.input(tf.float32, (3,)), shape)


def test_further_axes_in_front_change_nothing() -> None:
    fusion = Fusion()
    x = fusion.input(tf.float32, (3,))
    assert fusion.expand(x, (1, 1, 3)) == x
    assert fusion.expand(fusion.constant(1, tf.float32), (1, 1)) == 1


@pytest.mark.parametrize("shape", [(5,), (3, 5), (40_000,), (70, 1000), (2, 3, 1), (4, 0)])
def test_an_index_counts_along_the_last_axis(shape: tuple[int, ...]) -> None:
    kernel = Made()
    x = kernel.input(random(*shape))
    places = kernel.cast(kernel.index(shape[-1]), tf.float32)
    kernel.output(kernel.apply("x + y", x, places))
    kernel.check()


def test_a_sum_over_positions() -> None:
    kernel = Made()
    product = kernel.apply(
        "x * y", kernel.input(random(9, 50)), kernel.cast(kernel.index(50), tf.float32)
    )
    kernel.output(kernel.reduce(SUM, product, [1]))
    kernel.check(1e-5, 1e-4)


@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 4), (2, 1, 3, 4), (70, 1000), (3, 1), (1, 9)])
@pytest.mark.parametrize("axis", [0, 1, -2])
def test_an_index_counts_along_any_axis(shape: tuple[int, ...], axis: int) -> None:
    kernel = Made()
    x, size = kernel.input(random(*shape)), shape[axis]
    places = kernel.cast(kernel.index(size), tf.float32)
    places = kernel.apply("x + y", places, places)
    along = kernel.expand(places, (size, *(1,) * (-1 - axis % len(shape) + len(shape))))
    kernel.output(kernel.apply("x + y", x, along))
    kernel.output(kernel.reduce(SUM, kernel.apply("x * y", x, along), [len(shape) - 1]))
    kernel.check(1e-5, 1e-3)


@pytest.mark.parametrize("where", [0, 3, 39_999])
def test_a_text_that_fails_is_an_error(where: int) -> None:
    fusion = Fusion()
    x = fusion.input(tf.float32, (40_000,))
    checked = fusion.apply("x", [x], tf.float32, fails=("x < (T)0", "it is negative"))
    fusion.output(fusion.apply("sqrt(x)", [checked], tf.float32))
    fused, array, result = fusion.finish(), abs(random(40_000)), np.empty(40_000, np.float32)
    run_program(fused, [array], [result])
    assert np.array_equal(result, np.sqrt(array))
    array[where] = -1
    with pytest.raises(InvalidArgumentError, match="it is negative"):
        run_program(fused, [array], [result])
