/* Copies of strided arrays (gpugraph/devices/native/strided_copies.py prepares them).

   A move is a plane of rows and columns, copied for every index of the axes outside of it. Columns
   run along the target's smallest stride; rows along the axis where the source is contiguous, if
   its columns are not. A plane is cut into blocks, and a part is some blocks. */

#include <string.h>

#define GG_OUTSIDE 6
#define GG_LINE 64 /* bytes of a cache line: each line of the target is written at once */

typedef struct {
    gg_entry entry;
    int64_t threads, parts;
    int64_t each;  /* blocks of a part */
    int64_t count; /* blocks */
    int64_t item;  /* bytes of an element: 1, 2, 4, 8 or 16 */
    int64_t kind;  /* one of the kinds below */
    int64_t rows, columns;
    int64_t rows_each, columns_each;           /* of a block */
    int64_t from_row, from_column;             /* strides in bytes, here and below */
    int64_t to_row, to_column;
    int64_t outside;                           /* axes outside of the plane */
    int64_t sizes[GG_OUTSIDE], from[GG_OUTSIDE], to[GG_OUTSIDE];
    char *source, *target;
} gg_move;

/* Columns are contiguous in both; the same element in the source, contiguous in the target; the
   source's rows and the target's columns are contiguous; any strides; columns are contiguous in
   both, and have up to 16 bytes. */
enum { GG_COPY = 0, GG_FILL = 1, GG_TURN = 2, GG_STRIDED = 3, GG_GROUPS = 4 };

static void gg_copy_rows(const gg_move *p, const char *from, char *to, int64_t m, int64_t n) {
    for (int64_t i = 0; i < m; i++)
        gg_copy_bytes(to + i * p->to_row, from + i * p->from_row, n * p->item);
}

typedef struct { uint64_t low, high; } gg_wide;

/* `to` is `from` with its halves interleaved: after log2(side) of these the
   tile is transposed. Compilers turn it into permutations. */
#define GG_ZIP(to, from, half)                                                                     \
    for (int64_t each = 0; each < (half); each++) {                                                \
        to[2 * each] = from[each];                                                                 \
        to[2 * each + 1] = from[each + (half)];                                                    \
    }

/* The functions for elements of this size; tiles have `side` rows of 16 to 64 bytes. A tile is
   copied through buffers, so that each line of the source is read once even if all of them map to
   a few cache sets. */
#define GG_MOVES(type, bytes, side)                                                                \
    static void gg_fill_##bytes(const gg_move *p, const char *from, char *to, int64_t m,           \
                                int64_t n) {                                                       \
        for (int64_t i = 0; i < m; i++) {                                                          \
            type value = *(const type *)(from + i * p->from_row);                                  \
            type *row = (type *)(to + i * p->to_row);                                              \
            for (int64_t j = 0; j < n; j++) row[j] = value;                                        \
        }                                                                                          \
    }                                                                                              \
    static inline __attribute__((always_inline)) void gg_tile_##bytes(                             \
        const char *from, int64_t step, char *to, int64_t to_step) {                               \
        if (bytes > 4) {                                                                           \
            for (int64_t i = 0; i < side; i++)                                                     \
                for (int64_t j = 0; j < side; j++)                                                 \
                    ((type *)(to + i * to_step))[j] = ((const type *)(from + j * step))[i];        \
            return;                                                                                \
        }                                                                                          \
        type a[side * side], b[side * side];                                                       \
        for (int64_t j = 0; j < side; j++) memcpy(a + j * side, from + j * step, side * bytes);    \
        GG_ZIP(b, a, side *side / 2)                                                               \
        GG_ZIP(a, b, side *side / 2)                                                               \
        GG_ZIP(b, a, side *side / 2)                                                               \
        GG_ZIP(a, b, side *side / 2)                                                               \
        for (int64_t i = 0; i < side; i++) memcpy(to + i * to_step, a + i * side, side * bytes);   \
    }                                                                                              \
    static void gg_turn_##bytes(const gg_move *p, const char *from, char *to, int64_t m,           \
                                int64_t n) {                                                       \
        int64_t step = p->from_column, to_step = p->to_row;                                        \
        int64_t whole_m = m / side * side, whole_n = n / side * side;                              \
        for (int64_t first = 0; first < whole_n; first += GG_LINE / bytes)                         \
            for (int64_t i = 0; i < whole_m; i += side)                                            \
                for (int64_t j = first; j < gg_min(whole_n, first + GG_LINE / bytes); j += side)   \
                    gg_tile_##bytes(from + j * step + i * bytes, step,                             \
                                    to + i * to_step + j * bytes, to_step);                        \
        for (int64_t i = 0; i < m; i++) {                                                          \
            const char *x = from + i * bytes;                                                      \
            type *row = (type *)(to + i * to_step);                                                \
            for (int64_t j = i < whole_m ? whole_n : 0; j < n; j++)                                \
                row[j] = *(const type *)(x + j * step);                                            \
        }                                                                                          \
    }

GG_MOVES(uint8_t, 1, 16)
GG_MOVES(uint16_t, 2, 16)
GG_MOVES(uint32_t, 4, 16)
GG_MOVES(uint64_t, 8, 8)
GG_MOVES(gg_wide, 16, 4)

/* A row in reverse order. */
#define GG_BACKWARD(type, bytes)                                                                   \
    static void gg_backward_##bytes(const type *restrict from, type *restrict to, int64_t n) {     \
        for (int64_t j = 0; j < n; j++) to[j] = from[-j];                                          \
    }

GG_BACKWARD(uint8_t, 1)
GG_BACKWARD(uint16_t, 2)
GG_BACKWARD(uint32_t, 4)
GG_BACKWARD(uint64_t, 8)
GG_BACKWARD(gg_wide, 16)

/* From or to every second element, such as the real parts of complex numbers. */
#define GG_SECOND(type, bytes)                                                                     \
    static void gg_from_second_##bytes(const type *restrict from, type *restrict to, int64_t n) {  \
        for (int64_t j = 0; j < n; j++) to[j] = from[2 * j];                                       \
    }                                                                                              \
    static void gg_to_second_##bytes(const type *restrict from, type *restrict to, int64_t n) {    \
        for (int64_t j = 0; j < n; j++) to[2 * j] = from[j];                                       \
    }

GG_SECOND(uint8_t, 1)
GG_SECOND(uint16_t, 2)
GG_SECOND(uint32_t, 4)
GG_SECOND(uint64_t, 8)
GG_SECOND(gg_wide, 16)

#define GG_STRIDED_MOVE(type, bytes)                                                               \
    static void gg_strided_##bytes(const gg_move *p, const char *from, char *to, int64_t m,        \
                                   int64_t n) {                                                    \
        int64_t step = p->from_column, to_step = p->to_column;                                     \
        for (int64_t i = 0; i < m; i++) {                                                          \
            const char *x = from + i * p->from_row;                                                \
            char *y = to + i * p->to_row;                                                          \
            if (step == -bytes && to_step == bytes) {                                              \
                gg_backward_##bytes((const type *)x, (type *)y, n);                                \
                continue;                                                                          \
            }                                                                                      \
            if (step == 2 * bytes && to_step == bytes) {                                           \
                gg_from_second_##bytes((const type *)x, (type *)y, n);                             \
                continue;                                                                          \
            }                                                                                      \
            if (step == bytes && to_step == 2 * bytes) {                                           \
                gg_to_second_##bytes((const type *)x, (type *)y, n);                               \
                continue;                                                                          \
            }                                                                                      \
            for (int64_t j = 0; j < n; j++, x += step, y += to_step) *(type *)y = *(type *)x;      \
        }                                                                                          \
    }

GG_BRIEF

GG_STRIDED_MOVE(uint8_t, 1)
GG_STRIDED_MOVE(uint16_t, 2)
GG_STRIDED_MOVE(uint32_t, 4)
GG_STRIDED_MOVE(uint64_t, 8)
GG_STRIDED_MOVE(gg_wide, 16)

#if defined(__clang__) || __GNUC__ >= 12
typedef uint8_t gg_16_bytes __attribute__((vector_size(16), aligned(1), may_alias));

/* Copies groups of 3 bytes, the pixels of a row, in reverse order: five at a time, and a byte of a
   sixth one. Returns the number of groups copied. */
static int64_t gg_reverse_pixels(const char *from, char *to, int64_t m) {
    int64_t i = 1;
    if (m > 6) memcpy(to, from, 3);
    for (; i + 6 <= m; i += 5) {
        const gg_16_bytes five = *(const gg_16_bytes *)(from - 3 * (i + 4));
        *(gg_16_bytes *)(to + 3 * i) = __builtin_shufflevector(
            five, five, 12, 13, 14, 9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2, 15);
    }
    return m > 6 ? i : 0;
}
#else
static int64_t gg_reverse_pixels(const char *from, char *to, int64_t m) { return 0; }
#endif

#define GG_GROUP(bytes)                                                                            \
    case bytes:                                                                                    \
        for (int64_t i = first; i < m; i++)                                                        \
            memcpy(to + i * p->to_row, from + i * p->from_row, bytes);                             \
        break;

static void gg_copy_groups(const gg_move *p, const char *from, char *to, int64_t m, int64_t n) {
    int64_t first = 0;
    if (n * p->item == 3 && p->from_row == -3 && p->to_row == 3)
        first = gg_reverse_pixels(from, to, m);
    switch (n * p->item) {
        GG_GROUP(2) GG_GROUP(3) GG_GROUP(4) GG_GROUP(6) GG_GROUP(8) GG_GROUP(12) GG_GROUP(16)
        default: gg_copy_rows(p, from, to, m, n);
    }
}

typedef void (*gg_plane)(const gg_move *, const char *, char *, int64_t, int64_t);

#define GG_SIZES(name) {name##_1, name##_2, name##_4, name##_8, name##_16}

static const gg_plane gg_planes[5][5] = {
    {gg_copy_rows, gg_copy_rows, gg_copy_rows, gg_copy_rows, gg_copy_rows},
    GG_SIZES(gg_fill),
    GG_SIZES(gg_turn),
    GG_SIZES(gg_strided),
    {gg_copy_groups, gg_copy_groups, gg_copy_groups, gg_copy_groups, gg_copy_groups},
};

/* Copies block by block, counting up the indices outside of the plane as it goes. */
static void gg_move_part(void *at, int64_t part) {
    const gg_move *p = at;
    gg_plane plane = gg_planes[p->kind][__builtin_ctzll(p->item)];
    int64_t across = (p->columns + p->columns_each - 1) / p->columns_each;
    int64_t blocks = (p->rows + p->rows_each - 1) / p->rows_each * across;
    int64_t unit = part * p->each, last = gg_min(unit + p->each, p->count);
    int64_t block = unit % blocks, rest = unit / blocks, index[GG_OUTSIDE];
    const char *from = p->source;
    char *to = p->target;
    for (int64_t axis = p->outside - 1; axis >= 0; rest /= p->sizes[axis--]) {
        index[axis] = rest % p->sizes[axis];
        from += index[axis] * p->from[axis];
        to += index[axis] * p->to[axis];
    }
    for (; unit < last; unit++) {
        int64_t i = block / across * p->rows_each, j = block % across * p->columns_each;
        plane(p, from + i * p->from_row + j * p->from_column, to + i * p->to_row + j * p->to_column,
              gg_min(p->rows_each, p->rows - i), gg_min(p->columns_each, p->columns - j));
        if (++block < blocks) continue;
        block = 0;
        for (int64_t axis = p->outside - 1; axis >= 0; axis--) {
            from += p->from[axis];
            to += p->to[axis];
            if (++index[axis] < p->sizes[axis]) break;
            index[axis] = 0;
            from -= p->sizes[axis] * p->from[axis];
            to -= p->sizes[axis] * p->to[axis];
        }
    }
}

int gg_moved(void *at) {
    gg_move *p = at;
    gg_run_parallel(gg_move_part, p, p->parts, p->threads);
    return GG_DONE;
}

GG_BRIEF_END
