"""Programs as CUDA text, run on the host by the C++ compiler, agree with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import gpugraph as tf
from gpugraph.devices.cuda.launching import generated_kernels as generated
from gpugraph.devices.cuda.launching.cuda_kernel_source import CudaSource
from gpugraph.devices.cuda.launching.generated_kernels import variant_for
from gpugraph.devices.cuda.launching.online_totals import SourceVariant
from gpugraph.devices.native import NotNativeError

from ...native.test_random_programs import check_random, draw_program
from ...native_programs import MAX, MEAN, MIN, SUM, Made
from ..gpus import needs_cxx, run_program

pytestmark = needs_cxx


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(dtype)


def softmax(*shape: int) -> Made:
    builder = Made()
    x = builder.input(numbers(*shape))
    axes = [len(shape) - 1]
    e = builder.apply("exp(x)", builder.apply("x - y", x, builder.reduce(MAX, x, axes)))
    builder.output(builder.apply("x / y", e, builder.reduce(SUM, e, axes)))
    return builder


@pytest.mark.parametrize("size", [1, 3, 8, 1027])
def test_elements_are_loaded_several_at_a_time_and_the_rest_one_by_one(size: int) -> None:
    builder = Made()
    x, y = builder.input(numbers(size)), builder.input(numbers(size, seed=2))
    builder.output(builder.apply("x * y", builder.apply("tanh(x)", x), y))
    builder.output(builder.apply("x < y", x, y, dtype=tf.bool), tf.bool)
    builder.check(by=run_program)


@pytest.mark.parametrize("shape", [(5, 12), (5, 7), (2, 3, 5, 8)])
def test_elements_broadcast_along_any_axes(shape: tuple[int, ...]) -> None:
    builder = Made()
    x, row = builder.input(numbers(*shape)), builder.input(numbers(shape[-1], seed=2))
    column = builder.input(numbers(*shape[:-1], 1, seed=3))
    first = builder.input(numbers(*shape[:1], *(1,) * (len(shape) - 1), seed=4))
    builder.output(
        builder.apply(
            "x + y", builder.apply("x + y", x, row), builder.apply("x * y", column, first)
        )
    )
    builder.check(by=run_program)


@pytest.mark.parametrize("shape", [(37, 10), (6, 33), (3, 1500), (20,), (40_000,)])
def test_rows_are_reduced_by_a_thread_a_warp_a_block_or_several_blocks(shape: Any) -> None:
    softmax(*shape).check(by=run_program)


@pytest.mark.parametrize("shape", [(300, 10), (50, 70), (3, 1030), (1000, 3)])
def test_columns_are_added_up_beside_elements_and_totals(shape: tuple[int, int]) -> None:
    builder = Made()
    x = builder.input(numbers(*shape))
    y = builder.apply("x * x", x)
    builder.output(y)
    builder.output(builder.reduce(SUM, y, [0]))
    builder.output(builder.reduce(MEAN, y))
    builder.output(builder.reduce(MIN, x, [0]))
    builder.check(rtol=1e-5, by=run_program)


@pytest.mark.parametrize("shape", [(300, 24), (50, 72), (70, 1032), (40, 36), (5, 8192)])
def test_columns_are_loaded_in_packs(shape: tuple[int, int]) -> None:
    """Of 8 numbers where the length allows it: the sums have the order of the rows all the same."""
    builder = Made()
    x = builder.input(numbers(*shape).astype(np.float16))
    builder.output(builder.reduce(SUM, x, [0]), tf.float16)
    square = builder.apply("x * x", x, dtype=tf.float16)
    builder.output(builder.reduce(MAX, square, [0]), tf.float16)
    builder.output(builder.reduce(MEAN, x), tf.float16)
    builder.check(rtol=2e-3, atol=2e-3, by=run_program)


@pytest.mark.parametrize("shape", [(300, 10), (50, 70), (4, 1100)])
def test_rows_and_columns_are_reduced_by_one_kernel(shape: tuple[int, int]) -> None:
    builder = Made()
    x = builder.input(numbers(*shape))
    centered = builder.apply("x - y", x, builder.reduce(MEAN, x, [1]))
    builder.output(centered)
    builder.output(builder.reduce(SUM, centered, [0]))
    builder.output(builder.reduce(SUM, builder.reduce(MAX, x, [1]), [0]))
    builder.check(rtol=1e-4, atol=1e-4, by=run_program)


def test_numbers_need_no_elements() -> None:
    builder = Made()
    x = builder.input(numbers())
    builder.output(builder.apply("x + y", x, builder.constant(2.5)))
    builder.check(by=run_program)


def test_float16_is_computed_in_float_and_rounded() -> None:
    builder = Made()
    x = builder.input(numbers(3, 40, dtype=np.float16))
    y = builder.apply("x * y", x, x, dtype=tf.float16)
    builder.output(y, tf.float16)
    builder.output(builder.reduce(SUM, y, [1]), tf.float16)
    builder.check(rtol=2e-3, atol=2e-3, by=run_program)


def test_threads_may_run_in_any_order() -> None:
    builder = softmax(5, 1500)
    forwards, backwards = builder.run(run_program), builder.outputs()
    run_program(builder.finish(), builder.arrays, backwards, backwards=True)
    np.testing.assert_array_equal(forwards[0], backwards[0])


def test_places_that_need_64_bits_change_the_index_alone() -> None:
    program, _ = softmax(3, 40).finish()
    short, wide = (
        CudaSource(program, SourceVariant(group=32, wide=wide)).source for wide in (False, True)
    )
    assert "typedef int32_t gg_index;" in short
    assert "typedef int64_t gg_index;" in wide


def test_a_pack_is_as_wide_as_sizes_and_addresses_allow() -> None:
    class Place:
        def __init__(self, address: int, dtype: Any) -> None:
            self.address, self.dtype = address, np.dtype(dtype)

    builder = Made()
    builder.output(builder.apply("-x", builder.input(numbers(6, 6))))
    program, _ = builder.finish()
    aligned = [Place(0, np.float32), Place(256, np.float32)]
    assert variant_for(program, (36,), aligned).pack == 4
    assert variant_for(program, (36,), [Place(4, np.float32), *aligned]).pack == 1
    assert variant_for(program, (36,), [Place(8, np.float32), *aligned]).pack == 2
    assert variant_for(program, (36,), [Place(0, np.float64), *aligned]).pack == 2
    assert variant_for(program, (36,), [Place(0, np.float16)]).pack == 8


@given(st.data())
@settings(max_examples=15, deadline=None)
def test_any_program_computes_what_numpy_computes(data: st.DataObject) -> None:
    builder = draw_program(data.draw)
    try:
        builder.finish()
    except NotNativeError:
        return
    check_random(builder, builder.run(run_program))


def test_more_arrays_than_a_kernel_takes_are_left_to_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(generated, "MAX_ARGUMENTS", 30)
    with tf.Graph().as_default():
        inputs = [tf.placeholder(tf.float32, [2]) for _ in range(28)]
        with tf.device("/gpu:0"):
            few, many = tf.add_n(inputs[:20]), tf.add_n(inputs)
        feeds = {x: [index, 1] for index, x in enumerate(inputs)}
        options = tf.GPUOptions(emulated_gpus=1)
        with tf.Session(config=tf.ConfigProto(gpu_options=options)) as session:
            report = str(session.explain([few, many], feeds))
            assert "29 arrays are more than a kernel takes" in report and "21 arrays" not in report
            for _ in range(3):
                result = session.run([few, many], feeds)
                assert [array.tolist() for array in result] == [[190, 20], [378, 28]]
