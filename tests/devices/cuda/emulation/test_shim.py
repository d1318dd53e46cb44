"""CUDA text on the host: barriers, warps, shared memory, atomics, 16-bit types, failures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gpugraph.devices.cuda.driver.driver_interface import DriverError, Geometry
from gpugraph.devices.cuda.emulation.cxx_compiler import (
    HostModule,
    host_compiler,
    host_source,
    kernel_names,
    load,
)

pytestmark = pytest.mark.skipif(bool(host_compiler().reason), reason=host_compiler().reason)

TEXT = r"""
#include "cuda_on_host.h"
template <class T> __device__ T block_sum(T x) {
  __shared__ T part[32];
  for (int m = 16; m; m >>= 1) x += __shfl_xor_sync(0xffffffffu, x, m);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = x;
  __syncthreads();
  x = 0;
  for (int i = 0; i < blockDim.x / 32; i++) x += part[i];
  return x;
}
extern "C" __global__ void __launch_bounds__(256) row_sums(
    const float* __restrict__ x, float* out, long long columns, double scale) {
  float sum = 0;
  for (long long i = threadIdx.x; i < columns; i += blockDim.x) sum += x[blockIdx.x * columns + i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum * (float)scale;
}
extern "C" __global__ void turned(const long long* x, long long* out) {
  extern __shared__ __align__(16) long long all[];
  all[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = all[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void no_barrier(const long long* x, long long* out) {
  __shared__ long long all[64];
  all[threadIdx.x] = x[threadIdx.x];
  out[threadIdx.x] = all[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void unset(float* out) {
  __shared__ float all[64];
  out[threadIdx.x] = all[threadIdx.x];
}
extern "C" __global__ void places(long long* out) {
  long long t = threadIdx.x + blockDim.x * (threadIdx.y + (long long)blockDim.y * threadIdx.z);
  long long b = blockIdx.x + gridDim.x * (blockIdx.y + (long long)gridDim.y * blockIdx.z);
  out[b * blockDim.x * blockDim.y * blockDim.z + t] =
      threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z + 1000 * blockIdx.x + 10000 * blockIdx.y +
      100000 * blockIdx.z;
}
extern "C" __global__ void warps(long long* out) {
  const int lane = threadIdx.x;
  const unsigned all = 0xffffffffu;
  out[lane] = __shfl_sync(all, lane, lane + 3);
  out[32 + lane] = __shfl_up_sync(all, lane, 2);
  out[64 + lane] = __shfl_down_sync(all, lane, 2, 8);
  out[96 + lane] = __shfl_xor_sync(all, (double)lane, 5);
  out[128 + lane] = __ballot_sync(all, lane % 3 == 0);
  out[160 + lane] = 2 * __any_sync(all, lane == 7) + __all_sync(all, lane < 32);
  out[192 + lane] = lane < 8 ? __shfl_sync(0xffu, lane, 5, 4) : -1;
  out[224 + lane] = __reduce_add_sync(all, lane);
  out[256 + lane] = __syncthreads_count(lane < 5);
}
extern "C" __global__ void atomics(long long* sums, float* f, int* i, unsigned* u, double* d,
                                   unsigned long long* seen) {
  atomicAdd((unsigned long long*)sums, (unsigned long long)threadIdx.x);
  atomicAdd(f, 0.5f);
  atomicMax(i, (int)threadIdx.x);
  atomicMin(i + 1, -(int)threadIdx.x);
  atomicAdd(u, 2u);
  atomicExch(u + 1, 7u);
  atomicAdd(d, 0.25);
  unsigned long long old = *seen, assumed;
  do {
    assumed = old;
    old = atomicCAS(seen, assumed, assumed * 3 + 1);
  } while (old != assumed);
}
extern "C" __global__ void widened(const half* h, const __nv_bfloat16* b, float* hf, float* bf) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  hf[i] = __half2float(h[i]);
  bf[i] = __bfloat162float(b[i]);
}
extern "C" __global__ void narrowed(const float* x, half* h, __nv_bfloat16* b) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  h[i] = __float2half_rn(x[i]);
  b[i] = __float2bfloat16_rn(x[i]);
}
extern "C" __global__ void double_to_half(const double* x, half* h) {
  h[threadIdx.x] = x[threadIdx.x];
}
extern "C" __global__ void bits(const unsigned* x, long long* out) {
  const unsigned a = x[threadIdx.x], b = 0x9e3779b9u;
  long long* to = out + 8 * threadIdx.x;
  to[0] = __umulhi(a, b), to[1] = __mulhi((int)a, (int)b), to[2] = __clz((int)a);
  to[3] = __popc(a), to[4] = __brev(a), to[5] = __ffs((int)a);
  to[6] = __float_as_uint(__uint_as_float(a)), to[7] = __float2int_rn(__uint_as_float(a));
}
extern "C" __global__ void quads(const float4* x, float4* out) {
  float4 v = __ldg(x + threadIdx.x);
  out[threadIdx.x] = make_float4(v.w, v.z, v.y, rsqrtf(v.x));
}
extern "C" __global__ void torn(float* x, long long n) {
  if (threadIdx.x < n) __syncthreads();
  x[threadIdx.x] = 1;
}
extern "C" __global__ void torn_warp(float* x) {
  if (threadIdx.x & 1) x[0] = __shfl_sync(0xffffffffu, x[0], 0);
  else __syncwarp();
}
extern "C" __global__ void told_by_one(const int* x, int* out, long long n) {
  __shared__ int sum;
  if (threadIdx.x == 0) {
    sum = 0;
    for (long long at = 0; at < n; at++) sum += x[at];
  }
  __syncthreads();
  out[threadIdx.x] = sum;
}
extern "C" __global__ void trapped(long long at) { if (threadIdx.x == at) __trap(); }
"""


@pytest.fixture(scope="module")
def shim() -> HostModule:
    return load(TEXT, "shim.cu")


def run(
    shim: HostModule, name: str, block: Any, *arguments: Any, grid: Any = 1, **options: Any
) -> None:
    """Launches with arrays for addresses."""

    def three(size: Any) -> tuple[int, int, int]:
        return (size, 1, 1) if isinstance(size, int) else size

    inputs = [array.ctypes.data if isinstance(array, np.ndarray) else array for array in arguments]
    shared = options.pop("shared", 0)
    shim.launch(name, Geometry(three(grid), three(block), shared), inputs, **options)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("threads", [32, 256])
def test_rows_are_summed_by_shuffles_and_shared_memory(
    shim: HostModule, threads: int, backwards: bool
) -> None:
    x = np.arange(7 * 1000, dtype=np.float32).reshape(7, 1000) % 97
    out = np.zeros(7, np.float32)
    run(shim, "row_sums", threads, x, out, 1000, 0.5, grid=7, backwards=backwards)
    np.testing.assert_array_equal(out, x.sum(1) / 2)


@pytest.mark.parametrize("backwards", [False, True])
def test_no_read_of_shared_memory_moves_before_a_barrier(shim: HostModule, backwards: bool) -> None:
    """The C++ compiler must not think that a barrier leaves a static variable as it is."""
    x, out = np.arange(100, dtype=np.int32), np.zeros(64, np.int32)
    run(shim, "told_by_one", 64, x, out, 100, backwards=backwards)
    np.testing.assert_array_equal(out, 4950)


@pytest.mark.parametrize("backwards", [False, True])
def test_dynamic_shared_memory_holds_what_was_asked_for(shim: HostModule, backwards: bool) -> None:
    x, out = np.arange(100), np.zeros(100, np.int64)
    run(shim, "turned", 100, x, out, shared=800, backwards=backwards)
    np.testing.assert_array_equal(out, x[::-1])


def test_a_missing_barrier_shows(shim: HostModule) -> None:
    x, out = np.arange(64), np.zeros(64, np.int64)
    run(shim, "no_barrier", 64, x, out)
    assert (out != x[::-1]).any()


def test_shared_memory_begins_as_nan(shim: HostModule) -> None:
    out = np.zeros(64, np.float32)
    run(shim, "unset", 64, out, grid=3)
    assert np.isnan(out).all()


@pytest.mark.parametrize("backwards", [False, True])
def test_every_thread_of_every_block_runs_once_at_its_place(
    shim: HostModule, backwards: bool
) -> None:
    out = np.full((3, 2, 2, 2, 3, 4), -1)
    run(shim, "places", (4, 3, 2), out, grid=(2, 2, 3), backwards=backwards)
    bz, by, bx, tz, ty, tx = np.indices(out.shape)
    expected = tx + 10 * ty + 100 * tz + 1000 * bx + 10000 * by + 100000 * bz
    np.testing.assert_array_equal(out, expected)


def test_warp_functions(shim: HostModule) -> None:
    out = np.zeros((9, 32), np.int64)
    run(shim, "warps", 32, out)
    lane = np.arange(32)
    np.testing.assert_array_equal(out[0], (lane + 3) % 32)
    np.testing.assert_array_equal(out[1], np.where(lane < 2, lane, lane - 2))
    np.testing.assert_array_equal(out[2], np.where(lane % 8 < 6, lane + 2, lane))
    np.testing.assert_array_equal(out[3], lane ^ 5)
    assert (out[4] == sum(1 << number for number in range(0, 32, 3))).all()
    assert (out[5] == 3).all()
    np.testing.assert_array_equal(out[6], np.where(lane < 4, 1, np.where(lane < 8, 5, -1)))
    assert (out[7] == lane.sum()).all()
    assert (out[8] == 5).all()


def test_atomics(shim: HostModule) -> None:
    sums, f, d = np.zeros(1, np.int64), np.zeros(1, np.float32), np.zeros(1)
    i, u, seen = np.zeros(2, np.int32), np.zeros(2, np.uint32), np.zeros(1, np.uint64)
    run(shim, "atomics", 64, sums, f, i, u, d, seen)
    expected = 0
    for _ in range(64):
        expected = (expected * 3 + 1) % (1 << 64)
    assert (sums[0], f[0], d[0], int(seen[0])) == (2016, 32, 16, expected)
    assert (i.tolist(), u.tolist()) == ([63, -63], [128, 7])


def all_16_bits() -> NDArray[np.uint16]:
    return np.arange(1 << 16, dtype=np.uint16)


def test_every_16_bit_value_is_widened_as_it_is(shim: HostModule) -> None:
    bits = all_16_bits()
    h, b = np.zeros(1 << 16, np.float32), np.zeros(1 << 16, np.float32)
    run(shim, "widened", 256, bits, bits, h, b, grid=256)
    np.testing.assert_array_equal(h, bits.view(np.float16).astype(np.float32))
    np.testing.assert_array_equal(b, (bits.astype(np.uint32) << 16).view(np.float32))


def values_to_round() -> NDArray[np.float32]:
    """Return every float16 and bfloat16, the middle to the next one, and a bit to either side of
    it.
    """
    bits = all_16_bits()
    with np.errstate(over="ignore"):
        half = bits.view(np.float16).astype(np.float32)
        above = (bits + np.uint16(1)).view(np.float16).astype(np.float32)
        middle = half + (above - half) / np.float32(2)
    top = bits.astype(np.uint32) << 16
    near = [middle.view(np.uint32) + np.uint32(step) for step in (-1 & 0xFFFFFFFF, 0, 1)]
    near += [top + np.uint32(step) for step in (0x7FFF, 0x8000, 0x8001)]
    return np.concatenate([half.view(np.uint32), top, *near]).view(np.float32)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_floats_are_rounded_to_nearest_even(shim: HostModule) -> None:
    x = values_to_round()
    h, b = np.zeros(x.size, np.uint16), np.zeros(x.size, np.uint16)
    run(shim, "narrowed", 256, x, h, b, grid=x.size // 256)
    is_nan = np.isnan(x)
    assert (h[is_nan] == 0x7FFF).all() and (b[is_nan] == 0x7FFF).all()
    x, h, b = x[~is_nan], h[~is_nan], b[~is_nan]
    np.testing.assert_array_equal(h, x.astype(np.float16).view(np.uint16))
    near = [(b + np.uint16(step)).astype(np.uint32) << 16 for step in (0xFFFF, 0, 1)]
    below, middle, above = (array.view(np.float32).astype(np.float64) for array in near)
    finite = np.isfinite(middle) & np.isfinite(below) & np.isfinite(above)
    exact = x.astype(np.float64)
    off = abs(middle - exact)[finite]
    best = np.minimum(abs(below - exact), abs(above - exact))[finite]
    assert (off <= best).all()
    assert (b[finite][off == best] % 2 == 0).all()


def test_a_double_is_rounded_once(shim: HostModule) -> None:
    x = np.array([1 + 2**-11 + 2**-40, 1 + 2**-11, 1 + 2**-11 - 2**-40, 70000, 2**-25 + 2**-60])
    h = np.zeros(5, np.float16)
    run(shim, "double_to_half", 5, x, h)
    np.testing.assert_array_equal(h, [1 + 2**-10, 1, 1, np.inf, 2**-24])


def test_bit_functions(shim: HostModule) -> None:
    x = np.array([0, 1, 0x80000000, 0xFFFFFFFF, 0x12345678, 0x7FC00000, 0x4F000000], np.uint32)
    out = np.zeros((x.size, 8), np.int64)
    run(shim, "bits", x.size, x, out)
    for one, got in zip(x.tolist(), out.tolist()):
        signed = one - (one >> 31 << 32)
        words = f"{one:032b}"
        value = np.array([one], np.uint32).view(np.float32)[0]
        whole = 0 if np.isnan(value) else max(-(2**31), min(2**31 - 1, round(float(value))))
        assert got == [
            one * 0x9E3779B9 >> 32,
            signed * (0x9E3779B9 - 2**32) >> 32,
            32 - one.bit_length(),
            words.count("1"),
            int(words[::-1], 2),
            words[::-1].find("1") + 1,
            one,
            whole,
        ]


def test_vectors(shim: HostModule) -> None:
    x, out = np.arange(1, 33, dtype=np.float32).reshape(8, 4), np.zeros((8, 4), np.float32)
    run(shim, "quads", 8, x, out)
    expected = np.stack([x[:, 3], x[:, 2], x[:, 1], 1 / np.sqrt(x[:, 0])], 1)
    np.testing.assert_allclose(out, expected, 1e-6)


FAILURES = (
    ("torn", 64, (5,), r"stands still .* waits at __syncthreads\(\) of line \d+, .* has ended"),
    ("torn_warp", 32, (), r"waits at __syncwarp\(\) of line \d+, .* __shfl_sync\(\) of line \d+"),
)


@pytest.mark.parametrize(("name", "threads", "options", "message"), FAILURES)
def test_a_barrier_that_not_all_reach_is_an_error(
    shim: HostModule, name: str, threads: int, options: tuple[int, ...], message: str
) -> None:
    with pytest.raises(DriverError, match=message) as caught:
        run(shim, name, threads, np.zeros(threads, np.float32), *options)
    assert (caught.value.status, caught.value.fatal) == (719, True)
    out = np.full((1, 1, 1, 2, 3, 4), -1)
    run(shim, "places", (4, 3, 2), out)  # the next launch is not touched by it
    assert (out >= 0).all()


def test_a_misaligned_access_is_an_error(shim: HostModule) -> None:
    x = np.zeros(40, np.float32)
    x = x[(-x.ctypes.data // 4) % 4 + 1 :]  # one float behind a multiple of 16 bytes
    with pytest.raises(DriverError, match=r"kernel quads: .*misaligned access .* line") as caught:
        run(shim, "quads", 1, x, x)
    assert caught.value.status == 716


def test_a_trap_names_its_thread(shim: HostModule) -> None:
    with pytest.raises(DriverError, match=r"thread \(3, 0, 0\): __trap\(\) of line"):
        run(shim, "trapped", 8, 3)


def test_blocks_of_many_threads_are_for_kernels_that_say_so() -> None:
    """A GPU has no more than 255 registers for each of 256 threads."""
    text = 'extern "C" __global__ void {} (long long* x) {{ x[threadIdx.x] = 7; }}'
    x = np.zeros(512, np.int64)
    module = load(text.format("__launch_bounds__(512) all"), "bounded")
    run(module, "all", 512, x)
    assert (x == 7).all()
    module = load(text.format("all"), "unbounded")
    run(module, "all", 256, x)
    with pytest.raises(DriverError, match=r"all without __launch_bounds__\(512\)") as caught:
        run(module, "all", 512, x)
    assert caught.value.status == 701


def test_what_cuda_refuses_to_launch_is_refused(shim: HostModule) -> None:
    x = np.zeros(4, np.float32)
    for block, arguments, message in (
        (2048, (x, 1), "over 1024 threads"),
        (0, (x, 1), "no GPU launches a grid"),
        (32, (x,), "takes 2 arguments, not 1"),
        (32, (x, 1.5), "argument 1 is 1.5 .float., the parameter's type is a 64-bit integer"),
    ):
        with pytest.raises(DriverError, match=message):
            run(shim, "torn", block, *arguments)
    with pytest.raises(DriverError, match=r"shim.cu has no kernel other .it has row_sums"):
        run(shim, "other", 32)


def test_parameters_of_other_types_do_not_compile() -> None:
    with pytest.raises(DriverError, match="parameters are pointers, 64-bit integers, doubles and"):
        load('extern "C" __global__ void f(int n) {}', "f.cu")
    words = "struct words { long long of[%d]; };"
    with pytest.raises(DriverError, match="no larger than CUDA's limit"):
        load(words % 513 + 'extern "C" __global__ void f(words w) {}', "f.cu")
    with pytest.raises(DriverError, match="a kernel's structure is its last parameter"):
        load(words % 2 + 'extern "C" __global__ void f(words w, int *x) {}', "f.cu")


def test_the_last_parameter_may_be_a_structure_of_words() -> None:
    text = """
    struct words { long long of[3]; };
    extern "C" __global__ void f(double by, const __grid_constant__ words given) {
      float *x = (float *)given.of[given.of[0]];
      x[threadIdx.x] *= by * given.of[1];
    }"""
    module, x = load(text, "f.cu"), np.arange(4, dtype=np.float32)
    assert module.kernels == {"f": "dwww"}
    module.launch("f", Geometry((1, 1, 1), (4, 1, 1)), (0.5, 2, -6, x.ctypes.data))
    np.testing.assert_array_equal(x, [0, -3, -6, -9])
    with pytest.raises(DriverError, match="takes 4 arguments, not 3"):
        module.check("f", Geometry((1, 1, 1), (4, 1, 1)), (0.5, 2, 0))
    with pytest.raises(DriverError, match=r"argument 1 is 2.0 .float., .* structure of 64-bit"):
        module.check("f", Geometry((1, 1, 1), (4, 1, 1)), (0.5, 2.0, 0, 0))


def test_a_text_that_does_not_compile_is_kept_and_its_line_named() -> None:
    text = 'extern "C" __global__ void f(float* x) {\n  x[0] = missing;\n}\n'
    with pytest.raises(DriverError, match=r"text.cu:2:10: error: .*missing") as caught:
        load(text, "broken.cu")
    path = str(caught.value).partition("its source: ")[2].partition("\n")[0]
    with open(path, encoding="utf-8") as file:
        assert "x[0] = missing;" in file.read()


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(DriverError, match=r"includes 'nowhere.cuh', which is not in kernels/"):
        host_source('#include "nowhere.cuh"\nextern "C" __global__ void f() {}')


def test_kernels_are_found_by_name_also_where_macros_make_them() -> None:
    text = """
    // __global__ void commented(int) {}
    extern "C" __global__ void __launch_bounds__(16 * (1 + 1)) one(long long n) {}
    #define KERNEL(T) extern "C" __global__ void of_##T(T* x) {}
    KERNEL(float)
    KERNEL(double)
    """
    assert kernel_names(text) == ("one", "of_float", "of_double")
    assert load(text, "made.cu").kernels == {"one": "i", "of_float": "p", "of_double": "p"}
