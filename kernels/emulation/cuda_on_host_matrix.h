// A warp's matrix instructions in PTX, emulated on the host: mma, ldmatrix, cp.async
// (kernels/cuda/shared/tensor_core_mma.cuh).
//
// All 32 lanes have to reach the same line (PTX: `.aligned`); one that has ended is an error. A copy
// to shared memory is done when its thread waits for it, and until then the target holds 0xff
// (NaNs): a thread that reads too early, or overwrites what others still read, gets other numbers.
#pragma once
#include "cuda_on_host_fibers.h"
#include "cuda_on_host_half.h"

namespace gg_host {

static inline void wait_warp(const char *what, int line) {
  wait(what, line, false, ~0u);
  if (self().group != ~0u)
    fail(kFailed, "%s of line %d: lanes %#x of its warp take no part", what, line, ~self().group);
}

// Where arrays that a function declares lie; those of a template are not in `gg_shared`.
extern "C" __attribute__((weak, visibility("hidden"))) char __bss_start[];
extern "C" __attribute__((weak, visibility("hidden"))) char _end[];

// Fails for an address that is no shared memory, or no multiple of 16 bytes.
static inline void check_shared(const char *what, int line, const void *address) {
  const char *const at = static_cast<const char *>(address);
  if (uintptr_t(at) % 16)
    fail(kMisaligned, "%s of line %d: misaligned address %#zx", what, line, size_t(at));
  const Launch &launch = *block.launch;
  if (at >= launch.shared && at + 16 <= launch.shared + launch.shared_bytes) return;
  if (at >= __start_gg_shared && at + 16 <= __stop_gg_shared) return;
  if (at >= __bss_start && at + 16 <= _end) return;
  fail(kFailed, "%s of line %d: %#zx is not in shared memory", what, line, size_t(at));
}

// d += a @ b, of 16 x 16 by 16 x 8 elements of 16 bits; tensor_core_mma.cuh has the lanes' parts.
template <float (*Value)(uint16_t)>
static void mma_16816(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, int line) {
  memcpy(self().given, a, 16);
  memcpy(self().given + 16, &b0, 4), memcpy(self().given + 20, &b1, 4);
  wait_warp("mma", line);
  const int lane = block.current % kWarp;
  const Thread *const warp = block.threads + (block.current - lane);
  const auto element = [&](int lane, int word, int half) {
    uint16_t bits;
    memcpy(&bits, warp[lane].shown + 4 * word + 2 * half, 2);
    return Value(bits);
  };
  float rows[2][16], columns[2][16];
  for (int one = 0; one < 2; one++)
    for (int k = 0; k < 16; k++) {
      const int row = lane / 4 + 8 * one, column = lane % 4 * 2 + one;
      rows[one][k] = element(row % 8 * 4 + k % 8 / 2, row / 8 + k / 8 * 2, k % 2);
      columns[one][k] = element(column * 4 + k % 8 / 2, 4 + k / 8, k % 2);
    }
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 16; k++) d[i] += rows[i / 2][k] * columns[i % 2][k];
}

// Four matrices of 8 x 8 elements; lane 8 i + r has the address of row r of matrix i.
template <bool Turned>
static void ldmatrix_x4(unsigned (&to)[4], const void *row, int line) {
  check_shared("ldmatrix", line, row);
  memcpy(self().given, &row, sizeof row);
  wait_warp("ldmatrix", line);
  const int lane = block.current % kWarp;
  const Thread *const warp = block.threads + (block.current - lane);
  for (int i = 0; i < 4; i++) {
    uint16_t two[2];
    for (int e = 0; e < 2; e++) {
      const int along = lane / 4, pair = lane % 4 * 2 + e;
      const uint16_t *from;
      memcpy(&from, warp[8 * i + (Turned ? pair : along)].shown, sizeof from);
      two[e] = from[Turned ? along : pair];
    }
    to[i] = two[0] | unsigned(two[1]) << 16;
  }
}

constexpr int kMostCopies = 64;
struct Copy {
  void *to;
  const void *from;
  int bytes;
};
static Copy copies[kMostThreads][kMostCopies];

// 16 bytes, of which those after `bytes` become 0, once the thread has waited.
static inline void copy_async(void *to, const void *from, int bytes, int line) {
  check_shared("cp.async", line, to);
  if (bytes && uintptr_t(from) % 16)
    fail(kMisaligned, "cp.async of line %d: misaligned address %#zx", line, size_t(from));
  Thread &thread = self();
  if (thread.copies == kMostCopies)
    fail(kFailed, "cp.async of line %d: over %d copies that are not waited for", line, kMostCopies);
  copies[block.current][thread.copies++] = {to, from, bytes};
  memset(to, 255, 16);
}

static inline void wait_copies() {
  Thread &thread = self();
  for (int i = 0; i < thread.copies; i++) {
    const Copy &copy = copies[block.current][i];
    memset(copy.to, 0, 16), memcpy(copy.to, copy.from, size_t(copy.bytes));
  }
  thread.copies = 0;
}

}  // namespace gg_host
