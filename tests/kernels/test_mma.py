"""Matrix instructions of a warp (tensor_core_mma.cuh), emulated on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpugraph.devices.cuda.driver.driver_interface import DriverError, Geometry
from gpugraph.devices.cuda.emulation.cxx_compiler import HostModule, load

from ..devices.cuda.gpus import needs_cxx

pytestmark = needs_cxx

TEXT = r"""
#include "tensor_core_mma.cuh"
#define KERNEL extern "C" __global__ void
#define WIDE (16 + GG_APART)

template <int Rows> __device__ void fill(uint16_t *to, const uint16_t *from) {
  for (int at = threadIdx.x; at < Rows * 2; at += 32)
    gg_copy(to + at / 2 * WIDE + at % 2 * 8, from + at * 8, true);
}
template <bool Brain> __device__ void by_hand(const uint16_t *a, const uint16_t *b, float *d) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4 * 2;
  const auto two = [](const uint16_t *x, int apart) { return x[0] | (unsigned)x[apart] << 16; };
  const unsigned left[4] = {two(a + g * 16 + t, 1), two(a + (g + 8) * 16 + t, 1),
                            two(a + g * 16 + t + 8, 1), two(a + (g + 8) * 16 + t + 8, 1)};
  float sum[4] = {d[g * 8 + t], d[g * 8 + t + 1], d[(g + 8) * 8 + t], d[(g + 8) * 8 + t + 1]};
  gg_mma<Brain>(sum, left, two(b + t * 8 + g, 8), two(b + (t + 8) * 8 + g, 8));
  for (int i = 0; i < 4; i++) d[(g + i / 2 * 8) * 8 + t + i % 2] = sum[i];
}
KERNEL halves(const uint16_t *a, const uint16_t *b, float *d) {
  by_hand<false>(a, b, d);
}
KERNEL brains(const uint16_t *a, const uint16_t *b, float *d) {
  by_hand<true>(a, b, d);
}

template <bool Turned> __device__ void by_tiles(const uint16_t *a, const uint16_t *b, float *d) {
  alignas(16) __shared__ uint16_t tile_a[16 * WIDE], tile_b[16 * WIDE];
  const int g = threadIdx.x / 4, t = threadIdx.x % 4 * 2;
  fill<16>(tile_a, a);
  fill<16>(tile_b, b);
  gg_wait_for_copies();
  __syncwarp();
  unsigned left[4], right[4];
  gg_left<Turned, WIDE>(left, tile_a);
  gg_right<Turned, WIDE>(right, tile_b);
  for (int half = 0; half < 2; half++) {
    float sum[4] = {};
    gg_mma<false>(sum, left, right[2 * half], right[2 * half + 1]);
    for (int i = 0; i < 4; i++) d[(g + i / 2 * 8) * 16 + 8 * half + t + i % 2] = sum[i];
  }
}
KERNEL rows(const uint16_t *a, const uint16_t *b, float *d) {
  by_tiles<false>(a, b, d);
}
KERNEL columns(const uint16_t *a, const uint16_t *b, float *d) {
  by_tiles<true>(a, b, d);
}

KERNEL torn(float *d, long long lanes) {
  float sum[4] = {};
  const unsigned left[4] = {};
  if (threadIdx.x < lanes) gg_mma<false>(sum, left, 0, 0);
  d[threadIdx.x] = sum[0];
}
KERNEL two_lines(float *d) {
  float sum[4] = {};
  const unsigned left[4] = {};
  if (threadIdx.x & 1) gg_mma<false>(sum, left, 0, 0);
  else gg_mma<false>(sum, left, 0, 0);
  d[threadIdx.x] = sum[0];
}
KERNEL matrices(const uint16_t *elsewhere, unsigned *out, long long shift) {
  extern __shared__ uint16_t tile[];
  unsigned to[4];
  gg_matrices<false>(to, elsewhere ? elsewhere : tile + threadIdx.x * 8 + shift);
  out[threadIdx.x] = to[0];
}
KERNEL copied(const uint16_t *from, uint16_t *out, long long shift, long long waits) {
  extern __shared__ uint16_t tile[];
  const int at = threadIdx.x * 8;
  for (int i = 0; i < 8; i++) tile[at + i] = 7;
  gg_copy(tile + at + shift, from + at, threadIdx.x != 3);
  if (waits) gg_wait_for_copies();
  for (int i = 0; i < 8; i++) out[at + i] = tile[at + i];
}
KERNEL many(const uint16_t *from) {
  extern __shared__ uint16_t tile[];
  for (int i = 0; i < 99; i++) gg_copy(tile, from, true);
}
"""


@pytest.fixture(scope="module")
def module() -> HostModule:
    return load(TEXT, "test_mma.cu")


def run(module: HostModule, name: str, *arguments: Any, threads: int = 32, **how: Any) -> None:
    inputs = [array.ctypes.data if isinstance(array, np.ndarray) else array for array in arguments]
    geometry = Geometry((1, 1, 1), (threads, 1, 1), how.pop("shared", 0))
    module.launch(name, geometry, inputs, **how)


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    """Few bits, so that all products and sums are exact, in float16 and in bfloat16."""
    return np.random.default_rng([seed, *shape]).integers(-120, 120, shape).astype(np.float32)


def words(count: int) -> np.ndarray:
    """Return the given number of words at a multiple of 16 bytes."""
    result = np.zeros(count + 8, np.uint16)
    return result[(-result.ctypes.data // 2) % 8 :][:count]


def placed(values: np.ndarray) -> np.ndarray:
    result = words(values.size)
    result[:] = values.astype(np.float16).view(np.uint16).reshape(-1)
    return result


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("name", ["halves", "brains"])
def test_lanes_hold_what_the_isa_says(module: HostModule, name: str, backwards: bool) -> None:
    a, b, d = numbers(16, 16), numbers(16, 8), numbers(16, 8, seed=1)
    left, right = (
        value.astype(np.float16).view(np.uint16)
        if name == "halves"
        else (value.view(np.uint32) >> 16).astype(np.uint16)
        for value in (a, b)
    )
    out = d.copy()
    run(module, name, left, right, out, backwards=backwards)
    np.testing.assert_array_equal(out, d + a @ b)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("name", ["rows", "columns"])
def test_tiles_are_read_as_they_lie_or_turned(
    module: HostModule, name: str, backwards: bool
) -> None:
    a, b, out = numbers(16, 16), numbers(16, 16, seed=1), np.zeros((16, 16), np.float32)
    inputs = (a, b) if name == "rows" else (a.T, b.T)
    run(module, name, *map(placed, inputs), out, backwards=backwards)
    np.testing.assert_array_equal(out, a @ b)


def test_nan_and_infinity_go_through(module: HostModule) -> None:
    a, b, out = numbers(16, 16), numbers(16, 8), np.zeros((16, 8), np.float32)
    a[3, 5], b[5] = np.inf, 2
    a[9, 2] = np.nan
    run(module, "halves", *(array.astype(np.float16).view(np.uint16) for array in (a, b)), out)
    assert np.isposinf(out[3]).all() and np.isnan(out[9]).all()
    assert np.isfinite(np.delete(out, [3, 9], 0)).all()


@pytest.mark.parametrize(
    ("lanes", "threads", "message"),
    [
        (31, 32, r"mma of line \d+: lanes 0x80000000 of its warp take no part"),
        (20, 20, r"mma of line \d+: lanes 0xfff00000 of its warp take no part"),
    ],
)
def test_lanes_that_take_no_part_are_an_error(
    module: HostModule, lanes: int, threads: int, message: str
) -> None:
    with pytest.raises(DriverError, match=message) as caught:
        run(module, "torn", np.zeros(32, np.float32), lanes, threads=threads)
    assert caught.value.status == 719


def test_lanes_at_other_lines_are_an_error(module: HostModule) -> None:
    with pytest.raises(DriverError, match=r"waits at mma of line \d+, .* waits at mma of line \d+"):
        run(module, "two_lines", np.zeros(32, np.float32))


def test_matrices_lie_in_shared_memory_at_multiples_of_16_bytes(module: HostModule) -> None:
    out = np.zeros(32, np.uint32)
    run(module, "matrices", 0, out, 0, shared=512)
    assert (out == 0xFFFFFFFF).all()  # nobody has written there
    for inputs, shift, shared, message, status in (
        (0, 1, 1024, "ldmatrix of line .*: misaligned address", 716),
        (0, 8, 512, "ldmatrix of line .* is not in shared memory", 719),
        (words(8), 0, 512, "ldmatrix of line .* is not in shared memory", 719),
    ):
        with pytest.raises(DriverError, match=message) as caught:
            run(module, "matrices", inputs, out, shift, shared=shared)
        assert caught.value.status == status


def test_copies_are_there_once_they_are_waited_for(module: HostModule) -> None:
    source, out = words(256), np.zeros((32, 8), np.uint16)
    source[:] = np.arange(1, 257)
    run(module, "copied", source, out, 0, 1, shared=512)
    wanted = source.reshape(32, 8).copy()
    wanted[3] = 0
    np.testing.assert_array_equal(out, wanted)
    run(module, "copied", source, out, 0, 0, shared=512)
    assert (out == 0xFFFF).all()
    with pytest.raises(DriverError, match=r"cp.async of line .*: misaligned address"):
        run(module, "copied", source, out, 4, 1, shared=1024)
    with pytest.raises(DriverError, match=r"cp.async of line .*: misaligned address"):
        run(module, "copied", source[1:], out, 0, 1, shared=512)
    with pytest.raises(DriverError, match="over 64 copies that are not waited for"):
        run(module, "many", source, shared=512)
