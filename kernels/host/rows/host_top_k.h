/* The largest elements of rows, the largest first; of equal ones the first comes first, and NaN
   is the largest. A few are kept in order while a row is read; many are sorted by radix. Also
   whether one element is among the largest. */

#include "host_rows.h"

/* Parameters: the number of rows, their size, the elements of each. Arrays: x, values, indices. */

#ifndef GG_TOP_K
#define GG_TOP_K

#define GG_MOST_KEPT 64 /* elements in order: each new one moves those after it */
#define GG_DIGIT 8
#define GG_DIGITS (1 << GG_DIGIT)
#define GG_FIRST_BITS 14 /* bits of keys, for an early rejection of small elements */
#define GG_IN_TOP_K_ROWS 64 /* of a part */
#define GG_IN_TOP_K_FEW 16  /* elements of a row, for which many rows are compared at once */
#define GG_FIRST_LEAST (1 << 12) /* minimum elements for which that is worth it */
#endif

#define GG_TOP_STRIDE 16 /* elements that are compared with the smallest of the chosen at once */

/* A row's elements as they are sorted: a smaller key comes first. */
typedef __typeof__(__builtin_choose_expr(sizeof(gg_real) == 8, (uint64_t)0, (uint32_t)0))
    GG_NAME(gg_key);

typedef struct {
    GG_NAME(gg_key) key;
    int32_t index;
} GG_NAME(gg_keyed);

/* Two of each element, and the counts of keys by their first bits. */
static int64_t GG_NAME(gg_sort_bytes)(int64_t size) {
    return (int64_t)sizeof(int32_t) * (1 << GG_FIRST_BITS) +
           2 * size * (int64_t)sizeof(GG_NAME(gg_keyed));
}

void GG_NAME(gg_top_k_plan)(gg_source *source) {
    const int64_t rows = source->parameters[0], size = source->parameters[1];
    const int64_t k = source->parameters[2];
    source->count[0] = rows * size;
    source->count[1] = source->count[2] = rows * k;
    if (k <= GG_MOST_KEPT) {
        gg_set_work(source, rows * (0.2 * size + 20.0 * k));
        return;
    }
    gg_set_work(source, rows * (4.0 * size + 2.0 * sizeof(gg_real) * k));
    source->scratch_bytes = gg_slots_bytes(source, GG_NAME(gg_sort_bytes)(size));
}

/* Whether x comes before y, which is earlier in the row. */
GG_ALWAYS int GG_NAME(gg_is_before)(gg_real x, gg_real y) { return x > y || (x != x && y == y); }

static void GG_NAME(gg_top_of_row)(const gg_real *x, int64_t size, int64_t k, gg_real *values,
                          int32_t *indices) {
    int64_t chosen = 0, i = 0;
    while (i < size) {
        if (chosen == k && i + GG_TOP_STRIDE <= size) {
            const gg_real least = values[k - 1];
            int any = 0;
            for (int64_t j = 0; j < GG_TOP_STRIDE; j++) any |= !(x[i + j] <= least);
            if (!any) {
                i += GG_TOP_STRIDE;
                continue;
            }
        }
        const int64_t end = gg_min(i + GG_TOP_STRIDE, size);
        for (; i < end; i++) {
            const gg_real value = x[i];
            if (chosen == k && !GG_NAME(gg_is_before)(value, values[k - 1])) continue;
            int64_t place = chosen < k ? chosen++ : k - 1;
            for (; place && GG_NAME(gg_is_before)(value, values[place - 1]); place--) {
                values[place] = values[place - 1];
                indices[place] = indices[place - 1];
            }
            values[place] = value;
            indices[place] = (int32_t)i;
        }
    }
}

/* -- many elements of a row */

/* Keys ascend as elements descend; equal elements, as both zeros and all NaN, have one key. There
   are no branches, as signs of numbers are unpredictable. */
GG_ALWAYS GG_NAME(gg_key) GG_NAME(gg_key_of)(gg_real x) {
    const int last_bit = 8 * sizeof(gg_real) - 1;
    const GG_NAME(gg_key) below_sign = ~((GG_NAME(gg_key))1 << last_bit);
    const gg_real number = x + 0; /* -0 is 0 */
    GG_NAME(gg_key) bits;
    memcpy(&bits, &number, sizeof x);
    if ((gg_real)0.5 == 0) return bits ^ below_sign; /* an integer */
    const GG_NAME(gg_key) if_positive = (bits >> last_bit) - 1;
    const GG_NAME(gg_key) if_number = -(GG_NAME(gg_key))(x == x);
    return (bits ^ (if_positive & below_sign)) & if_number;
}

/* The elements of a row that may be among the first k, in the order of the row; returns their
   number. */
static int64_t GG_NAME(gg_keyed_row)(const gg_real *x, int64_t size, int64_t k, int32_t *counts,
                                     GG_NAME(gg_keyed) *keyed) {
    const int shift = 8 * sizeof(gg_real) - GG_FIRST_BITS;
    GG_NAME(gg_key) last = (1 << GG_FIRST_BITS) - 1;
    if (size >= GG_FIRST_LEAST && 2 * k < size) {
        memset(counts, 0, sizeof(int32_t) << GG_FIRST_BITS);
        for (int64_t i = 0; i < size; i++) counts[GG_NAME(gg_key_of)(x[i]) >> shift]++;
        int64_t total = counts[last = 0];
        while (total < k) total += counts[++last];
    }
    int64_t chosen = 0;
    for (int64_t i = 0; i < size; i++) {
        const GG_NAME(gg_key) key = GG_NAME(gg_key_of)(x[i]);
        keyed[chosen] = (GG_NAME(gg_keyed)){key, (int32_t)i};
        chosen += key >> shift <= last;
    }
    return chosen;
}

/* Sorts by digits, the last first, each stably; digits that are equal everywhere are skipped.
   Returns the one of both arrays that has the result. */
static const GG_NAME(gg_keyed) *GG_NAME(gg_sorted)(GG_NAME(gg_keyed) *from, GG_NAME(gg_keyed) *to,
                                                   int64_t size) {
    int32_t counts[sizeof(gg_real)][GG_DIGITS];
    memset(counts, 0, sizeof counts);
    for (int64_t i = 0; i < size; i++)
        for (int digit = 0; digit < (int)sizeof(gg_real); digit++)
            counts[digit][from[i].key >> digit * GG_DIGIT & (GG_DIGITS - 1)]++;
    for (int digit = 0; digit < (int)sizeof(gg_real); digit++) {
        int32_t *places = counts[digit], place = 0;
        if (places[from[0].key >> digit * GG_DIGIT & (GG_DIGITS - 1)] == size) continue;
        for (int value = 0; value < GG_DIGITS; value++) {
            const int32_t count = places[value];
            places[value] = place;
            place += count;
        }
        for (int64_t i = 0; i < size; i++)
            to[places[from[i].key >> digit * GG_DIGIT & (GG_DIGITS - 1)]++] = from[i];
        GG_NAME(gg_keyed) *before = from;
        from = to;
        to = before;
    }
    return from;
}

static void GG_NAME(gg_sort_row)(gg_source *source, const gg_real *x, int64_t size, int64_t k,
                                 gg_real *values, int32_t *indices) {
    char *slot = gg_take(source, source->scratch, GG_NAME(gg_sort_bytes)(size));
    int32_t *counts = (int32_t *)slot;
    GG_NAME(gg_keyed) *keyed = (GG_NAME(gg_keyed) *)(counts + (1 << GG_FIRST_BITS));
    const int64_t chosen = GG_NAME(gg_keyed_row)(x, size, k, counts, keyed);
    const GG_NAME(gg_keyed) *sorted = GG_NAME(gg_sorted)(keyed, keyed + size, chosen);
    for (int64_t i = 0; i < k; i++) {
        indices[i] = sorted[i].index;
        values[i] = x[sorted[i].index];
    }
    gg_give(slot);
}

static void GG_NAME(gg_top_k_part)(void *block, int64_t row) {
    gg_source *source = block;
    const int64_t size = source->parameters[1], k = source->parameters[2];
    const gg_real *x = (const gg_real *)source->at[0] + row * size;
    gg_real *values = (gg_real *)source->at[1] + row * k;
    int32_t *indices = (int32_t *)source->at[2] + row * k;
    if (k <= GG_MOST_KEPT) GG_NAME(gg_top_of_row)(x, size, k, values, indices);
    else GG_NAME(gg_sort_row)(source, x, size, k, values, indices);
}

int GG_NAME(gg_top_k)(void *block) {
    gg_source *source = block;
    const int64_t size = source->parameters[1];
    if (source->parameters[2] > GG_MOST_KEPT)
        gg_free_slots(source, source->scratch, GG_NAME(gg_sort_bytes)(size));
    source->parallel(GG_NAME(gg_top_k_part), source, source->parameters[0], source->threads);
    return GG_DONE;
}

/* -- whether an element is among the largest

   Parameters: the number of rows, their size, k, whether targets are int64 (or int32). Arrays: x,
   targets, for each row whether fewer than k elements are larger than the target, and all are
   finite. */

void GG_NAME(gg_in_top_k_plan)(gg_source *source) {
    const int64_t rows = source->parameters[0], size = source->parameters[1];
    source->count[0] = rows * size;
    source->count[1] = source->count[2] = rows;
    gg_set_work(source, rows * (10 + 0.15 * size));
}

static void GG_NAME(gg_in_top_k_row)(gg_source *source, int64_t row) {
    const int64_t size = source->parameters[1], k = source->parameters[2];
    const int64_t target = gg_index(source->at[1], source->parameters[3], row);
    const gg_real *x = (const gg_real *)source->at[0] + row * size;
    const int is_inside = target >= 0 && target < size;
    const gg_real score = x[is_inside ? target : 0];
    int64_t above = 0;
    int32_t not_finite = 0;
    for (int64_t first = 0; first < size; first += 1 << 20) {
        const int64_t end = gg_min(size, first + (1 << 20));
        int32_t larger = 0;
        GG_LOOP for (int64_t i = first; i < end; i++) {
            larger += x[i] > score;
            not_finite |= x[i] - x[i] != 0;
        }
        above += larger;
    }
    ((uint8_t *)source->at[2])[row] = is_inside && above < k && !not_finite;
}

/* Rows of few numbers: the same for each number of all rows, one after the other. */
static void GG_NAME(gg_in_top_k_few)(gg_source *source, int64_t first, int64_t last) {
    const int64_t size = source->parameters[1], k = source->parameters[2], count = last - first;
    const gg_real *x = (const gg_real *)source->at[0] + first * size;
    gg_real score[GG_IN_TOP_K_ROWS];
    int32_t above[GG_IN_TOP_K_ROWS], wrong[GG_IN_TOP_K_ROWS];
    for (int64_t i = 0; i < count; i++) {
        const int64_t target = gg_index(source->at[1], source->parameters[3], first + i);
        const int is_inside = (uint64_t)target < (uint64_t)size;
        score[i] = x[i * size + (is_inside ? target : 0)];
        above[i] = 0, wrong[i] = !is_inside;
    }
    for (int64_t column = 0; column < size; column++)
        GG_LOOP for (int64_t i = 0; i < count; i++) {
            const gg_real number = x[i * size + column];
            above[i] += number > score[i];
            wrong[i] |= number - number != 0;
        }
    uint8_t *out = (uint8_t *)source->at[2] + first;
    for (int64_t i = 0; i < count; i++) out[i] = (uint8_t)((above[i] < k) & !wrong[i]);
}

static void GG_NAME(gg_in_top_k_part)(void *block, int64_t which) {
    gg_source *source = block;
    const int64_t first = which * GG_IN_TOP_K_ROWS;
    const int64_t last = gg_min(source->parameters[0], first + GG_IN_TOP_K_ROWS);
    if (source->parameters[1] <= GG_IN_TOP_K_FEW)
        GG_NAME(gg_in_top_k_few)(source, first, last);
    else
        for (int64_t row = first; row < last; row++) GG_NAME(gg_in_top_k_row)(source, row);
}

int GG_NAME(gg_in_top_k)(void *block) {
    gg_source *source = block;
    const int64_t parts = gg_ceil(source->parameters[0], GG_IN_TOP_K_ROWS);
    source->parallel(GG_NAME(gg_in_top_k_part), source, parts, source->threads);
    return GG_DONE;
}
