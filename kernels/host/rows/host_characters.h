/* Characters of strings in UTF-8: their number, parts of strings, conversions. A character begins
   at each byte that is not a continuation byte. Functions like those of host_texts.h. */

#include "host_texts.h"

static int gg_begins(char c) { return ((uint8_t)c & 0xC0) != 0x80; }

static int64_t gg_number_of_characters(const gg_bytes *item) {
    int32_t count = 0;
    for (int64_t k = 0; k < item->size; k++) count += gg_begins(item->content[k]);
    return count;
}

/* Lengths. Numbers: whether characters are counted, not bytes. */
GG_TEXT_FUNCTION(gg_text_length) {
    const void *type = (const void *)(intptr_t)t->source->parameters[1];
    int32_t *out = t->source->at[1];
    int all = 1;
    for (int64_t i = 0; i < t->count; i++) {
        const gg_bytes *item = t->items[i];
        __builtin_prefetch(t->items[gg_min(i + GG_TEXTS_AHEAD, t->count - 1)]);
        all &= item->type == type;
        out[i] = (int32_t)item->size;
    }
    if (!all) return GG_FAILED;
    for (int64_t i = 0; i < t->count && t->numbers[0]; i++)
        out[i] = (int32_t)gg_number_of_characters(t->items[i]);
    return GG_DONE;
}

/* Parts of strings. Numbers: the bytes of a position, whether there is one position for all,
   whether positions and lengths count characters. Arrays: strings, positions, lengths, parts. */
void GG_NAME(gg_text_part_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    gg_text_plan(source);
    source->count[1] = source->count[2] = n[GG_TEXT_NUMBERS + 1] ? 1 : n[0];
    source->count[3] = n[0];
}

/* The offset of the first character after `count` characters from `at` on. */
static int64_t gg_skipped(const gg_bytes *item, int64_t at, int64_t count) {
    while (at < item->size && (count > 0 || !gg_begins(item->content[at])))
        count -= gg_begins(item->content[at++]);
    return at;
}

/* Sets the first byte of a part and its end; returns whether the position is in the string. */
static int gg_text_bounds(const gg_bytes *item, int64_t first, int64_t length, int64_t characters,
                   int64_t *start, int64_t *end) {
    const int64_t size = characters ? gg_number_of_characters(item) : item->size;
    if (first > size || first < (characters && length < 0 ? 0 : -size)) return 0;
    if (first < 0) first += size;
    if (characters) {
        *start = gg_skipped(item, 0, first);
        *end = length > 0 ? gg_skipped(item, *start, length) : *start;
    } else {
        *start = first;
        *end = length < 0 || length > size - first ? size : first + length;
    }
    return 1;
}

GG_WITH_GIL(gg_text_part) {
    if (!gg_are_bytes(t->source, 0, t->count)) return GG_FAILED;
    const int64_t wide = t->numbers[0] == 8, one = t->numbers[1], characters = t->numbers[2];
    void *const *at = t->source->at;
    int made = 1;
    for (int64_t i = 0; i < t->count && made; i++) {
        const int64_t place = one ? 0 : i, first = gg_index(at[1], wide, place);
        const int64_t length = gg_index(at[2], wide, place);
        int64_t start, end;
        made = gg_text_bounds(t->items[i], first, length, characters, &start, &end) &&
               gg_put_bytes(t, (void **)at[3] + i, t->items[i]->content + start, end - start);
    }
    return made ? GG_DONE : GG_FAILED;
}

/* -- conversions of UTF-8 */

/* The bytes of the character at `at`, whose code point is stored; 0 if it is not valid. */
static int64_t gg_code_point(const uint8_t *at, int64_t room, uint32_t *point) {
    const uint8_t lead = at[0];
    if (lead < 0x80) return *point = lead, 1;
    const int64_t size = lead < 0xC2 || lead > 0xF4 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (!size || room < size) return 0;
    uint32_t value = lead & (0x7Fu >> size);
    for (int64_t k = 1; k < size; k++) {
        if (at[k] >> 6 != 2) return 0;
        value = value << 6 | (at[k] & 0x3F);
    }
    *point = value;
    const int is_long = value < (size == 2 ? 0x80u : size == 3 ? 0x800u : 0x10000u);
    return is_long || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000) ? 0 : size;
}

/* Whether a string is valid; without control characters too, if they are replaced. */
static int gg_is_valid(const gg_bytes *item, int replaces_controls) {
    const uint8_t *at = (const uint8_t *)item->content;
    uint8_t all = 0;
    int controls = 0;
    for (int64_t k = 0; k < item->size; k++) all |= at[k], controls |= at[k] < 0x20;
    if (controls && replaces_controls) return 0;
    uint32_t point;
    for (int64_t k = 0, size; all >= 0x80 && k < item->size; k += size)
        if (!(size = gg_code_point(at + k, item->size - k, &point))) return 0;
    return 1;
}

/* The bytes at `at`, where no valid character is, that are replaced together: those that could
   begin one character. */
static int64_t gg_invalid_bytes(const uint8_t *at, int64_t room) {
    const uint8_t lead = at[0];
    if (lead < 0xC2 || lead > 0xF4 || room < 2) return 1;
    const uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (at[1] < low || at[1] > high) return 1;
    return lead < 0xF0 || room < 3 || at[2] >> 6 != 2 ? 2 : 3;
}

static char *gg_put_unit(char *to, uint32_t unit, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) *to++ = (char)(unit >> shift);
    return to;
}

/* A character in UTF-8. */
static char *gg_put_character(char *to, uint32_t point) {
    const int more = (point > 0x7F) + (point > 0x7FF) + (point > 0xFFFF);
    if (!more) return *to = (char)point, to + 1;
    *to++ = (char)((0xF0 << (3 - more)) | point >> 6 * more);
    for (int k = more - 1; k >= 0; k--) *to++ = (char)(0x80 | (point >> 6 * k & 0x3F));
    return to;
}

/* Numbers: whether control characters are replaced; the bytes of a unit of the output; what is
   done with invalid bytes; the code point of the replacement. */
enum { GG_REFUSE, GG_REPLACE, GG_DROP };

static int64_t gg_units_room(const gg_texts *t, int64_t i) { return t->items[i]->size * 4; }

static int64_t gg_units_text(const gg_texts *t, int64_t i, char *to) {
    const gg_bytes *item = t->items[i];
    const uint8_t *at = (const uint8_t *)item->content;
    const int bytes = (int)t->numbers[1];
    char *end = to;
    for (int64_t k = 0, size; k < item->size; k += size) {
        uint32_t point = 0;
        size = gg_code_point(at + k, item->size - k, &point);
        if (!size || (t->numbers[0] && point < 0x20)) {
            if (!size) size = gg_invalid_bytes(at + k, item->size - k);
            if (t->numbers[2] == GG_DROP) continue;
            point = (uint32_t)t->numbers[3];
        }
        if (bytes == 2 && point > 0xFFFF) {
            end = gg_put_unit(end, 0xD800 | (point - 0x10000) >> 10, 2);
            point = 0xDC00 | ((point - 0x10000) & 0x3FF);
        }
        end = bytes == 1 ? gg_put_character(end, point) : gg_put_unit(end, point, bytes);
    }
    return end - to;
}

GG_TEXT_FUNCTION(gg_text_transcode) {
    void **out = t->source->at[1];
    if (!gg_are_bytes(t->source, 0, t->count)) return GG_FAILED;
    for (int64_t i = 0; t->numbers[2] == GG_REFUSE && i < t->count; i++)
        if (!gg_is_valid(t->items[i], (int)t->numbers[0])) return GG_FAILED;
    if (t->numbers[1] > 1) return gg_new_texts(t, out, gg_units_text, gg_units_room);
    int made = 1;
    for (int64_t i = 0; i < t->count && made; i++) {
        gg_texts one = *t;
        one.count = 1, one.items += i;
        if (gg_is_valid(t->items[i], (int)t->numbers[0])) gg_share(t, out + i, t->items[i]);
        else made = gg_new_texts(&one, out + i, gg_units_text, gg_units_room) == GG_DONE;
    }
    return made ? GG_DONE : GG_FAILED;
}
