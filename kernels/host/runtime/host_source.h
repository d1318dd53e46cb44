/* The common part of C functions of single ops (kernels/host_*.h;
   gpugraph/devices/native/handwritten_kernels.py binds them).

   A file is compiled for float and for double: `gg_real` is the type, and GG_NAME(f) is f_f32 or
   f_f64. Files of rows (host_rows.h) are compiled for int32_t, int64_t and bytes too: f_i32,
   f_i64, f_u8. For each function f there are two:

       void f_plan(gg_source *)   from parameters and `threads`, their limit: sets the number of
                                  threads, and the sizes of `scratch` and arrays
       int f(void *block)         the entry: computes

   Work is divided by sizes alone, so that results don't depend on the number of threads. */

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define GG_MOST_ARRAYS 68

typedef struct {
    gg_entry entry;
    gg_parallel parallel;
    int64_t threads;
    const int64_t *parameters;
    void **at;                     /* inputs, then outputs */
    char *scratch;                 /* on a cache line; other functions use it between two runs */
    int64_t scratch_bytes;         /* set by the plan, as everything below */
    int64_t nanoseconds;           /* an estimate of the work, on one core */
    int64_t count[GG_MOST_ARRAYS]; /* the number of elements of each array */
} gg_source;

#define GG_LINE 64

/* Bytes, up to the end of a cache line. */
static inline int64_t gg_lines(int64_t bytes) { return (bytes + GG_LINE - 1) / GG_LINE * GG_LINE; }

static inline int64_t gg_max(int64_t a, int64_t b) { return a > b ? a : b; }

#define GG_ROOT(x) _Generic((x), float: __builtin_sqrtf, default: __builtin_sqrt)(x)

static inline int64_t gg_ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Rounded down, b > 0. */
static inline int64_t gg_floor(int64_t a, int64_t b) { return a / b - (a % b < 0); }

#define GG_THREAD_NANOSECONDS 8000 /* work that is worth another thread */

/* Sets the estimate, and the number of threads that it is worth. */
static void gg_set_work(gg_source *source, double nanoseconds) {
    source->nanoseconds = nanoseconds < 1e18 ? (int64_t)nanoseconds : INT64_MAX / 8;
    source->threads = gg_min(source->threads, source->nanoseconds / GG_THREAD_NANOSECONDS);
    source->threads = gg_max(source->threads, 1);
}

/* -- scratch memory of a part: one of `threads` slots, each after a line that marks it as in use.
   Its initial content is another part's. */

static inline int64_t gg_slots_bytes(const gg_source *source, int64_t bytes) {
    return source->threads * (GG_LINE + gg_lines(bytes));
}

/* Frees all slots, before a run's first part. */
static __attribute__((unused)) void gg_free_slots(gg_source *source, char *slots, int64_t bytes) {
    for (int64_t each = 0; each < source->threads; each++)
        atomic_store((_Atomic int *)(slots + each * (GG_LINE + gg_lines(bytes))), 0);
}

static char *gg_take(gg_source *source, char *slots, int64_t bytes) {
    for (int64_t each = 0;; each = (each + 1) % source->threads) {
        char *slot = slots + each * (GG_LINE + gg_lines(bytes));
        if (!atomic_exchange_explicit((_Atomic int *)slot, 1, memory_order_acquire))
            return slot + GG_LINE;
    }
}

static void gg_give(char *taken) {
    atomic_store_explicit((_Atomic int *)(taken - GG_LINE), 0, memory_order_release);
}

/* -- vectors, as wide as the processor has them; in memory they need not be aligned */

#if defined(__AVX512F__)
#define GG_VECTOR 64
#elif defined(__AVX__)
#define GG_VECTOR 32
#else
#define GG_VECTOR 16
#endif

#if defined(__AVX512F__) || defined(__aarch64__)
#define GG_REGISTERS 32
#else
#define GG_REGISTERS 16
#endif

typedef float gg_vector_f32 __attribute__((vector_size(GG_VECTOR), aligned(4), may_alias));
typedef double gg_vector_f64 __attribute__((vector_size(GG_VECTOR), aligned(8), may_alias));
typedef int32_t gg_mask_f32 __attribute__((vector_size(GG_VECTOR), aligned(4), may_alias));
typedef int64_t gg_mask_f64 __attribute__((vector_size(GG_VECTOR), aligned(8), may_alias));

#define GG_REAL_LANES ((int64_t)(GG_VECTOR / sizeof(gg_real))) /* of a GG_NAME(gg_vector) */

#define GG_ALWAYS static inline __attribute__((always_inline, unused))

/* Unrolls the following loop, which has a constant number of iterations. */
#if defined(__clang__)
#define GG_UNROLL _Pragma("clang loop unroll(full)")
#else
#define GG_UNROLL _Pragma("GCC unroll 16")
#endif

/* sum += x * row, in the one form that keeps all three in place: compilers that choose among
   the instruction's forms move vectors about, and then run out of registers. */
#if defined(__x86_64__) && defined(__FMA__)
#define GG_ADD_PRODUCT(sum, x, row)                                                                   \
    do {                                                                                           \
        if (sizeof(gg_real) == sizeof(float))                                                      \
            __asm__("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(x), "v"(row));                      \
        else                                                                                       \
            __asm__("vfmadd231pd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(row));                      \
    } while (0)
#else
#define GG_ADD_PRODUCT(sum, x, row) (sum) += (x) * (row)
#endif
