// Counts the bytes that a process has from malloc: preloaded, it stands before the C library's.
// live_bytes_restart() begins a count, live_bytes_peak() is the most above its beginning since.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

static atomic_long live, start, peak;

static void* counted(void* block) {
  if (block) {
    long now = atomic_fetch_add(&live, (long)malloc_usable_size(block));
    now += (long)malloc_usable_size(block);
    long most = atomic_load(&peak);
    while (now > most && !atomic_compare_exchange_weak(&peak, &most, now)) {
    }
  }
  return block;
}

void free(void* block) {
  if (block) atomic_fetch_sub(&live, (long)malloc_usable_size(block));
  __libc_free(block);
}

void* malloc(size_t size) { return counted(__libc_malloc(size)); }
void* calloc(size_t count, size_t size) { return counted(__libc_calloc(count, size)); }
void* memalign(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size)); }
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void** result, size_t alignment, size_t size) {
  void* block = memalign(alignment, size);
  if (!block) return ENOMEM;
  *result = block;
  return 0;
}

void* realloc(void* block, size_t size) {
  if (block) atomic_fetch_sub(&live, (long)malloc_usable_size(block));
  void* moved = __libc_realloc(block, size);
  if (!moved && size && block) atomic_fetch_add(&live, (long)malloc_usable_size(block));
  return counted(moved);
}

void live_bytes_restart(void) {
  atomic_store(&start, atomic_load(&live));
  atomic_store(&peak, atomic_load(&live));
}

long live_bytes_peak(void) { return atomic_load(&peak) - atomic_load(&start); }
