/* Levenshtein's distance of the sequences in two sparse tensors.

   Numbers: the elements of both, the rank of the sequences' places, the sizes of the result, the
   kind of an element, whether distances are divided by the length of the truth. Arrays: positions,
   values and sizes of the hypotheses, of the truths, out, a count that stays unused. Positions that
   are out of range end the function with GG_FAILED. */

#include "host_texts.h"

enum { GG_WORD8, GG_WORD16, GG_WORD32, GG_WORD64, GG_FLOAT32, GG_FLOAT64, GG_STRING };

typedef struct {
    int64_t count, rank, kind, places;
    const int64_t *sizes, *positions, *own; /* own: the tensor's sizes */
    const void *values;
    int64_t *starts, *codes; /* of each place, of the elements in the order of places */
    const gg_bytes **texts;
} gg_sequences;

/* A code of an element: equal elements have equal codes. Different strings may share one. NaN has
   the code of its index, which no other element has. */
GG_ALWAYS int64_t gg_element_code(const gg_sequences *s, int64_t i, int64_t nan, int kind) {
    switch (kind) {
        case GG_WORD8: return ((const int8_t *)s->values)[i];
        case GG_WORD16: return ((const int16_t *)s->values)[i];
        case GG_WORD32: return ((const int32_t *)s->values)[i];
        case GG_WORD64: return ((const int64_t *)s->values)[i];
        case GG_STRING: {
            const gg_bytes *item = ((const gg_bytes *const *)s->values)[i];
            return (int64_t)gg_farm((gg_text)item->content, item->size, 0);
        }
    }
    const double x = kind == GG_FLOAT32 ? (double)((const float *)s->values)[i]
                                        : ((const double *)s->values)[i] + 0.0;
    int64_t code = INT64_MIN + 1 + 2 * i + nan; /* the bits of a denormal below 0 */
    const double plain = x == 0 ? 0.0 : x;
    if (x == x) memcpy(&code, &plain, 8);
    return code;
}

/* The place of an element, -1 if it is out of range. */
GG_ALWAYS int64_t gg_place_of(const gg_sequences *s, int64_t i, int64_t rank) {
    const int64_t *positions = s->positions + i * (rank + 1);
    int64_t place = 0;
    int inside = 1;
    for (int64_t axis = 0; axis <= rank; axis++) {
        inside &= (uint64_t)positions[axis] < (uint64_t)s->own[axis];
        if (axis < rank) place = place * s->sizes[axis] + positions[axis];
    }
    return inside ? place : -1;
}

/* Counts the elements of each place. Returns -1 if one is out of range, else whether they are in
   the order of places. */
GG_ALWAYS int gg_count_elements(gg_sequences *s, int64_t rank) {
    int64_t before = 0;
    int in_order = 1;
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t place = gg_place_of(s, i, rank);
        if (place < 0) return -1;
        s->starts[place + 2]++;
        in_order &= place >= before;
        before = place;
    }
    return in_order;
}

GG_ALWAYS void gg_set_codes(gg_sequences *s, int64_t nan, int kind, int in_order) {
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t to = in_order ? i : s->starts[gg_place_of(s, i, s->rank) + 1]++;
        s->codes[to] = gg_element_code(s, i, nan, kind);
        if (kind == GG_STRING) s->texts[to] = ((const gg_bytes *const *)s->values)[i];
    }
}

/* Sorts the elements by place, those of a place in their order. */
static int gg_sort_sequences(gg_sequences *s, int64_t nan) {
    memset(s->starts, 0, (size_t)(s->places + 2) * 8);
    const int in_order = s->rank == 1 ? gg_count_elements(s, 1) : gg_count_elements(s, s->rank);
    if (in_order < 0) return 0;
    for (int64_t p = 1; p < s->places; p++) s->starts[p + 1] += s->starts[p];
#define GG_SET_CODES(kind)                                                                         \
    case kind:                                                                                     \
        if (in_order) gg_set_codes(s, nan, kind, 1);                                               \
        else gg_set_codes(s, nan, kind, 0);                                                        \
        break;
    switch (s->kind) {
        GG_SET_CODES(GG_WORD8)
        GG_SET_CODES(GG_WORD16)
        GG_SET_CODES(GG_WORD32)
        GG_SET_CODES(GG_WORD64)
        GG_SET_CODES(GG_FLOAT32)
        GG_SET_CODES(GG_FLOAT64)
        GG_SET_CODES(GG_STRING)
    }
    if (in_order) memmove(s->starts, s->starts + 1, (size_t)s->places * 8);
    s->starts[s->places] = s->count;
    return 1;
}

static int gg_are_one(const gg_bytes *one, const gg_bytes *other) {
    return one->size == other->size && !memcmp(one->content, other->content, (size_t)one->size);
}

GG_ALWAYS int64_t gg_distance(const int strings, const gg_sequences *a, const gg_sequences *b,
                              int64_t place, int64_t *row) {
    const int64_t first = b->starts[place], count = b->starts[place + 1] - first;
    const int64_t *codes = b->codes + first;
    for (int64_t k = 0; k <= count; k++) row[k] = k;
    for (int64_t i = a->starts[place]; i < a->starts[place + 1]; i++) {
        const int64_t code = a->codes[i];
        int64_t diagonal = i - a->starts[place], left = diagonal + 1;
        for (int64_t k = 0; k < count; k++) {
            int differ = codes[k] != code;
            if (strings && !differ) differ = !gg_are_one(a->texts[i], b->texts[first + k]);
            const int64_t above = row[k + 1], replaced = diagonal + differ;
            left = gg_min(left + 1, gg_min(above + 1, replaced));
            row[k + 1] = left, diagonal = above;
        }
    }
    return count ? row[count] : a->starts[place + 1] - a->starts[place];
}

static gg_sequences gg_sequences_of(const gg_source *source, int which) {
    const int64_t *n = source->parameters + GG_TEXT_NUMBERS;
    gg_sequences s = {.count = n[which], .rank = n[2], .sizes = n + 3, .places = 1};
    for (int64_t axis = 0; axis < s.rank; axis++) s.places *= s.sizes[axis];
    s.kind = n[3 + s.rank];
    return s;
}

void GG_NAME(gg_edit_distance_plan)(gg_source *source) {
    gg_text_plan(source);
    int64_t bytes = 0;
    for (int which = 0; which < 2; which++) {
        const gg_sequences s = gg_sequences_of(source, which);
        source->count[3 * which] = s.count * (s.rank + 1);
        source->count[3 * which + 1] = s.count;
        source->count[3 * which + 2] = s.rank + 1;
        source->count[6] = s.places;
        bytes += 8 * (s.places + 2 + 3 * s.count + 2);
    }
    source->count[7] = 1;
    source->scratch_bytes = bytes;
}

GG_WITH_GIL(gg_edit_distance) {
    gg_sequences s[2];
    int64_t *room = (int64_t *)t->source->scratch;
    for (int which = 0; which < 2; which++) {
        gg_sequences *each = s + which;
        *each = gg_sequences_of(t->source, which);
        each->positions = t->source->at[3 * which], each->values = t->source->at[3 * which + 1];
        each->own = t->source->at[3 * which + 2];
        each->starts = room, each->codes = room + each->places + 2;
        each->texts = (const gg_bytes **)(each->codes + each->count);
        room = each->codes + 2 * each->count;
        if (each->kind == GG_STRING && !gg_are_bytes(t->source, 3 * which + 1, each->count))
            return GG_FAILED;
        if (!gg_sort_sequences(each, which)) return GG_FAILED;
    }
    float *out = t->source->at[6];
    for (int64_t place = 0; place < s[0].places; place++) {
        const int64_t distance = s[0].kind == GG_STRING ? gg_distance(1, s, s + 1, place, room)
                                                        : gg_distance(0, s, s + 1, place, room);
        const int64_t length = s[1].starts[place + 1] - s[1].starts[place];
        const int64_t any = length + s[0].starts[place + 1] - s[0].starts[place];
        out[place] = (float)distance;
        if (s[0].sizes[s[0].rank + 1] && any) /* in double, as in Python */
            out[place] = length ? (float)((double)distance / (double)length) : INFINITY;
    }
    return GG_DONE;
}
