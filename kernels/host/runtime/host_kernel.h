/* The base of generated CPU kernels (gpugraph/devices/native generates them).

   A kernel has one entry, `int entry(void *block)`; its arguments are in the block, which is
   prepared once: pointers, sizes, the division of the work into parts. The parts are the same for
   any number of threads, so results do not depend on it. */

#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef int (*gg_entry)(void *block);
typedef void (*gg_part)(void *block, int64_t which);
typedef void (*gg_parallel)(gg_part part, void *block, int64_t parts, int64_t threads);

typedef struct {
    gg_entry entry;
    gg_parallel parallel; /* of the runtime: runs all parts, on at most this number of threads */
    int64_t threads;
    int64_t parts;
    int64_t rows;       /* product of all axes but the last */
    int64_t inner;      /* the last axis */
    int64_t rows_each;  /* rows of a part */
    int64_t inner_each; /* elements along the last axis of a part */
    int64_t across;     /* parts that a row is cut into */
    int64_t failed;     /* whether an expression that may fail (integers divided by 0) failed */
    volatile int64_t *stop; /* loops: end when it is not 0; may be null */
    int64_t limit;          /* loops: the maximum number of iterations; negative: any number */
    int64_t count;          /* loops: iterations done */
    int64_t fresh;          /* loops: whether it starts from the beginning */
    const int64_t *sizes; /* of all axes */
    void **at;            /* inputs, outputs, then results of parts for each other */
    double each_nanoseconds; /* an estimate of the work for an element, on one core */
    int64_t cuts;            /* how it may be cut into parts: flags, below */
    double work;             /* an estimate of all work, set by the cut */
} gg_block;

/* Parts keep partial sums; long rows are cut too; the partial sums are rows. */
enum { GG_PARTIAL = 1, GG_ACROSS = 2, GG_COLUMNS = 4 };

/* The status codes of an entry. */
enum { GG_DONE = 0, GG_MORE = 1, GG_STOPPED = 2, GG_FAILED = 3 };

/* No iteration of the following loop reads a value that another one writes. Within an iteration
   the order stays, so an output may be in an input's memory, element for element. */
#if defined(__clang__)
#define GG_LOOP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define GG_LOOP _Pragma("GCC ivdep")
#else
#define GG_LOOP
#endif

/* For functions that only arrange the work of others, or compute by vector types alone: an
   optimization level that compiles two to three times as fast, if the compiler can change it. */
#if defined(__GNUC__) && !defined(__clang__)
#define GG_BRIEF _Pragma("GCC push_options") _Pragma("GCC optimize(\"O1\")")
#define GG_BRIEF_END _Pragma("GCC pop_options")
#else
#define GG_BRIEF
#define GG_BRIEF_END
#endif

/* Reductions: element i of a block goes to lane i modulo GG_LANES; the last ones, fewer than
   GG_LANES, go to lane i modulo GG_FEW of the lanes that the others are combined to. Lanes are
   combined as a tree, blocks as a tree. Each number takes part in at most about
   20 + log2(n / 1024) + 6 operations, and the order is the same for every instruction set. */
#define GG_LANES 64
#define GG_BLOCK 1024
#define GG_FEW 16 /* also the number of elements that are combined one after the other */
#define GG_DEPTH 56

/* The larger and the smaller of two numbers; NaN where either is NaN. In two steps, which compilers
   turn into selections, not branches. */
#define gg_chosen(a, b, relation)                                                                  \
    ({                                                                                             \
        const __typeof__(a) gg_a = (a), gg_b = (b), gg_either = gg_a relation gg_b ? gg_a : gg_b;  \
        gg_a != gg_a ? gg_a : gg_either;                                                           \
    })
#define gg_larger(a, b) gg_chosen(a, b, >=)
#define gg_smaller(a, b) gg_chosen(a, b, <=)

/* The number of bits of an unsigned integer that are 1. */
#define gg_set_bits(x)                                                                             \
    (sizeof(x) > 4 ? __builtin_popcountll(x) : __builtin_popcount((unsigned)(x)))

static inline int64_t gg_min(int64_t a, int64_t b) { return a < b ? a : b; }

/* Nanoseconds of a monotonic clock. */
static __attribute__((unused)) int64_t gg_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* -- copies */

#define GG_LONG_COPY 2048 /* bytes from which on memcpy uses the processor's string instructions */

typedef uint8_t gg_32_bytes __attribute__((vector_size(32), aligned(1), may_alias));

/* Copies bytes. The string instructions of some processors take ten times as long as vectors if the
   addresses differ by a few bytes, apart from multiples of a page. The barrier keeps compilers from
   making the loop a memcpy. */
static inline __attribute__((unused)) void gg_copy_bytes(void *to, const void *from,
                                                          int64_t bytes) {
    int64_t i = 0;
    if (bytes >= GG_LONG_COPY && (((uintptr_t)to ^ (uintptr_t)from) & 63))
        for (; i + 128 <= bytes; i += 128) {
            const gg_32_bytes *x = (const gg_32_bytes *)((const char *)from + i);
            gg_32_bytes *y = (gg_32_bytes *)((char *)to + i), a = x[0], b = x[1], c = x[2], d = x[3];
            y[0] = a, y[1] = b, y[2] = c, y[3] = d;
            __asm__ volatile("" ::: "memory");
        }
    __builtin_memcpy((char *)to + i, (const char *)from + i, (size_t)(bytes - i));
}

/* -- float16 in memory, float in registers */

/* The bits stay in 32 bits: of narrower ones compilers don't vectorize the selections. */

static inline __attribute__((always_inline, unused)) float gg_from_half(uint32_t bits) {
    union { uint32_t u; float f; } magnitude, infinite, result;
    magnitude.u = (bits & 0x7fffu) << 13;
    float scaled = magnitude.f * 0x1p112f; /* denormals too */
    infinite.u = magnitude.u | 0x7f800000u;
    result.f = (bits & 0x7c00u) == 0x7c00u ? infinite.f : scaled;
    result.u |= (bits & 0x8000u) << 16;
    return result.f;
}

/* Rounded to even. */
static inline __attribute__((always_inline, unused)) uint32_t gg_half_bits(float x) {
    union { float f; uint32_t u; } in, low;
    in.f = x;
    uint32_t sign = (in.u >> 16) & 0x8000u, size = in.u & 0x7fffffffu;
    uint32_t normal = (size - 0x38000000u + 0xfffu + ((size >> 13) & 1u)) >> 13;
    low.u = size;
    low.f += 0.5f; /* below 2^-14 a unit is 2^-24, as of floats from 0.5 to 1 */
    uint32_t found = size < 0x38800000u ? low.u - 0x3f000000u : normal;
    found = size >= 0x477ff000u ? 0x7c00u : found;
    found = size > 0x7f800000u ? 0x7e00u : found;
    return sign | found;
}

static inline __attribute__((always_inline, unused)) uint16_t gg_to_half(float x) {
    return (uint16_t)gg_half_bits(x);
}

/* The nearest number of float16. Its last bit is that of a sum with 1.5 * 2^13 of its power of two,
   within the powers of float16. */
static inline __attribute__((always_inline, unused)) float gg_as_half(float x) {
    union { float f; int32_t i; } in, unit;
    in.f = x;
    int32_t power = in.i & 0x7f800000;
    power = power < 0x38800000 ? 0x38800000 : power;
    power = power > 0x47000000 ? 0x47000000 : power;
    unit.i = power + (13 << 23) + (1 << 22);
    float rounded = __builtin_fabsf(x) + unit.f;
    rounded -= unit.f;
    rounded = rounded > 65504.0f ? __builtin_inff() : rounded;
    return __builtin_copysignf(rounded, x);
}

/* -- bfloat16 in memory, float in registers */

static inline __attribute__((always_inline, unused)) float gg_from_bfloat16(uint32_t bits) {
    union { uint32_t u; float f; } result = {bits << 16};
    return result.f;
}

/* The bits of the nearest number of bfloat16, and of two as near the even one. */
static inline __attribute__((always_inline, unused)) uint32_t gg_bfloat16_bits(float x) {
    union { float f; uint32_t u; } in = {x};
    uint32_t nearest = (in.u + 0x7fffu + ((in.u >> 16) & 1u)) >> 16;
    return (in.u & 0x7fffffffu) > 0x7f800000u ? (in.u >> 16) | 0x40u : nearest;
}

static inline __attribute__((always_inline, unused)) uint16_t gg_to_bfloat16(float x) {
    return (uint16_t)gg_bfloat16_bits(x);
}

static inline __attribute__((always_inline, unused)) float gg_as_bfloat16(float x) {
    return gg_from_bfloat16(gg_bfloat16_bits(x));
}
