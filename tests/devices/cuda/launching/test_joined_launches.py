"""Joined launches of one kernel compute the same as separate launches, to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from gpugraph.base.dtypes import as_dtype
from gpugraph.devices import CudaDevice, Enqueued
from gpugraph.devices.cuda.driver.driver_interface import Product
from gpugraph.devices.cuda.launching.enqueued_work import MAX_BLOCKS
from gpugraph.devices.cuda.launching.joined_launches import WORDS, join
from gpugraph.devices.cuda.transfers.gpu_array import Array
from gpugraph.devices.native import Fused, NotNativeError
from gpugraph.kernel import ViewCopies

from ...native.test_random_programs import draw_program
from ...native_programs import SUM, Made
from ..gpus import gpu, needs_cxx, on_gpu

pytestmark = needs_cxx


class Takes(Exception):
    """It takes scratch memory, so that it is several launches."""


def take(*_: Any) -> Any:
    raise Takes


def bound(device: CudaDevice, fused: Fused, arrays: Sequence[Array], inputs: int) -> Enqueued:
    return device.kernels.program(*fused, arrays[:inputs], arrays[inputs:], take, int)


def both_ways(device: CudaDevice, steps: Sequence[Enqueued], results: Sequence[Array]) -> int:
    """Check that the results are the same bits alone and joined, and return the number of
    launches.
    """
    before = [device.read(array) for array in results]
    for step in steps:
        step()
    alone = [device.read(array) for array in results]
    for array, value in zip(results, before):
        device.write(array, value)
    result = device.kernels.joined(steps)
    result()
    for array, value in zip(results, alone):
        assert device.read(array).tobytes() == value.tobytes()
    return len(result.calls)


def scaled(sizes: Sequence[int], dtype: Any = np.float32) -> list[Fused]:
    """y = y - rate * x for vectors: `rate` is a number by its address."""
    results = []
    for size in sizes:
        one = Made()
        y, x = (one.input(np.zeros(size, dtype)) for _ in range(2))
        rate = one.input(np.zeros((), dtype))
        kind = as_dtype(dtype)
        one.output(one.apply("x - y", y, one.apply("x * y", rate, x, dtype=kind), dtype=kind))
        results.append(one.finish())
    return results


def vectors(device: CudaDevice, sizes: Sequence[int], dtype: Any, shift: int = 0) -> list[Array]:
    """Vectors of numbers, each `shift` elements behind where memory is aligned."""
    results = []
    for size in sizes:
        numbers = np.random.default_rng(size).uniform(-2, 2, size + shift).astype(dtype)
        whole = on_gpu(device, numbers)
        results.append(Array(whole.address + shift * whole.dtype.itemsize, (size,), whole.dtype))
    return results


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
@pytest.mark.parametrize("shift", [0, 1])
def test_vectors_of_any_sizes_and_addresses_are_updated_in_one_launch(
    dtype: Any, shift: int
) -> None:
    sizes = [2, 3, 255, 7, 4097, 256, 20_001, 5, 64]
    with closing(gpu()) as device:
        rate = on_gpu(device, np.asarray(0.3, dtype))
        ys, xs = (vectors(device, sizes, dtype, value) for value in (shift, 0))
        steps = [
            bound(device, fused, [y, x, rate, y], 3)
            for fused, y, x in zip(scaled(sizes, dtype), ys, xs)
        ]
        assert len({step.kind() for step in steps}) == 1
        assert both_ways(device, steps, ys) == 1


def test_numbers_and_rows_are_joined_too() -> None:
    with closing(gpu()) as device:
        numbers = [on_gpu(device, np.float32(value)) for value in (1.5, -2.0, 3.25)]
        steps = [
            bound(device, fused, [y, y, numbers[0], y], 3)
            for fused, y in zip(scaled([1, 1]), numbers[1:])
        ]
        assert both_ways(device, steps, numbers[1:]) == 1
        steps, sums = [], []
        for rows in (1, 9, 40):
            one = Made()
            x = one.input(np.zeros((rows, 33), np.float32))
            one.output(one.reduce(SUM, x, [1]), shape=(rows, 1))
            source = on_gpu(device, np.random.default_rng(rows).random((rows, 33), np.float32))
            sums.append(on_gpu(device, np.zeros((rows, 1), np.float32)))
            fused = one.finish()
            steps.append(bound(device, fused, [source, sums[-1]], 1))
        assert steps[1].kind() == steps[2].kind() != steps[0].kind()
        assert both_ways(device, steps[1:], sums[1:]) == 1


def test_what_a_table_does_not_hold_takes_another_launch() -> None:
    sizes = list(range(2, 302))
    with closing(gpu()) as device:
        rate = on_gpu(device, np.float32(0.3))
        ys, xs = vectors(device, sizes, np.float32), vectors(device, sizes, np.float32)
        steps = [
            bound(device, fused, [y, x, rate, y], 3) for fused, y, x in zip(scaled(sizes), ys, xs)
        ]
        assert both_ways(device, steps, ys) == 3  # of each: blocks end, y, x, size
        works = [step.parts[0].work for step in steps]
        joined = list(join([work for work in works if work is not None]))
        assert [work.arguments[0] for work in joined] == [124, 124, 52]
        assert {len(work.arguments) for work in joined} == {WORDS}
        assert [span for work in joined for span in work.writes] == [
            (y.address, y.nbytes) for y in ys
        ]


@given(st.data())
@settings(max_examples=8, deadline=None)
def test_any_program_gives_the_same_bits_joined(data: st.DataObject) -> None:
    builder = draw_program(data.draw)
    try:
        fused = builder.finish()
    except NotNativeError:
        assume(False)
    with closing(gpu()) as device:
        steps, results = [], []
        for seed in range(data.draw(st.integers(1, 4))):
            inputs = [on_gpu(device, value + np.float32(seed)) for value in builder.arrays]
            outputs = [on_gpu(device, value) for value in builder.outputs()]
            try:
                steps.append(bound(device, fused, [*inputs, *outputs], len(inputs)))
            except Takes:
                assume(False)
            results += outputs
        assume(steps[0].kind() is not None)
        assert both_ways(device, steps, results) == 1


def test_what_is_large_or_several_launches_stays_alone() -> None:
    with closing(gpu()) as device:
        rate = on_gpu(device, np.float32(0.3))
        for size, is_small in ((1024 * MAX_BLOCKS, True), (1024 * MAX_BLOCKS + 4, False)):
            [fused] = scaled([size])
            y = on_gpu(device, np.zeros(size, np.float32))
            step = bound(device, fused, [y, y, rate, y], 3)
            assert (step.kind() is not None) == is_small
            assert device.kernels.both(step, step).kind() is None
        copy = device.kernels.moves(ViewCopies(lambda _, x, z: [(x, z)]), None, [y, y])
        assert copy.kind() is None


def test_what_a_step_touches_is_what_its_parts_touch() -> None:
    with closing(gpu()) as device:
        x, z = (on_gpu(device, np.zeros(8, np.float32)) for _ in range(2))
        copy = device.kernels.moves(ViewCopies(lambda _, x, z: [(x[:4], z[4:])]), None, [x, z])
        assert copy.touches() == (((x.address, 16),), ((z.address + 16, 16),))
        product = Product(1, 1, 1, "float32", x.address, x.address, z.address, 1, 1, 1)
        part = device.kernels._by_cublaslt(product)
        assert part is not None and part.touches is not None
        assert (z.address, 4) in part.touches.writes
