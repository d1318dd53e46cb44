/* Strings that are joined, decoded from base64, or written from floating-point numbers: functions
   like those of host_texts.h, whose common part they share. */

#include "host_texts.h"

/* Joined strings. Parameters: the common ones, the number of inputs, whether each of them is one
   string for all. Arrays: the inputs, the separator, out. */
void GG_NAME(gg_text_join_plan)(gg_source *source) {
    const int64_t *n = source->parameters, inputs = n[GG_TEXT_NUMBERS];
    gg_text_plan(source);
    for (int64_t k = 0; k < inputs; k++)
        source->count[k] = n[GG_TEXT_NUMBERS + 1 + k] ? 1 : n[0];
    source->count[inputs] = n[0];
}

/* The string of an input at index `i`. */
static const gg_bytes *gg_joined_item(const gg_texts *t, int64_t input, int64_t i) {
    return ((const gg_bytes *const *)t->source->at[input])[t->numbers[1 + input] ? 0 : i];
}

static int64_t gg_join_room(const gg_texts *t, int64_t i) {
    const int64_t inputs = t->numbers[0];
    int64_t size = t->numbers[1 + inputs] * (inputs - 1);
    for (int64_t k = 0; k < inputs; k++) size += gg_joined_item(t, k, i)->size;
    return size;
}

static int64_t gg_join_text(const gg_texts *t, int64_t i, char *to) {
    const int64_t inputs = t->numbers[0], width = t->numbers[1 + inputs];
    const char *separator = (const char *)(t->numbers + 2 + inputs);
    char *at = to;
    for (int64_t k = 0; k < inputs; k++) {
        const gg_bytes *item = gg_joined_item(t, k, i);
        if (k) memcpy(at, separator, (size_t)width), at += width;
        memcpy(at, item->content, (size_t)item->size), at += item->size;
    }
    return at - to;
}

GG_WITH_GIL(gg_text_join) {
    const int64_t inputs = t->numbers[0];
    for (int64_t k = 0; k < inputs; k++)
        if (!gg_are_bytes(t->source, k, t->numbers[1 + k] ? 1 : t->count)) return GG_FAILED;
    return gg_new_texts(t, t->source->at[inputs], gg_join_text, gg_join_room);
}

/* Strings joined by segment. Numbers: the number of segment ids, whether they are int64, the number
   of segments, the bytes of the separator, the separator. Arrays: strings, ids, the number of
   segments, out, a count that stays unused. */
void GG_NAME(gg_text_segments_plan)(gg_source *source) {
    const int64_t *n = source->parameters + GG_TEXT_NUMBERS;
    const int64_t columns = n[0] ? source->parameters[0] / n[0] : 0;
    gg_text_plan(source);
    source->count[1] = n[0], source->count[2] = 1;
    source->count[3] = n[2] * columns, source->count[4] = 1;
    source->scratch_bytes = source->count[3] * 8;
}

/* The elements of the result, by their bytes first, then (with `out`) written. An empty string is
   followed by no separator. */
static void gg_join_segments(const gg_texts *t, int64_t columns, int64_t *sizes, gg_bytes **out) {
    const int64_t width = t->numbers[3];
    for (int64_t i = 0; i < t->count; i++) {
        const int64_t segment = gg_index(t->source->at[1], t->numbers[1], i / columns);
        const int64_t at = segment * columns + i % columns;
        const int64_t gap = sizes[at] ? width : 0;
        if (out) {
            memcpy(out[at]->content + sizes[at], t->numbers + 4, (size_t)gap);
            memcpy(out[at]->content + sizes[at] + gap, t->items[i]->content,
                   (size_t)t->items[i]->size);
        }
        sizes[at] += gap + t->items[i]->size;
    }
}

GG_WITH_GIL(gg_text_segments) {
    const int64_t *n = t->numbers, columns = t->count / n[0], count = n[2] * columns;
    if (!gg_are_bytes(t->source, 0, t->count)) return GG_FAILED;
    for (int64_t i = 0; i < n[0]; i++)
        if ((uint64_t)gg_index(t->source->at[1], n[1], i) >= (uint64_t)n[2]) return GG_FAILED;
    int64_t *sizes = (int64_t *)t->source->scratch;
    void **out = t->source->at[3];
    memset(sizes, 0, (size_t)count * 8);
    gg_join_segments(t, columns, sizes, 0);
    for (int64_t i = 0; i < count; i++) {
        void *made = t->make(0, sizes[i]), *before = out[i]; /* not visible to others yet */
        if (!made) return GG_FAILED;
        out[i] = made, sizes[i] = 0;
        if (before) t->release(before);
    }
    gg_join_segments(t, columns, sizes, (gg_bytes **)out);
    return GG_DONE;
}

/* -- base64 */

static const uint8_t *gg_base64_values(void) {
    static uint8_t values[256];
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    if (values[0] != 64) { /* the GIL is held */
        for (int c = 0; c < 256; c++) values[c] = 64;
        for (int i = 0; i < 64; i++) values[(uint8_t)letters[i]] = (uint8_t)i;
    }
    return values;
}

/* The size of a string without the padding at its end; -1 if it is not sound. */
static int64_t gg_base64_bare(const gg_bytes *item, const uint8_t *values) {
    int64_t size = item->size;
    while (size > 0 && item->size - size < 2 && item->content[size - 1] == '=') size--;
    const int64_t padding = item->size - size, wanted = (4 - size % 4) % 4;
    int bad = size % 4 == 1 || (padding && padding != wanted);
    for (int64_t i = 0; i < size; i++) bad |= values[(uint8_t)item->content[i]] & 64;
    return bad ? -1 : size;
}

static int64_t gg_decoded_room(const gg_texts *t, int64_t i) {
    const gg_bytes *item = t->items[i];
    int64_t size = item->size;
    while (size > 0 && item->content[size - 1] == '=') size--;
    return size / 4 * 3 + (size % 4 ? size % 4 - 1 : 0);
}

static int64_t gg_decoded_text(const gg_texts *t, int64_t i, char *to) {
    const uint8_t *values = gg_base64_values(), *from = (const uint8_t *)t->items[i]->content;
    const int64_t size = gg_decoded_room(t, i);
    int64_t k = 0;
    for (; k + 3 <= size; k += 3, from += 4) {
        const uint32_t word = (uint32_t)values[from[0]] << 18 | (uint32_t)values[from[1]] << 12 |
                              (uint32_t)values[from[2]] << 6 | values[from[3]];
        to[k] = (char)(word >> 16), to[k + 1] = (char)(word >> 8), to[k + 2] = (char)word;
    }
    if (k < size) to[k] = (char)(values[from[0]] << 2 | values[from[1]] >> 4);
    if (k + 1 < size) to[k + 1] = (char)(values[from[1]] << 4 | values[from[2]] >> 2);
    return size;
}

GG_TEXT_FUNCTION(gg_text_decoded) {
    if (!gg_are_bytes(t->source, 0, t->count)) return GG_FAILED;
    const uint8_t *values = gg_base64_values();
    for (int64_t i = 0; i < t->count; i++)
        if (gg_base64_bare(t->items[i], values) < 0) return GG_FAILED;
    return gg_new_texts(t, t->source->at[1], gg_decoded_text, gg_decoded_room);
}

/* -- numbers as text. Numbers: the type; the digits after the point, or -1 if formats of printf
   follow, of GG_FORMAT_WORDS words: one for integers as long long and for finite numbers, one for
   others. */

enum { GG_TEXT_I32, GG_TEXT_I64, GG_TEXT_F32, GG_TEXT_F64, GG_TEXT_BOOL };
#define GG_FORMAT_WORDS 3

extern int snprintf(char *, size_t, const char *, ...);

static int64_t gg_written_integer(const gg_texts *t, int64_t i) {
    const void *from = t->source->at[0];
    return t->numbers[0] == GG_TEXT_I64 ? ((const int64_t *)from)[i] : ((const int32_t *)from)[i];
}

/* Integers as decimal numbers. */
static int64_t gg_decimal_room(const gg_texts *t, int64_t i) {
    (void)t, (void)i;
    return 24;
}

static int64_t gg_decimal_text(const gg_texts *t, int64_t i, char *to) {
    const int64_t value = gg_written_integer(t, i);
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char digits[24];
    int64_t count = 0, size = 0;
    do digits[count++] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0) to[size++] = '-';
    while (count) to[size++] = digits[--count];
    return size;
}

/* Floating-point numbers with up to nine digits after the point. */

static const double gg_scales[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};

static double gg_written_number(const gg_texts *t, int64_t i) {
    const void *from = t->source->at[0];
    return t->numbers[0] == GG_TEXT_F64 ? ((const double *)from)[i]
                                        : (double)((const float *)from)[i];
}

/* x times a power of ten, rounded to an integer, ties to even. The product's error decides near a
   tie; the difference from the integer is exact. */
static int64_t gg_scaled(double x, double scale) {
    const double product = x * scale, rest = __builtin_fma(x, scale, -product);
    const double whole = __builtin_rint(product), over = product - whole;
    return (int64_t)whole + (over == 0.5 && rest > 0) - (over == -0.5 && rest < 0);
}

static int64_t gg_real_room(const gg_texts *t, int64_t i) {
    (void)t, (void)i;
    return 32;
}

static int64_t gg_real_text(const gg_texts *t, int64_t i, char *to) {
    const double x = gg_written_number(t, i);
    const int minus = x == x && __builtin_signbit(x);
    char digits[32];
    int64_t size = 0, count = 0;
    if (minus) to[size++] = '-';
    if (x != x || x - x != 0) {
        memcpy(to + size, x != x ? "nan" : "inf", 3);
        return size + 3;
    }
    const int64_t places = t->numbers[1];
    uint64_t rest = (uint64_t)gg_scaled(minus ? -x : x, gg_scales[places]);
    for (; count < places + 1 || rest; rest /= 10) {
        if (places && count == places) digits[count++] = '.';
        digits[count++] = (char)('0' + rest % 10);
    }
    while (count) to[size++] = digits[--count];
    return size;
}

static int64_t gg_bool_text(const gg_texts *t, int64_t i, char *to) {
    const int is_true = ((const uint8_t *)t->source->at[0])[i] != 0;
    memcpy(to, is_true ? "true" : "false", 5);
    return 5 - is_true;
}

/* Enough for widths and precisions up to 64, within the small buffer for usual numbers. */
static int64_t gg_formatted_room(const gg_texts *t, int64_t i) {
    if (t->numbers[0] < GG_TEXT_F32) return 100;
    const double x = gg_written_number(t, i);
    return x < 1e100 && x > -1e100 ? 250 : 450;
}

static int64_t gg_formatted_text(const gg_texts *t, int64_t i, char *to) {
    const char *form = (const char *)(t->numbers + 2);
    const size_t room = (size_t)gg_formatted_room(t, i);
    if (t->numbers[0] < GG_TEXT_F32)
        return snprintf(to, room, form, (long long)gg_written_integer(t, i));
    const double x = gg_written_number(t, i);
    if (x - x != 0) form = (const char *)(t->numbers + 2 + GG_FORMAT_WORDS);
    return snprintf(to, room, form, x == x ? x : (double)NAN); /* without the sign of NaN */
}

GG_TEXT_FUNCTION(gg_text_of_number) {
    void **out = t->source->at[1];
    const int64_t type = t->numbers[0];
    if (type == GG_TEXT_BOOL) return gg_new_texts(t, out, gg_bool_text, gg_decimal_room);
    if (t->numbers[1] < 0) return gg_new_texts(t, out, gg_formatted_text, gg_formatted_room);
    if (type < GG_TEXT_F32) return gg_new_texts(t, out, gg_decimal_text, gg_decimal_room);
    const double most = 4e15 / gg_scales[t->numbers[1]]; /* the product has 53 bits */
    for (int64_t i = 0; i < t->count; i++) {
        const double x = gg_written_number(t, i);
        if (x - x == 0 && !(x < most && x > -most)) return GG_FAILED;
    }
    return gg_new_texts(t, out, gg_real_text, gg_real_room);
}

/* -- numbers under tags, as one Summary message (gpugraph/formats/summary_bytes.py). Numbers: the
   type of the values. Arrays: tags, values, the message. */

static int64_t gg_put_length(char *to, int64_t value) {
    int64_t size = 0;
    for (; value > 0x7F; value >>= 7) to[size++] = (char)(value | 0x80);
    to[size++] = (char)value;
    return size;
}

/* The bytes of one number under its tag, after its length; they are written where `to` is given. */
static int64_t gg_tagged_number(const gg_bytes *tag, float value, char *to) {
    char length[10];
    const int64_t width = tag->size ? gg_put_length(length, tag->size) : 0;
    const int64_t size = (tag->size ? 1 + width + tag->size : 0) + 1 + (int64_t)sizeof value;
    if (!to) return size;
    if (tag->size) {
        *to++ = 0x0A;
        memcpy(to, length, (size_t)width), memcpy(to + width, tag->content, (size_t)tag->size);
        to += width + tag->size;
    }
    *to = 0x15;
    memcpy(to + 1, &value, sizeof value);
    return size;
}

void GG_NAME(gg_text_scalars_plan)(gg_source *source) {
    gg_text_plan(source);
    source->count[2] = 1;
}

GG_WITH_GIL(gg_text_scalars) {
    gg_texts values = *t;
    values.source = &(gg_source){.at = t->source->at + 1};
    if (!gg_are_bytes(t->source, 0, t->count)) return GG_FAILED;
    int64_t room = 0;
    for (int64_t i = 0; i < t->count; i++) {
        char length[10];
        const int64_t size = gg_tagged_number(t->items[i], 0, 0);
        room += 1 + gg_put_length(length, size) + size;
    }
    gg_bytes *made = t->make(0, room), **out = (gg_bytes **)t->source->at[2]; /* not visible yet */
    if (!made) return GG_FAILED;
    char *to = made->content;
    for (int64_t i = 0; i < t->count; i++) {
        const double value = t->numbers[0] < GG_TEXT_F32 ? (double)gg_written_integer(&values, i)
                                                         : gg_written_number(&values, i);
        *to++ = 0x0A;
        to += gg_put_length(to, gg_tagged_number(t->items[i], 0, 0));
        to += gg_tagged_number(t->items[i], (float)value, to);
    }
    if (*out) t->release(*out);
    *out = made;
    return GG_DONE;
}
