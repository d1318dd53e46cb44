// Scheduling of the threads of a CUDA block on the host.
//
// Blocks run one after another. A block's threads run on one fiber, one after another, until one
// of them has to wait for others (a barrier, a shuffle): it keeps the fiber, and the next thread
// gets another. So a kernel without barriers is a plain loop, and one with them has a fiber for
// each thread. A thread that waits continues when all of these have arrived:
//
//   __syncthreads   every thread of the block, at the same line; one that has ended never arrives
//   warp functions  every lane of the mask that has not ended, at the same line with the same mask
//
// If no thread can continue, the launch ends with a message that names the threads and where they
// wait: on a GPU that is undefined. Shared memory is filled with 0xff (a NaN) before each block.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
static dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace gg_host {

constexpr int kMostThreads = 1024, kWarp = 32, kMessage = 1000;
enum Status { kFine = 0, kBadArguments = 1, kMisaligned = 716, kFailed = 719, kTrap = 710 };

// The parameters of a launch, filled in by Python: all fields have 64 bits.
struct Launch {
  int64_t grid[3], block[3], shared_bytes;
  int64_t backwards;  // 1: threads and blocks from the last to the first; 2 and more: blocks in an order by this seed, threads backwards if it is odd
  char *stacks;       // room for `kMostThreads` + 1 stacks
  int64_t stack_bytes;
  char *shared;       // dynamic shared memory, aligned to 128 bytes
  char *message;      // `kMessage` bytes
  int64_t first_block, num_blocks;  // only these blocks run; all if `num_blocks` is 0
  const int64_t *watched;           // addresses and sizes of arrays, for races
  int64_t num_watched;
};

struct Fiber {
#if defined(__x86_64__)
  void *stack_pointer;
#else
  ucontext_t context;
#endif
  char *stack;
  void *fake;
};

enum State : unsigned char { kUnstarted, kReady, kWaiting, kDone };

struct Thread {
  State state;
  Fiber *fiber;
  const char *what;  // where it waits: each name is one literal
  int line;
  unsigned mask, group;
  bool whole_block;
  int copies;  // to shared memory, not waited for
  int warp_epoch;  // the number of the warp's barriers that it has passed
  dim3 index;
  alignas(16) char given[24], shown[24];
};

static struct {
  const Launch *launch;
  void (*body)();
  const char *name;
  int count, next, current, true_count, status;
  size_t stack_bytes;
  const void *home_stack;
  size_t home_bytes;
  Fiber home, fibers[kMostThreads + 1], *running, *idle[kMostThreads + 1];
  int idle_count, fiber_count, epoch;
  int64_t number;  // of the block
  Thread threads[kMostThreads];
} block;

#if defined(__x86_64__)
// Inline, and without call and ret: a ret without a matching call is always mispredicted.
#if defined(__AVX512F__)
#define GG_MORE_REGISTERS                                                                      \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",  \
      "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", \
      "k6", "k7"
#else
#define GG_MORE_REGISTERS
#endif
__attribute__((always_inline)) static inline void raw_switch(Fiber &from, Fiber &to) {
  void **save = &from.stack_pointer, *load = to.stack_pointer;
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n"  // memory below it may be in use
      "pushq %%rbp\n"
      "leaq 1f(%%rip), %%rax\n"
      "pushq %%rax\n"
      "movq %%rsp, (%0)\n"
      "movq %1, %%rsp\n"
      "popq %%rax\n"
      "jmp *%%rax\n"
      "1:\n"
      "popq %%rbp\n"
      "leaq 128(%%rsp), %%rsp\n"
      : "+D"(save), "+S"(load)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc",
        "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
        "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15" GG_MORE_REGISTERS);
}
static void raw_make(Fiber &fiber, size_t bytes, void (*entry)()) {
  // Stacks a power of two apart would all map to the same cache sets.
  bytes -= size_t(&fiber - block.fibers) % 64 * 320;
  void **top = reinterpret_cast<void **>(fiber.stack + bytes);
  *--top = nullptr;  // where `entry` would return to; it never does
  *--top = reinterpret_cast<void *>(entry);
  fiber.stack_pointer = top;
}
#else
static void raw_switch(Fiber &from, Fiber &to) { swapcontext(&from.context, &to.context); }
static void raw_make(Fiber &fiber, size_t bytes, void (*entry)()) {
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack;
  fiber.context.uc_stack.ss_size = bytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, entry, 0);
}
#endif

static void place(int thread) {
  block.current = thread;
  threadIdx = block.threads[thread].index;
}

// From the launch to a fiber, until that waits or has nothing to do.
static void resume(Fiber &fiber) {
  block.running = &fiber;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&block.home.fake, fiber.stack, block.stack_bytes);
#endif
  raw_switch(block.home, fiber);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(block.home.fake, nullptr, nullptr);
#endif
}

// From the running fiber back to the launch.
static void suspend() {
  Fiber &fiber = *block.running;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&fiber.fake, block.home_stack, block.home_bytes);
#endif
  raw_switch(fiber, block.home);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fiber.fake, &block.home_stack, &block.home_bytes);
#endif
}

static void fiber_main() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &block.home_stack, &block.home_bytes);
#endif
  for (;;) {
    while (block.next < block.count) {
      const int at = block.next++;
      place(block.launch->backwards & 1 ? block.count - 1 - at : at);
      Thread &thread = block.threads[block.current];
      thread.fiber = block.running;
      thread.state = kReady;
      block.body();
      block.threads[block.current].state = kDone;
    }
    block.idle[block.idle_count++] = block.running;
    suspend();
  }
}

static Fiber &idle_fiber() {
  if (block.idle_count) return *block.idle[--block.idle_count];
  Fiber &fiber = block.fibers[block.fiber_count];
  fiber.stack = block.launch->stacks + size_t(block.fiber_count++) * block.stack_bytes;
  fiber.fake = nullptr;
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(fiber.stack, block.stack_bytes);
#endif
  raw_make(fiber, block.stack_bytes, fiber_main);
  return fiber;
}

// The running thread ends the whole launch; never returns.
template <class... A>
[[noreturn]] static void fail(int status, const char *format, A... arguments) {
  block.status = status;
  int at = snprintf(block.launch->message, kMessage,
                    "kernel %s: block (%u, %u, %u), thread (%u, %u, %u): ", block.name, blockIdx.x,
                    blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
  snprintf(block.launch->message + at, size_t(kMessage - at), format, arguments...);
  for (;;) suspend();
}

static Thread &self() { return block.threads[block.current]; }

static void wait(const char *what, int line, bool whole_block, unsigned mask) {
  const int current = block.current;
  Thread &thread = block.threads[current];
  if (!whole_block && !(mask >> (current % kWarp) & 1))
    fail(kFailed, "%s of line %d: its mask %#x has not the lane that calls it", what, line, mask);
  thread.what = what, thread.line = line, thread.whole_block = whole_block, thread.mask = mask;
  thread.state = kWaiting;
  suspend();
  place(current);
}

static bool same_place(const Thread &a, const Thread &b) {
  return a.state == kWaiting && a.whole_block == b.whole_block && a.line == b.line &&
         a.mask == b.mask && a.what == b.what;
}

// Resumes the threads that wait with lane `leader` of the warp that begins at `first`.
static bool release_group(int first, int leader) {
  const Thread &one = block.threads[first + leader];
  unsigned group = 0;
  for (int lane = 0; lane < kWarp && first + lane < block.count; lane++) {
    const Thread &other = block.threads[first + lane];
    if (!(one.mask >> lane & 1) || other.state == kDone) continue;
    if (!same_place(other, one)) return false;
    group |= 1u << lane;
  }
  for (int lane = 0; lane < kWarp; lane++) {
    if (!(group >> lane & 1)) continue;
    Thread &other = block.threads[first + lane];
    other.state = kReady, other.group = group, other.warp_epoch++;
    memcpy(other.shown, other.given, sizeof other.given);
  }
  return true;
}

static void run_ready(int first, int end) {
  for (int i = first; i < end && !block.status; i++) {
    Thread &thread = block.threads[block.launch->backwards & 1 ? first + end - 1 - i : i];
    if (thread.state == kReady) resume(*thread.fiber);
  }
}

// Returns whether any thread of this warp has continued.
static bool run_warp(int first) {
  const int end = first + kWarp < block.count ? first + kWarp : block.count;
  bool moved = false;
  for (int i = first; i < end && !block.status; i++) {
    const Thread &thread = block.threads[i];
    if (thread.state == kWaiting && !thread.whole_block && release_group(first, i - first)) {
      run_ready(first, end);
      moved = true;
    }
  }
  return moved;
}

static bool run_whole_block() {
  int trues = 0;
  for (int i = 0; i < block.count; i++) {
    const Thread &thread = block.threads[i];
    if (!thread.whole_block || !same_place(thread, block.threads[0])) return false;
    int given;
    memcpy(&given, thread.given, sizeof given);
    trues += given != 0;
  }
  block.true_count = trues, block.epoch++;
  for (int i = 0; i < block.count; i++) block.threads[i].state = kReady;
  run_ready(0, block.count);
  return true;
}

static bool all_done() {
  for (int i = 0; i < block.count; i++)
    if (block.threads[i].state != kDone) return false;
  return true;
}

static int describe(char *out, int room, int thread) {
  const Thread &it = block.threads[thread];
  if (it.state == kDone) return snprintf(out, size_t(room), "thread %d has ended", thread);
  return snprintf(out, size_t(room), "thread %d waits at %s of line %d", thread, it.what, it.line);
}

// No thread can continue: the reason, for two threads.
static void say_divergence() {
  int one = 0, other = 0;
  while (block.threads[one].state == kDone) one++;
  for (int i = 0; i < block.count; i++)
    if (!same_place(block.threads[i], block.threads[one])) other = i;
  char a[200], b[200];
  describe(a, sizeof a, one), describe(b, sizeof b, other);
  block.status = kFailed;
  snprintf(block.launch->message, kMessage,
           "kernel %s: block (%u, %u, %u) of %d threads stands still at a barrier that not all "
           "reach: %s, %s", block.name, blockIdx.x, blockIdx.y, blockIdx.z, block.count, a, b);
}

extern "C" __attribute__((weak, visibility("hidden"))) char __start_gg_shared[];
extern "C" __attribute__((weak, visibility("hidden"))) char __stop_gg_shared[];

static void run_block() {
#if !defined(__SANITIZE_ADDRESS__)
  if (__start_gg_shared) memset(__start_gg_shared, 255, __stop_gg_shared - __start_gg_shared);
#endif
  if (block.launch->shared_bytes) memset(block.launch->shared, 255, block.launch->shared_bytes);
  for (int i = 0; i < block.count; i++)
    block.threads[i].state = kUnstarted, block.threads[i].copies = block.threads[i].warp_epoch = 0;
  block.next = block.epoch = 0;
  while (block.next < block.count && !block.status) resume(idle_fiber());
  while (!block.status && !all_done()) {
    bool moved = false;
    for (int first = 0; first < block.count && !block.status; first += kWarp)
      while (run_warp(first)) moved = true;
    if (!block.status && !all_done() && !run_whole_block() && !moved) say_divergence();
  }
}

// A step by which all of `blocks` are visited, in an order that looks random.
static int64_t step_of(int64_t blocks, int64_t seed) {
  int64_t step = int64_t((uint64_t(seed) * 0x9e3779b97f4a7c15ull >> 20) % uint64_t(blocks)) | 1;
  for (;; step++) {
    int64_t a = step, b = blocks;
    while (b) { const int64_t rest = a % b; a = b, b = rest; }
    if (a == 1) return step;
  }
}

static int run(const Launch *launch, const char *name, void (*body)()) {
  block.launch = launch, block.body = body, block.name = name;
  block.status = kFine, block.idle_count = block.fiber_count = 0;
  block.stack_bytes = size_t(launch->stack_bytes);
  blockDim = dim3(unsigned(launch->block[0]), unsigned(launch->block[1]), unsigned(launch->block[2]));
  gridDim = dim3(unsigned(launch->grid[0]), unsigned(launch->grid[1]), unsigned(launch->grid[2]));
  block.count = int(blockDim.x * blockDim.y * blockDim.z);
  for (unsigned i = 0; i < unsigned(block.count); i++)
    block.threads[i].index =
        dim3(i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y));
  const int64_t blocks = launch->num_blocks ? launch->num_blocks : int64_t(gridDim.x) * gridDim.y * gridDim.z;
  const int64_t step = launch->backwards > 1 ? step_of(blocks, launch->backwards) : 1;
  for (int64_t i = 0; i < blocks && !block.status; i++) {
    const int64_t turn = launch->backwards > 1 ? int64_t((__int128(i) * step + launch->backwards) % blocks) : i;
    const int64_t at = launch->first_block + (launch->backwards == 1 ? blocks - 1 - i : turn);
    block.number = at;
    blockIdx.x = unsigned(at % gridDim.x);
    blockIdx.y = unsigned(at / gridDim.x % gridDim.y);
    blockIdx.z = unsigned(at / gridDim.x / gridDim.y);
    run_block();
  }
  return block.status;
}

// What `-fsanitize=alignment` calls: on a GPU such an access is an error.
struct AccessPlace {
  const char *file;
  unsigned line, column;
};
extern "C" __attribute__((visibility("hidden"), used)) inline void
__ubsan_handle_type_mismatch_v1(AccessPlace *place, uintptr_t address) {
  fail(kMisaligned, "misaligned access to %#zx in line %u", size_t(address), place->line);
}

}  // namespace gg_host
