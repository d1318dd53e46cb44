// Races of a kernel's threads on the host, if the compiler calls a function for each access:
//
//   -fsanitize=kernel-address --param asan-instrumentation-with-call-threshold=0
//   --param asan-stack=0 --param asan-globals=0 -U__SANITIZE_ADDRESS__ -DGG_RACES=1
//
// For each byte of shared memory and of the launch's arrays, the last write and the last read are
// known: block, thread, and the numbers of barriers that the block and the warp have passed. Two
// accesses of different threads, of which one is a write, race unless a barrier is between them.
// Blocks are not ordered at all. Atomics are not checked. If the arrays have more than a mebibyte, each
// launch checks some lines of 64 bytes, so many that the table has room for them.
#pragma once
#if defined(GG_RACES)

#define GG_UNCHECKED __attribute__((no_sanitize("kernel-address")))

namespace gg_host {

struct Access {
  int64_t block;
  int thread, epoch, warp_epoch, serial;
};
struct Cell {
  uintptr_t at;
  Access write, read;
};
constexpr size_t kCells = size_t(1) << 21, kMostChecked = kCells / 2;
static Cell *cells;
static size_t one_line_in;
static int launch_serial;
static bool is_racing;

GG_UNCHECKED static bool is_between(uintptr_t at, const void *from, size_t bytes) {
  return at - uintptr_t(from) < bytes;
}

GG_UNCHECKED static bool is_shared(uintptr_t at) {
  return (__start_gg_shared && is_between(at, __start_gg_shared, size_t(__stop_gg_shared - __start_gg_shared))) ||
         is_between(at, block.launch->shared, size_t(block.launch->shared_bytes));
}

GG_UNCHECKED static bool is_watched(uintptr_t at) {
  for (int64_t i = 0; i < block.launch->num_watched; i++)
    if (is_between(at, reinterpret_cast<void *>(block.launch->watched[2 * i]), size_t(block.launch->watched[2 * i + 1]))) return true;
  return false;
}

static void begin_checks(const Launch *how) {
  size_t watched = 0;
  for (int64_t i = 0; i < how->num_watched; i++) watched += size_t(how->watched[2 * i + 1]);
  one_line_in = (watched + kMostChecked - 1) / kMostChecked;
  if (!one_line_in) one_line_in = 1;
  launch_serial++, is_racing = true;
}

GG_UNCHECKED static size_t offset_of(uintptr_t at) {
  for (int64_t i = 0; i < block.launch->num_watched; i++)
    if (is_between(at, reinterpret_cast<void *>(block.launch->watched[2 * i]), size_t(block.launch->watched[2 * i + 1]))) return at - uintptr_t(block.launch->watched[2 * i]);
  return 0;
}

GG_UNCHECKED static bool is_chosen(uintptr_t at) { return (at / 64 + size_t(launch_serial)) % one_line_in == 0; }

// Whether nothing orders an earlier access before the current one.
GG_UNCHECKED static bool is_unordered(const Access &old, const Access &now, bool shared) {
  if (old.serial != now.serial) return false;
  if (old.block != now.block) return !shared; // another block's shared memory is other memory
  if (old.thread == now.thread || old.epoch != now.epoch) return false;
  return old.thread / kWarp != now.thread / kWarp || old.warp_epoch == now.warp_epoch;
}

GG_UNCHECKED static void access(const void *address, size_t bytes, bool writes) {
  const uintptr_t first = uintptr_t(address);
  if (!is_racing || (!is_shared(first) && !is_watched(first))) return;
  const bool shared = is_shared(first);
  const Thread &thread = block.threads[block.current];
  const Access now = {block.number, block.current, block.epoch, thread.warp_epoch, launch_serial};
  for (uintptr_t at = first; at < first + bytes; at++) {
    if (!shared && !is_chosen(at)) continue;
    size_t place = (at * 0x9e3779b97f4a7c15ull) >> 43;
    while (cells[place].at && cells[place].at != at && (cells[place].write.serial == launch_serial || cells[place].read.serial == launch_serial))
      place = (place + 1) % kCells;
    Cell &cell = cells[place];
    if (cell.at != at) cell = Cell{at, {}, {}};
    const bool after_write = is_unordered(cell.write, now, shared);
    if (after_write || (writes && is_unordered(cell.read, now, shared))) {
      const Access old = after_write ? cell.write : cell.read;
      is_racing = false;
      const size_t offset = shared ? at - uintptr_t(is_between(at, block.launch->shared, size_t(block.launch->shared_bytes)) ? block.launch->shared : __start_gg_shared) : offset_of(at);
      fail(kFailed, "a race: it %s byte %zu of %s (%zu bytes), which thread %d of block %lld %s, without a barrier between",
           writes ? "writes" : "reads", offset, shared ? "shared memory" : "an array", bytes, old.thread, (long long)old.block, after_write ? "wrote" : "read");
    }
    // A write forgets reads: each of them was ordered before it.
    if (writes) cell.write = now, cell.read = Access{};
    else if (!cell.read.serial || cell.read.thread == now.thread || !is_unordered(cell.read, now, shared)) cell.read = now;
  }
}

}  // namespace gg_host

#define GG_HOOK(size)                                                                                                                                        \
  extern "C" GG_UNCHECKED __attribute__((visibility("hidden"), used)) inline void __asan_load##size##_noabort(void *at) { gg_host::access(at, size, false); } \
  extern "C" GG_UNCHECKED __attribute__((visibility("hidden"), used)) inline void __asan_store##size##_noabort(void *at) { gg_host::access(at, size, true); }
GG_HOOK(1)
GG_HOOK(2)
GG_HOOK(4)
GG_HOOK(8)
GG_HOOK(16)
extern "C" GG_UNCHECKED __attribute__((visibility("hidden"), used)) inline void __asan_loadN_noabort(void *at, size_t size) { gg_host::access(at, size, false); }
extern "C" GG_UNCHECKED __attribute__((visibility("hidden"), used)) inline void __asan_storeN_noabort(void *at, size_t size) { gg_host::access(at, size, true); }
extern "C" GG_UNCHECKED __attribute__((visibility("hidden"), used)) inline void __asan_handle_no_return(void) {}
extern "C" GG_UNCHECKED __attribute__((visibility("hidden"), used)) inline void __asan_before_dynamic_init(const char *) {}
extern "C" GG_UNCHECKED __attribute__((visibility("hidden"), used)) inline void __asan_after_dynamic_init(void) {}

#else
#define GG_UNCHECKED
#endif
