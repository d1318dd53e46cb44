"""Native reductions: along rows, over rows, over all; ops before, between and after them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.devices.codegen.loop_schedule import schedule
from gpugraph.devices.native import Fusion, NotNativeError
from gpugraph.kernel import Call, Reduction

from ..native_programs import (
    MAX,
    MEAN,
    MIN,
    PROD,
    SUM,
    Made,
    needs_compiler,
    run_program,
    thread_for_any_work,
)

pytestmark = needs_compiler

SHAPES = [(5,), (3, 5), (7, 200), (64, 1030), (1000, 10), (2, 3, 70), (1, 50_000), (5, 1), (1, 1)]
SHAPES += [(0, 4), (4, 0), (3, 40_000)]


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.fixture(params=[1, 4])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run kernels of any size on the given number of threads."""
    monkeypatch.setenv("GPUGRAPH_THREADS", str(request.param))
    thread_for_any_work(monkeypatch)


def softmax(shape: tuple[int, ...]) -> Made:
    kernel = Made()
    x = kernel.input(random(*shape))
    shifted = kernel.apply("x - y", x, kernel.reduce(MAX, x, [-1]))
    powers = kernel.apply("exp(x)", shifted)
    kernel.output(kernel.apply("x / y", powers, kernel.reduce(SUM, powers, [-1])))
    return kernel


def layer_norm(shape: tuple[int, ...]) -> Made:
    kernel = Made()
    x, gamma, beta = (kernel.input(random(*sizes)) for sizes in (shape, shape[-1:], shape[-1:]))
    mean = kernel.reduce(MEAN, x, [-1])
    shifted = kernel.apply("x - y", x, mean)
    variance = kernel.reduce(MEAN, kernel.apply("x * x", shifted), [-1])
    scale = kernel.apply("sqrt(x)", kernel.apply("x + y", variance, kernel.constant(1e-3)))
    scaled = kernel.apply("x * y", kernel.apply("x / y", shifted, scale), gamma)
    kernel.output(kernel.apply("x + y", scaled, beta))
    kernel.output(mean)
    return kernel


def standardized(shape: tuple[int, ...]) -> Made:
    """Return each number of all of them: two passes over everything."""
    kernel = Made()
    x = kernel.input(random(*shape))
    mean = kernel.reduce(MEAN, x)
    shifted = kernel.apply("x - y", x, mean)
    square = kernel.reduce(MEAN, kernel.apply("x * x", shifted))
    root = kernel.apply("sqrt(x)", kernel.apply("x + y", square, kernel.constant(1e-3)))
    kernel.output(kernel.apply("x / y", shifted, root))
    kernel.output(kernel.apply("x + y", mean, square))
    return kernel


def bias_gradient(shape: tuple[int, ...]) -> Made:
    """Return a program of elements, their sum over rows, and the updated bias."""
    kernel = Made()
    dy, y = kernel.input(random(*shape)), kernel.input(random(*shape, seed=1))
    bias = kernel.input(random(*shape[-1:], seed=2))
    dx = kernel.apply("x * y", dy, kernel.apply("x < (T)0 ? (T)0 : x", y))
    sums = kernel.reduce(SUM, dx, list(range(len(shape) - 1)))
    kernel.output(dx)
    kernel.output(kernel.apply("x - y", bias, kernel.apply("x * y", sums, kernel.constant(0.1))))
    return kernel


def loss(shape: tuple[int, ...]) -> Made:
    """Return a number a row, and the mean of these."""
    kernel = Made()
    x, wanted = kernel.input(random(*shape)), kernel.input(random(*shape, seed=1))
    rows = kernel.reduce(SUM, kernel.apply("x * x", kernel.apply("x - y", x, wanted)), [-1])
    kernel.output(rows)
    kernel.output(kernel.apply("x * y", kernel.reduce(MEAN, rows), kernel.constant(2.0)))
    return kernel


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("make", [softmax, layer_norm, standardized, bias_gradient, loss])
@pytest.mark.filterwarnings("ignore:Mean of empty slice")
def test_reductions_with_what_surrounds_them(
    make: Any, shape: tuple[int, ...], threads: int
) -> None:
    if make in (bias_gradient, layer_norm) and len(shape) < 2:
        shape = (1, *shape)
    make(shape).check(4e-6, 4e-6)


REDUCTIONS = {"sum": SUM, "mean": MEAN, "max": MAX, "min": MIN, "product": PROD}


@pytest.mark.parametrize("axes", [None, [-1], [0, 1]], ids=["all", "last", "rows"])
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.usefixtures("threads")
def test_each_reduction_over_each_axis(name: str, axes: Any) -> None:
    kernel = Made()
    x = kernel.input(1 + 0.01 * random(3, 40, 65))
    kernel.output(kernel.reduce(REDUCTIONS[name], x, axes))
    kernel.output(kernel.reduce(REDUCTIONS[name], kernel.apply("-x", x), axes))
    kernel.check(2e-5)


@pytest.mark.parametrize("axes", [[1], [0, 2]])
def test_other_axes_are_refused_with_a_reason(axes: list[int]) -> None:
    kernel = Made()
    kernel.output(kernel.reduce(SUM, kernel.input(random(3, 4, 5)), axes))
    with pytest.raises(NotNativeError, match="neither over the last axes"):
        kernel.finish()


def test_what_needs_all_rows_in_each_is_refused() -> None:
    kernel = Made()
    x, bias = kernel.input(random(3, 4)), kernel.input(random(4))
    shifted = kernel.apply("x + y", x, bias)
    kernel.output(kernel.apply("x / y", shifted, kernel.reduce(SUM, shifted)))
    with pytest.raises(NotNativeError, match="all rows"):
        kernel.finish()


def test_reductions_of_one_element_are_the_element() -> None:
    kernel = Made()
    x = kernel.input(random(1, 1))
    kernel.output(kernel.reduce(MEAN, kernel.reduce(MAX, x)))
    kernel.check(0, 0)


def test_a_reduction_counts_only_the_axes_its_value_has() -> None:
    """The mean of one number a row over all axes is the mean of the rows."""
    kernel = Made()
    rows, x = kernel.input(random(6, 1)), kernel.input(random(6, 5))
    kernel.output(kernel.apply("x + y", x, rows))
    kernel.output(kernel.reduce(MEAN, rows))
    kernel.check()


@pytest.mark.parametrize("place", [0, 700, 1299])
@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_are_nan_where_an_element_is(name: str, place: int) -> None:
    x = random(2, 1300)
    x[1, place] = np.nan
    kernel = Made()
    kernel.output(kernel.reduce(REDUCTIONS[name], kernel.input(x), [-1]))
    (result,) = kernel.run()
    assert np.isnan(result).tolist() == [[False], [True]]


def test_integers_and_booleans_are_reduced_exactly() -> None:
    x = np.random.default_rng(0).integers(-(2**31), 2**31, (50, 3001)).astype(np.int32)
    fusion = Fusion()
    a = fusion.input(tf.int32, x.shape)
    some = fusion.apply("x > (T)0", [a], tf.bool)
    largest = Reduction("(T)(-2147483647 - 1)", "a > b ? a : b", Call())
    fusion.output(fusion.reduce(SUM, a, [-1]))
    fusion.output(fusion.reduce(largest, a, [0]))
    fusion.output(fusion.reduce(Reduction("(T)1", "a && b", Call()), some, [-1]))
    result = [np.empty((50,), np.int32), np.empty((3001,), np.int32), np.empty((50,), np.bool_)]
    run_program(fusion.finish(), [x], result)
    assert result[0].tolist() == x.sum(1, dtype=np.int32).tolist()
    assert result[1].tolist() == x.max(0).tolist()
    assert result[2].tolist() == (x > 0).all(1).tolist()


def test_half_precision_is_summed_in_single() -> None:
    x = np.full((2, 5000), 1.001, np.float16)
    fusion = Fusion()
    fusion.output(fusion.reduce(SUM, fusion.input(tf.float16, x.shape), [-1]))
    result = np.empty(2, np.float16)
    run_program(fusion.finish(), [x], [result])
    assert result.tolist() == x.sum(1, dtype=np.float32).astype(np.float16).tolist()


@pytest.mark.parametrize("shape", [(1_000_003,), (100_000, 7), (7, 100_003)])
def test_sums_are_at_least_as_accurate_as_numpy_s(shape: tuple[int, ...]) -> None:
    """Sums over all elements and along each axis, of numbers of one sign, which lose the most
    bits.
    """
    x = np.random.default_rng(3).uniform(0, 1, shape).astype(np.float32)
    for axes in [None, [0], [-1]] if len(shape) > 1 else [None]:
        fusion = Fusion()
        total = fusion.reduce(SUM, fusion.input(tf.float32, shape), axes)
        fusion.output(total)
        result = np.empty(fusion.shape(total), np.float32)
        run_program(fusion.finish(), [x], [result])
        over = None if axes is None else tuple(axes)
        exact = x.astype(np.float64).sum(over, keepdims=True)
        error = np.abs(result - exact).max() / exact.max()
        numpy_error = np.abs(x.sum(over, keepdims=True) - exact).max() / exact.max()
        assert error <= max(numpy_error, 1.2e-7), f"{axes}: {error} against {numpy_error}"


@pytest.mark.parametrize("shape", [(300_001,), (50, 30_000), (20_000, 33), (1000, 2, 17)])
def test_results_do_not_depend_on_threads(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    thread_for_any_work(monkeypatch)
    result = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("GPUGRAPH_THREADS", threads)
        kernel = Made()
        x = kernel.input(random(*shape))
        squares = kernel.apply("x * x", x)
        for axes in [None] if len(shape) == 1 else [None, [-1], list(range(len(shape) - 1))]:
            kernel.output(kernel.reduce(SUM, squares, axes))
        result.append([array.tobytes() for array in kernel.run()])
    assert result[0] == result[1] == result[2]


@pytest.mark.parametrize("make", [softmax, layer_norm, standardized, bias_gradient])
@pytest.mark.parametrize("shape", [(33, 100), (5, 2000)])
def test_the_first_output_may_be_the_first_input_s_memory(
    make: Any, shape: tuple[int, ...]
) -> None:
    kernel = make(shape)
    apart = kernel.run()
    outputs = kernel.outputs()
    outputs[0] = kernel.arrays[0]
    run_program(kernel.finish(), kernel.arrays, outputs)
    for one, other in zip(outputs, apart):
        assert one.tobytes() == other.tobytes()


def test_what_is_dear_is_computed_once() -> None:
    """The powers of softmax wait in the output; those of a log-softmax are not needed again."""
    passes = schedule(softmax((4, 9)).finish().program).passes
    assert [bool(row_pass.reloads) for row_pass in passes] == [False, False, True]


def test_what_is_dear_does_not_wait_where_an_input_is_read_again() -> None:
    """The output may be that input's memory."""
    kernel = Made()
    x = kernel.input(random(4, 9))
    powers = kernel.apply("exp(x)", x)
    total = kernel.reduce(SUM, powers, [-1])
    kernel.output(kernel.apply("x + y", kernel.apply("x / y", powers, total), x))
    assert not any(row_pass.reloads for row_pass in schedule(kernel.finish().program).passes)
    kernel.check()
