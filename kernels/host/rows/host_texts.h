/* Strings of an array of Python objects, read where CPython keeps them.

   Parameters begin with GG_TEXT_NUMBERS numbers: the number of strings, the address of the type
   bytes, and those of PyBytes_FromStringAndSize, Py_DecRef, Py_IncRef, PyGILState_Ensure and
   _Release. An
   object that is no bytes ends a function with GG_FAILED before anything is written. Functions hold
   the GIL, so that no other thread releases a string that is read. */

#include "host_string_hash.h"

#define GG_TEXT_NUMBERS 7

typedef struct {
    int64_t references;
    const void *type;
    int64_t size;
    int64_t hash;
    char content[]; /* and a zero */
} gg_bytes;

typedef struct {
    gg_source *source;
    int64_t count;
    const int64_t *numbers; /* those after the common ones */
    const gg_bytes **items;
    void *(*make)(const char *, int64_t);
    void (*release)(void *);
    void (*keep)(void *);
    int (*lock)(void);
    void (*unlock)(int);
} gg_texts;

#define GG_TEXTS_AHEAD 12 /* objects that are prefetched before they are read */

static int gg_are_bytes(const gg_source *source, int64_t array, int64_t count) {
    const gg_bytes *const *items = source->at[array];
    const void *type = (const void *)(intptr_t)source->parameters[1];
    int all = 1;
    for (int64_t i = 0; i < count; i++) {
        __builtin_prefetch(items[gg_min(i + GG_TEXTS_AHEAD, count - 1)]);
        all &= items[i] && items[i]->type == type;
    }
    return all;
}

static gg_texts gg_texts_of(gg_source *source) {
    const int64_t *n = source->parameters;
    return (gg_texts){source, n[0], n + GG_TEXT_NUMBERS, source->at[0],
                      (void *(*)(const char *, int64_t))(intptr_t)n[2],
                      (void (*)(void *))(intptr_t)n[3], (void (*)(void *))(intptr_t)n[4],
                      (int (*)(void))(intptr_t)n[5], (void (*)(int))(intptr_t)n[6]};
}

/* Sets an element of an array of objects to new bytes; returns whether there was memory. Bytes of
   the same size that only this array holds are overwritten. */
static int gg_put_bytes(const gg_texts *t, void **at, const char *from, int64_t size) {
    gg_bytes *before = *at;
    const void *type = (const void *)(intptr_t)t->source->parameters[1];
    if (before && before->references == 1 && before->type == type && before->size == size &&
        size > 1) {
        memcpy(before->content, from, (size_t)size);
        before->hash = -1;
        return 1;
    }
    void *made = t->make(from, size);
    if (!made) return 0;
    *at = made;
    if (before) t->release(before);
    return 1;
}

/* Sets an element to a string of another array. */
static __attribute__((unused)) void gg_share(const gg_texts *t, void **at, const gg_bytes *item) {
    void *before = *at;
    t->keep((void *)item);
    *at = (void *)item;
    if (before) t->release(before);
}

/* One array of strings, one of results, of the same size. */
static void gg_text_plan(gg_source *source) {
    source->count[0] = source->count[1] = source->parameters[0];
    source->scratch_bytes = 0;
    source->nanoseconds = 1000; /* the GIL stays held */
    source->threads = 1;
}

#define GG_WITH_GIL(name)                                                                          \
    static int name##_run(gg_texts *t);                                                            \
    int GG_NAME(name)(void *block) {                                                               \
        gg_texts t = gg_texts_of(block);                                                           \
        const int locked = t.lock(), status = name##_run(&t);                                      \
        t.unlock(locked);                                                                          \
        return status;                                                                             \
    }                                                                                              \
    static int name##_run(gg_texts *t)

#define GG_TEXT_FUNCTION(name)                                                                     \
    void GG_NAME(name##_plan)(gg_source *source) { gg_text_plan(source); }                         \
    GG_WITH_GIL(name)

/* -- numbers of strings */

/* Numbers: buckets, two words of a key. */
GG_ALWAYS int gg_text_hash(gg_texts *t, gg_hash hash) {
    if (!gg_are_bytes(t->source, 0, t->count)) return GG_FAILED;
    const uint64_t buckets = (uint64_t)t->numbers[0];
    int64_t *out = t->source->at[1];
    for (int64_t i = 0; i < t->count; i++) {
        const gg_bytes *item = t->items[i];
        out[i] = (int64_t)(hash((gg_text)item->content, item->size, t->numbers + 1) % buckets);
    }
    return GG_DONE;
}

GG_TEXT_FUNCTION(gg_text_murmur) { return gg_text_hash(t, gg_murmur); }
GG_TEXT_FUNCTION(gg_text_farm) { return gg_text_hash(t, gg_farm); }
GG_TEXT_FUNCTION(gg_text_sip) { return gg_text_hash(t, gg_sip); }

extern double strtod(const char *, char **);

static int gg_is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* The first byte of a string without white space at its ends, and its size then. */
static const char *gg_stripped(const gg_bytes *item, int64_t *size) {
    int64_t first = 0, last = item->size;
    while (first < last && gg_is_space(item->content[first])) first++;
    while (last > first && gg_is_space(item->content[last - 1])) last--;
    *size = last - first;
    return item->content + first;
}

/* A plain decimal number; others are left to Python. */
static int gg_plain_number(const gg_bytes *item, double *out) {
    int64_t i = 0, digits = 0, number = 0, power = 0, size;
    const char *at = gg_stripped(item, &size);
    if (size && (at[0] == '-' || at[0] == '+')) i = 1;
    for (int point = 0; i < size; i++) {
        if (at[i] == '.' && !point) point = 1;
        else if (at[i] >= '0' && at[i] <= '9') {
            if (++digits <= 18) number = number * 10 + (at[i] - '0');
            power -= point;
        } else break;
    }
    if (!digits) return 0;
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
                                    1e22};
    if (i == size && digits <= 18 && number < (int64_t)1 << 53 && power > -23) {
        const double value = (double)number / powers[-power]; /* both exact: rounded once */
        *out = at[0] == '-' ? -value : value;
        return 1;
    }
    for (int64_t k = i; k < size; k++)
        if (!(at[k] >= '0' && at[k] <= '9') && at[k] != '-' && at[k] != '+' && at[k] != 'e' &&
            at[k] != 'E')
            return 0;
    char *end;
    *out = strtod(at, &end);
    return end == at + size;
}

static int gg_plain_integer(const gg_bytes *item, int64_t low, int64_t high, int64_t *out) {
    int64_t size;
    const char *at = gg_stripped(item, &size);
    const int minus = size && at[0] == '-';
    int64_t i = size && (minus || at[0] == '+'), value = 0;
    if (i == size || size - i > 18) return 0;
    for (; i < size; i++) {
        if (at[i] < '0' || at[i] > '9') return 0;
        value = value * 10 + (at[i] - '0');
    }
    *out = minus ? -value : value;
    return *out >= low && *out <= high;
}

enum { GG_TO_F32, GG_TO_F64, GG_TO_I32, GG_TO_I64 };

/* Numbers: the dtype. */
GG_TEXT_FUNCTION(gg_text_to_number) {
    if (!gg_are_bytes(t->source, 0, t->count)) return GG_FAILED;
    const int64_t kind = t->numbers[0];
    const int64_t low = kind == GG_TO_I32 ? INT32_MIN : INT64_MIN;
    const int64_t high = kind == GG_TO_I32 ? INT32_MAX : INT64_MAX;
    void *out = t->source->at[1];
    for (int64_t i = 0; i < t->count; i++) {
        int64_t integer = 0;
        double real = 0;
        if (kind >= GG_TO_I32 ? !gg_plain_integer(t->items[i], low, high, &integer)
                              : !gg_plain_number(t->items[i], &real))
            return GG_FAILED;
        switch (kind) {
            case GG_TO_F32: ((float *)out)[i] = (float)real; break;
            case GG_TO_F64: ((double *)out)[i] = real; break;
            case GG_TO_I32: ((int32_t *)out)[i] = (int32_t)integer; break;
            default: ((int64_t *)out)[i] = integer;
        }
    }
    return GG_DONE;
}

/* -- new strings */

GG_ALWAYS int gg_new_texts(const gg_texts *t, void **out,
                           int64_t (*write)(const gg_texts *, int64_t, char *),
                           int64_t (*room)(const gg_texts *, int64_t)) {
    char small[256];
    int made = 1;
    for (int64_t i = 0; i < t->count && made; i++) {
        const int64_t size = room(t, i);
        if (size <= (int64_t)sizeof small) {
            made = gg_put_bytes(t, out + i, small, write(t, i, small));
            continue;
        }
        gg_bytes *item = t->make(0, size); /* not visible to others yet */
        if (!(made = item != 0)) break;
        const int64_t written = write(t, i, item->content);
        void *before = out[i];
        if (written == size) {
            out[i] = item;
            if (before) t->release(before);
        } else {
            made = gg_put_bytes(t, out + i, item->content, written);
            t->release(item);
        }
    }
    return made ? GG_DONE : GG_FAILED;
}

static int64_t gg_same_room(const gg_texts *t, int64_t i) { return t->items[i]->size; }

/* Numbers: whether the strings are text in UTF-8, of which only ASCII is converted here. */
static int gg_are_ascii(const gg_texts *t) {
    char all = 0;
    for (int64_t i = 0; i < t->count && t->numbers[0]; i++)
        for (int64_t k = 0; k < t->items[i]->size; k++) all |= t->items[i]->content[k];
    return !(all & 0x80);
}

static int64_t gg_lower_text(const gg_texts *t, int64_t i, char *to) {
    const gg_bytes *item = t->items[i];
    for (int64_t k = 0; k < item->size; k++) {
        const char c = item->content[k];
        to[k] = (char)(c + (c >= 'A' && c <= 'Z') * 32);
    }
    return item->size;
}

static int64_t gg_upper_text(const gg_texts *t, int64_t i, char *to) {
    const gg_bytes *item = t->items[i];
    for (int64_t k = 0; k < item->size; k++) {
        const char c = item->content[k];
        to[k] = (char)(c - (c >= 'a' && c <= 'z') * 32);
    }
    return item->size;
}

static int64_t gg_strip_text(const gg_texts *t, int64_t i, char *to) {
    int64_t size;
    const char *from = gg_stripped(t->items[i], &size);
    memcpy(to, from, (size_t)size);
    return size;
}

/* Numbers: whether to pad. */
static int64_t gg_base64_room(const gg_texts *t, int64_t i) {
    const int64_t size = t->items[i]->size, rest = size % 3;
    return size / 3 * 4 + (!rest ? 0 : t->numbers[0] ? 4 : rest + 1);
}

static int64_t gg_base64_text(const gg_texts *t, int64_t i, char *to) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const uint8_t *from = (const uint8_t *)t->items[i]->content;
    const int64_t size = t->items[i]->size;
    char *at = to;
    int64_t k = 0;
    for (; k + 3 <= size; k += 3) {
        const uint32_t word = (uint32_t)from[k] << 16 | (uint32_t)from[k + 1] << 8 | from[k + 2];
        for (int shift = 18; shift >= 0; shift -= 6) *at++ = letters[word >> shift & 63];
    }
    if (k < size) {
        const uint32_t word = (uint32_t)from[k] << 16 | (k + 1 < size ? (uint32_t)from[k + 1] : 0) << 8;
        *at++ = letters[word >> 18 & 63], *at++ = letters[word >> 12 & 63];
        if (k + 1 < size) *at++ = letters[word >> 6 & 63];
        while (t->numbers[0] && (at - to) % 4) *at++ = '=';
    }
    return at - to;
}

#define GG_NEW_TEXTS(name, are_fit, write, room)                                                   \
    GG_TEXT_FUNCTION(name) {                                                                       \
        if (!gg_are_bytes(t->source, 0, t->count) || !are_fit) return GG_FAILED;                   \
        return gg_new_texts(t, t->source->at[1], write, room);                                     \
    }

GG_NEW_TEXTS(gg_text_lower, gg_are_ascii(t), gg_lower_text, gg_same_room)
GG_NEW_TEXTS(gg_text_upper, gg_are_ascii(t), gg_upper_text, gg_same_room)
GG_NEW_TEXTS(gg_text_strip, 1, gg_strip_text, gg_same_room)
GG_NEW_TEXTS(gg_text_base64, 1, gg_base64_text, gg_base64_room)

/* Strings that are cut. Numbers: the room for parts; 0: at each byte of the delimiter, 1: the same,
   without empty parts, 2: at each delimiter as a whole, or at white space if it is empty; the
   largest number of cuts, or -1.
   Arrays: strings, the delimiter, indices, parts, the shape, their number. */
void GG_NAME(gg_text_cut_plan)(gg_source *source) {
    const int64_t *n = source->parameters, room = n[GG_TEXT_NUMBERS];
    gg_text_plan(source);
    source->count[1] = 1, source->count[2] = 2 * room, source->count[3] = room;
    source->count[4] = 2, source->count[5] = 1;
}

typedef struct {
    const gg_texts *texts;
    int64_t row, column, count, room;
} gg_cutting;

static int gg_put_part(gg_cutting *c, const char *from, int64_t size) {
    if (c->count == c->room) return 0;
    int64_t *index = (int64_t *)c->texts->source->at[2] + 2 * c->count;
    index[0] = c->row, index[1] = c->column++;
    return gg_put_bytes(c->texts, (void **)c->texts->source->at[3] + c->count++, from, size);
}

static int gg_cut_text(gg_cutting *c, const gg_bytes *text, const gg_bytes *by, int64_t mode,
                       const uint8_t *cuts) {
    const char *from = text->content;
    const int64_t size = text->size, width = by->size;
    int64_t start = 0;
    if (mode < 2 && !size) return 1;
    if (mode < 2 && !width) {
        for (int64_t i = 0; i < size; i++)
            if (!gg_put_part(c, from + i, 1)) return 0;
        return 1;
    }
    const int skips = mode == 1 || (mode == 2 && !width);
    const int64_t most = c->texts->numbers[2];
    if (!most) return gg_put_part(c, from, size);
    for (int64_t i = 0; i <= size; i++) {
        int64_t cut = 0;
        if (i == size) cut = 1;
        else if (mode < 2 || !width) cut = cuts[(uint8_t)from[i]];
        else if (size - i >= width && !memcmp(from + i, by->content, (size_t)width)) cut = width;
        if (!cut) continue;
        if ((!skips || i > start) && !gg_put_part(c, from + start, i - start)) return 0;
        start = i + cut;
        if (c->column == most && i < size) {
            while (skips && start < size && gg_is_space(from[start])) start++;
            return (skips && start == size) || gg_put_part(c, from + start, size - start);
        }
        i = start - 1;
    }
    return 1;
}

GG_WITH_GIL(gg_text_cut) {
    if (!gg_are_bytes(t->source, 0, t->count) || !gg_are_bytes(t->source, 1, 1)) return GG_FAILED;
    const gg_bytes *by = *(const gg_bytes **)t->source->at[1];
    const int64_t mode = t->numbers[1];
    uint8_t cuts[256] = {0};
    for (int64_t i = 0; i < by->size; i++) cuts[(uint8_t)by->content[i]] = 1;
    for (int c = 0; mode == 2 && !by->size && c < 256; c++) cuts[c] = (uint8_t)gg_is_space((char)c);
    gg_cutting c = {t, 0, 0, 0, t->numbers[0]};
    int64_t widest = 0;
    int made = 1;
    for (; c.row < t->count && made; c.row++) {
        c.column = 0;
        made = gg_cut_text(&c, t->items[c.row], by, mode, cuts);
        widest = gg_max(widest, c.column);
    }
    ((int64_t *)t->source->at[4])[0] = t->count, ((int64_t *)t->source->at[4])[1] = widest;
    *(int64_t *)t->source->at[5] = c.count;
    return made ? GG_DONE : GG_FAILED;
}
