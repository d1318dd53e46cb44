"""Native kernels of values in other shapes, of positions, and those that refuse what they meet."""

from __future__ import annotations

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.errors import InvalidArgumentError
from gpugraph.devices.native import Fusion, NotNativeError

from ..native_programs import SUM, Made, needs_compiler, run_program

pytestmark = needs_compiler


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def test_an_input_runs_along_another_axis() -> None:
    """A bias of channels, in the middle, whose number is that of the columns too."""
    made = Made()
    x, bias = made.input(random(4, 3, 2, 3)), made.input(random(3))
    made.output(made.apply("x + y", x, made.expand(bias, (3, 1, 1))))
    made.check()


def test_an_input_runs_along_both_axes_at_once() -> None:
    made = Made()
    x = made.input(random(40))
    made.output(made.apply("x * y", made.expand(x, (40, 1)), x))
    made.check()


def test_an_input_that_nobody_needs_may_have_another_shape() -> None:
    made = Made()
    x, y = made.input(random(4, 7)), made.input(random(4))
    made.expand(y, (4, 1))
    made.output(made.apply("x * x", x))
    made.check()


@pytest.mark.parametrize("size", [1, 7, 2000])
def test_what_is_computed_moves_with_all_it_is_made_of(size: int) -> None:
    made = Made()
    x, y = made.input(random(5)), made.input(random(5))
    total = made.apply("x * y", made.apply("exp(x)", x), made.apply("x - y", y, made.constant(0.5)))
    rows = made.expand(total, (5, 1))
    made.output(made.apply("x - y", made.input(random(5, size)), rows))
    made.check()


def test_a_reduction_moves_too() -> None:
    """Of rows of three matrices, which become columns of a wider space."""
    made = Made()
    x = made.reduce(SUM, made.input(random(6, 1)), [1])
    spread = made.expand(x, (6, 1, 1))
    made.output(made.apply("x + y", spread, made.input(random(6, 3, 4))))
    made.check()


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
    made = Made()
    x = made.input(random(*shape))
    places = made.cast(made.index(shape[-1]), tf.float32)
    made.output(made.apply("x + y", x, places))
    made.check()


def test_a_sum_over_positions() -> None:
    made = Made()
    product = made.apply("x * y", made.input(random(9, 50)), made.cast(made.index(50), tf.float32))
    made.output(made.reduce(SUM, product, [1]))
    made.check(1e-5, 1e-4)


def test_an_index_stays_along_the_last_axis() -> None:
    fusion = Fusion()
    double = fusion.apply("x + x", [fusion.index(5, tf.int32)], tf.int32)
    with pytest.raises(NotNativeError, match="not the last"):
        fusion.expand(double, (5, 1))


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
