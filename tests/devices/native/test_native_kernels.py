"""Native elementwise kernels: broadcasting, dtypes, memory, threads, calls, and refusals."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.base.errors import InternalError, InvalidArgumentError
from gpugraph.devices.codegen import c_compiler as compiler_module
from gpugraph.devices.native import Fusion, NotNativeError, prepare, sequence
from gpugraph.devices.native.native_runtime import RUNTIME

from ..native_programs import Made, needs_compiler, run_program, thread_for_any_work

pytestmark = needs_compiler

ROOT = Path(compiler_module.__file__).resolve().parents[3]


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


SHAPES = [
    [(5,), (5,)],
    [(4, 5), (5,)],
    [(4, 5), (4, 1)],
    [(4, 1), (1, 5)],
    [(4, 5), ()],
    [(2, 3, 4), (3, 1)],
    [(2, 1, 4), (1, 3, 1)],
    [(2, 1, 3, 1, 2), (5, 1, 4, 1)],
    [(), ()],
    [(1, 1), (1,)],
    [(0, 3), (3,)],
    [(3, 0), (3, 1)],
    [(100, 700), (700,)],
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_shapes_broadcast_as_in_numpy(shapes: list[tuple[int, ...]]) -> None:
    kernel = Made()
    x, y = (kernel.input(random(*shape, seed=index)) for index, shape in enumerate(shapes))
    total = kernel.apply("x + y", x, y)
    kernel.output(kernel.apply("x * y", total, y))
    kernel.check()


@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (3, 1), ()])
def test_an_output_may_repeat_its_value(shape: tuple[int, ...]) -> None:
    kernel = Made()
    x = kernel.input(random(*shape))
    kernel.output(kernel.apply("-x", x), shape=(3, 4))
    kernel.check()


def test_shapes_that_differ_by_size_alone_share_a_program() -> None:
    def program(rows: int, columns: int) -> Any:
        kernel = Made()
        x, bias = kernel.input(random(rows, columns)), kernel.input(random(columns))
        kernel.output(kernel.apply("x + y", x, bias))
        return kernel.finish()

    one, other = program(3, 70), program(50, 80)
    assert one.program == other.program
    assert (one.sizes, other.sizes) == ((3, 70), (50, 80))
    assert prepare([one.program]) == prepare([other.program])
    assert program(3, 4).program != program(3, 5).program, "narrow rows have loops of their own"


def test_several_outputs_and_constants() -> None:
    kernel = Made()
    x = kernel.input(random(1000))
    y = kernel.apply("x * y", x, kernel.constant(0.1))
    kernel.output(kernel.apply("exp(x)", y))
    kernel.output(y)
    kernel.output(kernel.apply("x < y", x, kernel.constant(-np.inf), dtype=tf.bool), tf.bool)
    kernel.check()


NUMBERS = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, 3.5]


def test_constants_are_exactly_their_values() -> None:
    fusion = Fusion()
    values = [*NUMBERS, 0.1]
    for value in values:
        fusion.output(fusion.constant(value, tf.float64))
    for integer in (-(2**63), 2**63 - 1):
        fusion.output(fusion.constant(integer, tf.int64))
    fusion.output(fusion.constant(2**64 - 1, tf.uint64))
    fusion.output(fusion.constant(True, tf.bool))
    types = [np.float64] * 8 + [np.int64] * 2 + [np.uint64, np.bool_]
    result = [np.zeros((), dtype) for dtype in types]
    run_program(fusion.finish(), [], result)
    assert [str(value) for value in result] == [
        *(str(np.float64(value)) for value in values),
        "-9223372036854775808",
        "9223372036854775807",
        "18446744073709551615",
        "True",
    ]


def test_zeros_of_both_signs_are_two_programs() -> None:
    def program(value: float) -> Any:
        fusion = Fusion()
        fusion.output(fusion.constant(value, tf.float32))
        return fusion.finish().program

    assert program(0.0) != program(-0.0)
    assert program(np.nan) == program(np.nan)


def test_arithmetic_is_numpy_s_to_the_last_bit() -> None:
    """No product and sum are contracted: x * y - x * y is 0, as in NumPy."""
    x, y, z = (random(10_007, seed=seed) for seed in range(3))
    fusion = Fusion()
    a, b, c = (fusion.input(tf.float32, (10_007,)) for _ in range(3))
    product = fusion.apply("x * y", [a, b], tf.float32)
    root = fusion.apply("sqrt(x)", [fusion.apply("x * x", [c], tf.float32)], tf.float32)
    fusion.output(fusion.apply("x - y", [product, root], tf.float32))
    fusion.output(fusion.apply("x / y", [product, c], tf.float32))
    result = [np.empty_like(x), np.empty_like(x)]
    run_program(fusion.finish(), [x, y, z], result)
    assert result[0].tobytes() == (x * y - np.sqrt(z * z)).tobytes()
    assert result[1].tobytes() == (x * y / z).tobytes()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64])
def test_integers_wrap_as_in_numpy(dtype: Any) -> None:
    info = np.iinfo(dtype)
    x = np.array([info.max, info.min, info.max, 1, 7], dtype)
    y = np.array([1, info.max, info.max, info.max, 9], dtype)
    kernel = Made()
    a, b = kernel.input(x), kernel.input(y)
    kind = tf.as_dtype(dtype)
    with np.errstate(all="ignore"):
        for text in ("x + y", "x - y", "x * y"):
            kernel.output(kernel.apply(text, a, b, dtype=kind), kind)
    for result, wanted in zip(kernel.run(), kernel.wanted):
        assert result.tolist() == wanted.tolist()


def test_casts_between_all_dtypes() -> None:
    kinds = [tf.bool, tf.float16, tf.float32, tf.float64, tf.int8, tf.uint8, tf.int16]
    kinds += [tf.uint16, tf.int32, tf.uint32, tf.int64, tf.uint64]
    kernel = Made()
    for source in kinds:
        x = kernel.input(np.array([0, 1, 2, 100, 3], source.as_numpy_dtype))
        for target in kinds:
            kernel.output(kernel.cast(x, target), target)
    for result, wanted in zip(kernel.run(), kernel.wanted):
        assert result.tolist() == wanted.tolist()


def test_casts_cut_off_fractions_and_keep_low_bits() -> None:
    kernel = Made()
    x = kernel.input(np.array([-1.9, 1.9, 300.7, -129.0, 65537.0], np.float32))
    for target in (tf.int8, tf.uint8, tf.int16, tf.int32, tf.int64):
        kernel.output(kernel.cast(x, target), target)
    with np.errstate(all="ignore"):
        for result, wanted in zip(kernel.run(), kernel.wanted):
            assert result.tolist() == wanted.tolist()


def test_booleans_are_0_or_1_whatever_their_bytes() -> None:
    odd = np.array([0, 1, 2, 255], np.uint8).view(np.bool_)
    fusion = Fusion()
    x = fusion.input(tf.bool, (4,))
    fusion.output(x)
    fusion.output(fusion.apply("!x", [x], tf.bool))
    result = [np.empty(4, np.bool_), np.empty(4, np.bool_)]
    run_program(fusion.finish(), [odd], result)
    assert result[0].view(np.uint8).tolist() == [0, 1, 1, 1]
    assert result[1].view(np.uint8).tolist() == [1, 0, 0, 0]


def test_half_precision_is_rounded_after_each_op() -> None:
    x = random(5000).astype(np.float16)
    fusion = Fusion()
    a = fusion.input(tf.float16, x.shape)
    once = fusion.apply("x * x", [a], tf.float16)
    fusion.output(fusion.apply("x + y", [once, a], tf.float16))
    result = [np.empty_like(x)]
    run_program(fusion.finish(), [x], result)
    assert result[0].tobytes() == (x * x + x).tobytes()


# -- memory


@pytest.mark.parametrize("size", [1, 15, 16, 17, 1000, 100_003])
def test_outputs_may_be_inputs_memory(size: int) -> None:
    """Each output is the memory of the other's input, and both are read for both."""
    x, y = random(size), random(size, seed=1)
    wanted = (x + y, x - y)
    fusion = Fusion()
    a, b = fusion.input(tf.float32, (size,)), fusion.input(tf.float32, (size,))
    fusion.output(fusion.apply("x + y", [a, b], tf.float32))
    fusion.output(fusion.apply("x - y", [a, b], tf.float32))
    run_program(fusion.finish(), [x, y], [y, x])
    assert y.tobytes() == wanted[0].tobytes()
    assert x.tobytes() == wanted[1].tobytes()


def test_an_output_of_another_dtype_may_be_an_inputs_memory() -> None:
    x = random(1001) * 100
    wanted = x.astype(np.int32)
    fusion = Fusion()
    fusion.output(fusion.apply("(U)x", [fusion.input(tf.float32, x.shape)], tf.int32))
    run_program(fusion.finish(), [x], [x.view(np.int32)])
    assert x.view(np.int32).tolist() == wanted.tolist()


def test_a_bound_kernel_keeps_its_arrays() -> None:
    fusion = Fusion()
    fusion.output(fusion.apply("-x", [fusion.input(tf.float32, (4,))], tf.float32))
    fused = fusion.finish()
    [prepared] = prepare([fused.program])
    function = prepared.get(wait=True)
    assert function is not None
    x, out = np.ones(4, np.float32), np.zeros(4, np.float32)
    gone = weakref.ref(x)
    run = function.bind([x], [out], fused.sizes)
    del x
    gc.collect()
    assert gone() is not None
    run()
    assert out.tolist() == [-1] * 4
    del run
    gc.collect()
    assert gone() is None


# -- errors


def bound(*arrays: np.ndarray, sizes: tuple[int, ...] = (4,)) -> Any:
    fusion = Fusion()
    fusion.output(fusion.apply("-x", [fusion.input(tf.float32, (4,))], tf.float32))
    [prepared] = prepare([fusion.finish().program])
    function = prepared.get(wait=True)
    assert function is not None
    return function.bind(arrays[:-1], arrays[-1:], sizes)


GOOD = np.zeros(4, np.float32)


@pytest.mark.parametrize(
    ("arrays", "sizes", "message"),
    [
        ([GOOD], (4,), "2 arrays over 1 axes was given 1 arrays"),
        ([GOOD, GOOD], (2, 2), "sizes [2, 2]"),
        ([GOOD, np.zeros(5, np.float32)], (4,), "Array 1 of a native kernel must be"),
        ([GOOD.astype(np.float64), GOOD], (4,), "float32 with 4 elements, but is float64[4]"),
        ([np.zeros(8, np.float32)[::2], GOOD], (4,), "not C-ordered"),
        ([GOOD, np.frombuffer(bytes(16), np.float32)], (4,), "read-only"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arrays: Any, sizes: Any, message: str) -> None:
    with pytest.raises(InternalError) as caught:
        bound(*arrays, sizes=sizes)
    assert message in str(caught.value)


def test_integers_divided_by_zero_are_an_error_at_the_call() -> None:
    x, y = np.arange(1, 1001, dtype=np.int32), np.ones(1000, np.int32)
    out = np.zeros(1000, np.int32)
    fusion = Fusion()
    a, b = fusion.input(tf.int32, (1000,)), fusion.input(tf.int32, (1000,))
    text = "y == (T)0 ? (T)0 : y == (T)-1 && (T)-1 < (T)0 ? (T)0 - x : x / y"
    fusion.output(fusion.apply(text, [a, b], tf.int32))
    fused = fusion.finish()
    [prepared] = prepare([fused.program])
    function = prepared.get(wait=True)
    assert function is not None
    run = function.bind([x, y], [out], fused.sizes)
    run()
    assert out.tolist() == x.tolist()
    y[777] = 0
    with pytest.raises(InvalidArgumentError, match="Integer division by zero"):
        run()
    y[777] = 2
    run()
    assert out[777] == 389


@pytest.mark.parametrize("dtype", [tf.complex64, tf.complex128, tf.string, tf.resource])
def test_dtypes_without_kernels_are_refused_with_a_reason(dtype: tf.DType) -> None:
    with pytest.raises(NotNativeError, match=dtype.name):
        Fusion().input(dtype, (3,))


def test_shapes_that_do_not_fit_are_refused() -> None:
    fusion = Fusion()
    x, y = fusion.input(tf.float32, (3,)), fusion.input(tf.float32, (4,))
    with pytest.raises(NotNativeError, match="don't broadcast"):
        fusion.apply("x + y", [x, y], tf.float32)


def test_no_compiler_is_a_reason_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUGRAPH_NATIVE", "0")
    fusion = Fusion()
    fusion.output(fusion.apply("x + (T)424242", [fusion.input(tf.float32, (3,))], tf.float32))
    program = fusion.finish().program
    [prepared] = prepare([program])
    assert prepared.get() is None
    assert prepared.get(wait=True) is None
    assert "GPUGRAPH_NATIVE=0" in prepared.reason
    monkeypatch.delenv("GPUGRAPH_NATIVE")
    [prepared] = prepare([program])
    assert prepared.get(wait=True) is not None


def test_a_text_that_is_no_c_is_a_reason() -> None:
    fusion = Fusion()
    fusion.output(fusion.apply("no such thing", [fusion.input(tf.float32, (3,))], tf.float32))
    [prepared] = prepare([fusion.finish().program])
    assert prepared.get(wait=True) is None
    assert "failed (1)" in prepared.reason


# -- threads


@pytest.fixture
def many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels of any size run on four threads."""
    monkeypatch.setenv("GPUGRAPH_THREADS", "4")
    thread_for_any_work(monkeypatch)


@pytest.mark.usefixtures("many_threads")
@pytest.mark.parametrize("shapes", [[(300_001,), ()], [(70, 3000), (3000,)], [(3, 90_000), (3, 1)]])
def test_threads_share_the_work(shapes: list[tuple[int, ...]]) -> None:
    kernel = Made()
    x, y = (kernel.input(random(*shape, seed=index)) for index, shape in enumerate(shapes))
    kernel.output(kernel.apply("tanh(x)", kernel.apply("x * y", x, y)))
    runtime = RUNTIME.get(True)
    assert runtime is not None
    others = runtime.threads()  # of earlier tests
    kernel.check()
    assert 1 <= runtime.threads() <= max(3, others)


@pytest.mark.usefixtures("many_threads")
def test_kernels_may_run_in_several_python_threads() -> None:
    fusion = Fusion()
    fusion.output(fusion.apply("exp(x)", [fusion.input(tf.float32, (200_000,))], tf.float32))
    fused = fusion.finish()
    [prepared] = prepare([fused.program])
    function = prepared.get(wait=True)
    assert function is not None
    failures = []

    def work(seed: int) -> None:
        x = random(200_000, seed=seed)
        out = np.empty_like(x)
        run = function.bind([x], [out], fused.sizes)
        for _ in range(30):
            out.fill(0)
            run()
            if not np.allclose(out, np.exp(x), 1e-6):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


FORK = """
import os
import numpy as np
import gpugraph as tf
from gpugraph.devices.native import Fusion, prepare
from gpugraph.devices.native import native_runtime

fusion = Fusion()
fusion.output(fusion.apply("x + x", [fusion.input(tf.float32, (900_000,))], tf.float32))
fused = fusion.finish()
x, out = np.ones(900_000, np.float32), np.zeros(900_000, np.float32)
run = prepare([fused.program])[0].get(wait=True).bind([x], [out], fused.sizes)
run()
before = native_runtime.RUNTIME.get(True).threads()
child = os.fork()
if child == 0:
    fresh = native_runtime.RUNTIME.get(True).threads()
    out.fill(0)
    run()
    after = native_runtime.RUNTIME.get(True).threads()
    os._exit(0 if (out == 2).all() and (fresh, after) == (0, 2) else 1)
out.fill(0)
run()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), before, (out == 2).all())
"""


def test_a_forked_process_makes_its_own_threads() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GPUGRAPH_THREADS": "3"}
    quiet = "ignore:This process:DeprecationWarning"  # Python 3.12: a fork beside threads
    done = subprocess.run(
        [sys.executable, "-W", quiet, "-c", FORK],
        env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.stdout.strip(), done.stderr) == ("0 2 True", "")


# -- sequences


def test_a_sequence_is_one_call_of_several_kernels() -> None:
    def step(text: str, source: np.ndarray, target: np.ndarray) -> Any:
        fusion = Fusion()
        x = fusion.input(tf.float32, source.shape)
        fusion.output(fusion.apply(text, [x], tf.float32))
        fused = fusion.finish()
        [prepared] = prepare([fused.program])
        function = prepared.get(wait=True)
        assert function is not None
        return function.bind([source], [target], fused.sizes)

    x, y, z = np.arange(5, dtype=np.float32), np.zeros(5, np.float32), np.zeros(5, np.float32)
    pair = sequence([step("x + (T)1", x, y), step("x * x", y, z)])
    assert pair() == 0
    assert z.tolist() == [1, 4, 9, 16, 25]
    whole = sequence([pair, step("-x", z, x)])
    whole()
    assert x.tolist() == [-1, -4, -9, -16, -25]
