/* Example messages, read where CPython keeps their bytes: the locations of features, their values.

   The only array holds the numbers of a request, GG_EXAMPLE_NUMBERS, most of them addresses, so that
   a call is bound once. Messages in another form than protobuf writes, and lists of another
   kind than the request expects, end a function with GG_FAILED; Python then parses them, or raises
   the error. The caller keeps the strings alive: functions may run without the GIL. */

#define GG_EXAMPLE_NUMBERS 14
#define GG_MOST_ENTRIES 64

enum { GG_LISTS_OF_BYTES = 1, GG_LISTS_OF_FLOATS, GG_LISTS_OF_INTEGERS };

typedef struct {
    int64_t references;
    const void *type;
    int64_t size;
    int64_t hash;
    uint8_t content[];
} gg_example;

typedef struct {
    int64_t mode;              /* GG_LOCATE, GG_LOCATE_STEPS, GG_READ */
    int64_t count;             /* of examples; of lists if they are read */
    const gg_example **items;
    const void *type;          /* of bytes */
    int64_t features;
    const int64_t *keys;       /* for each feature an address and a size */
    const int64_t *kinds;      /* for each feature */
    int64_t *counts;           /* [features, count]: the number of values */
    int64_t *starts, *ends;    /* [features, count]: addresses of the content of the list, or 0 */
    const int64_t *offsets;    /* for each list, the place of its first value in `out` */
    void *out;
    int64_t kind;              /* of the lists that are read */
    int64_t field;             /* of the message that has the features: 1; or 2, lists of features */
} gg_request;

enum { GG_LOCATE, GG_READ, GG_LOCATE_STEPS };

/* Reads a number at `*at`; returns whether it ends before `end`. */
GG_ALWAYS int gg_varint(const uint8_t **at, const uint8_t *end, uint64_t *value) {
    const uint8_t *p = *at;
    uint64_t result = 0;
    for (int shift = 0; p < end && shift < 70; shift += 7) {
        const uint64_t byte = *p++;
        result |= (byte & 127) << (shift & 63);
        if (byte < 128) {
            if (shift == 63 && byte > 1) result = (result & ~((uint64_t)1 << 63)) | byte << 63;
            *at = p, *value = result;
            return 1;
        }
    }
    return 0;
}

/* Reads a tag and a size; sets `*last` to the end of the field's content, which is not behind `end`. */
GG_ALWAYS int gg_field(const uint8_t **at, const uint8_t *end, uint8_t tag, const uint8_t **last) {
    uint64_t size;
    if (*at >= end || *(*at)++ != tag || !gg_varint(at, end, &size)) return 0;
    if (size > (uint64_t)(end - *at)) return 0;
    *last = *at + size;
    return 1;
}

/* The number of values in the content of a list; -1 for another form. */
static int64_t gg_list_count(const uint8_t *at, const uint8_t *end, int64_t kind) {
    const uint8_t *last, *first = at;
    int64_t count = 0;
    if (kind == GG_LISTS_OF_BYTES) {
        for (; at < end; at = last, count++)
            if (!gg_field(&at, end, 0x0A, &last)) return -1;
        return count;
    }
    if (at == end) return 0;
    if (*at == 0x0A) { /* one packed run */
        if (!gg_field(&at, end, 0x0A, &last) || last != end) return -1;
        if (kind == GG_LISTS_OF_FLOATS) return (end - at) % 4 ? -1 : (end - at) / 4;
        if (at < end && end[-1] >= 128) return -1;
        for (; at < end; at++) count += *at < 128;
        return count;
    }
    at = first;
    if (kind == GG_LISTS_OF_FLOATS) {
        if ((end - at) % 5) return -1;
        for (; at < end; at += 5, count++)
            if (*at != 0x0D) return -1;
        return count;
    }
    for (uint64_t value; at < end; count++)
        if (*at++ != 0x08 || !gg_varint(&at, end, &value)) return -1;
    return count;
}

static int gg_read_list(const uint8_t *at, const uint8_t *end, int64_t kind, int64_t count,
                        void *out, int64_t place) {
    const uint8_t *last;
    if (kind == GG_LISTS_OF_BYTES) { /* the addresses and sizes of strings */
        int64_t *to = (int64_t *)out + 2 * place;
        for (; at < end; at = last, to += 2) {
            if (!gg_field(&at, end, 0x0A, &last)) return 0;
            to[0] = (int64_t)(intptr_t)at, to[1] = last - at;
        }
        return 1;
    }
    if (!count) return 1;
    const int packed = *at == 0x0A;
    if (packed && !gg_field(&at, end, 0x0A, &last)) return 0;
    if (kind == GG_LISTS_OF_FLOATS) {
        uint8_t *to = (uint8_t *)out + 4 * place;
        if (packed) memcpy(to, at, (size_t)(4 * count));
        else
            for (int64_t i = 0; i < count; i++) memcpy(to + 4 * i, at + 5 * i + 1, 4);
        return 1;
    }
    int64_t *to = (int64_t *)out + place;
    for (int64_t i = 0; i < count; i++) {
        uint64_t value;
        if (!packed) at++;
        if (!gg_varint(&at, end, &value)) return 0;
        to[i] = (int64_t)value;
    }
    return at == end;
}

typedef struct {
    const uint8_t *key, *value, *end;
    int64_t key_size;
} gg_entry_of_map;

/* The entry of a map at `*at`, which moves behind it. */
GG_ALWAYS int gg_next_entry(const uint8_t **at, const uint8_t *end, gg_entry_of_map *entry) {
    const uint8_t *stop, *key_end, *p;
    if (!gg_field(at, end, 0x0A, &stop)) return 0;
    p = *at;
    if (!gg_field(&p, stop, 0x0A, &key_end)) return 0;
    entry->key = p, entry->key_size = key_end - p;
    p = key_end;
    if (!gg_field(&p, stop, 0x12, &entry->end) || entry->end != stop) return 0;
    entry->value = p;
    *at = stop;
    return 1;
}

/* The number of the feature with a key; `guess` is the one at the same place in the last example. */
static int64_t gg_feature_of(const gg_request *r, const uint8_t *key, int64_t size, int64_t guess) {
    for (int64_t i = guess < 0 ? 0 : -1; i < r->features; i++) {
        const int64_t f = i < 0 ? guess : i;
        if (r->keys[2 * f + 1] == size && !memcmp((const void *)(intptr_t)r->keys[2 * f], key, (size_t)size))
            return f;
    }
    return -1;
}

/* Notes the list of a feature; an empty feature is a missing one. */
static int gg_note_list(const gg_request *r, int64_t f, int64_t i, const uint8_t *at,
                        const uint8_t *end) {
    const uint8_t *last;
    int64_t *start = r->starts + i, *stop = r->ends + i, *count = r->counts + i;
    *start = *stop = *count = 0;
    if (at == end) return 1;
    if (!gg_field(&at, end, (uint8_t)(r->kinds[f] << 3 | 2), &last) || last != end) return 0;
    *count = gg_list_count(at, end, r->kinds[f]);
    *start = (int64_t)(intptr_t)at, *stop = (int64_t)(intptr_t)end;
    return *count >= 0;
}

/* The content of the field with the features: `*at` to `*end`. Other fields are passed over. */
static int gg_part_of(const gg_request *r, const gg_example *item, const uint8_t **at,
                      const uint8_t **end) {
    const uint8_t *p = item->content, *stop = p + item->size, *last;
    int found = 0;
    *at = *end = p;
    while (p < stop) {
        const uint8_t tag = *p;
        if ((tag != 0x0A && tag != 0x12) || !gg_field(&p, stop, tag, &last)) return 0;
        if (tag >> 3 == r->field) {
            if (found++) return 0;
            *at = p, *end = last;
        }
        p = last;
    }
    return 1;
}

static int gg_locate(const gg_request *r) {
    int64_t guesses[GG_MOST_ENTRIES];
    for (int e = 0; e < GG_MOST_ENTRIES; e++) guesses[e] = -1;
    const size_t bytes = (size_t)(8 * r->features * r->count);
    memset(r->starts, 0, bytes), memset(r->ends, 0, bytes), memset(r->counts, 0, bytes);
    for (int64_t i = 0; i < r->count; i++) {
        const uint8_t *at, *end;
        gg_entry_of_map entry;
        if (r->items[i]->type != r->type || !gg_part_of(r, r->items[i], &at, &end)) return 0;
        for (int64_t e = 0; at < end; e++) {
            if (!gg_next_entry(&at, end, &entry)) return 0;
            int64_t *guess = guesses + (e < GG_MOST_ENTRIES ? e : GG_MOST_ENTRIES - 1);
            const int64_t f = *guess = gg_feature_of(r, entry.key, entry.key_size, *guess);
            if (f < 0) continue;
            const int64_t place = f * r->count + i;
            if (r->field == 1) {
                if (!gg_note_list(r, f, place, entry.value, entry.end)) return 0;
            } else {
                r->starts[place] = (int64_t)(intptr_t)entry.value;
                r->ends[place] = (int64_t)(intptr_t)entry.end;
            }
        }
    }
    return 1;
}

/* Steps of feature lists, whose contents are `out`, an address and an end for each example: without
   `offsets` their numbers, otherwise the list of the feature of each. */
static int gg_locate_steps(const gg_request *r) {
    const int64_t *spans = r->out;
    for (int64_t i = 0; i < r->count; i++) {
        const uint8_t *at = (const uint8_t *)(intptr_t)spans[2 * i], *last;
        const uint8_t *end = (const uint8_t *)(intptr_t)spans[2 * i + 1];
        int64_t steps = 0;
        for (; at < end; at = last, steps++) {
            if (!gg_field(&at, end, 0x0A, &last)) return 0;
            if (r->offsets && !gg_note_list(r, 0, r->offsets[i] + steps, at, last)) return 0;
        }
        if (!r->offsets) r->counts[i] = steps;
    }
    return 1;
}

static int gg_read_lists(const gg_request *r) {
    for (int64_t i = 0; i < r->count; i++) {
        const uint8_t *at = (const uint8_t *)(intptr_t)r->starts[i];
        const uint8_t *end = (const uint8_t *)(intptr_t)r->ends[i];
        if (at && !gg_read_list(at, end, r->kind, r->counts[i], r->out, r->offsets[i])) return 0;
    }
    return 1;
}

static int gg_examples_run(void *block) {
    const gg_source *source = block;
    const gg_request *r = source->at[0];
    const int done = r->mode == GG_LOCATE ? gg_locate(r)
                     : r->mode == GG_READ ? gg_read_lists(r)
                                          : gg_locate_steps(r);
    return done ? GG_DONE : GG_FAILED;
}

static void gg_examples_size(gg_source *source) {
    source->count[0] = GG_EXAMPLE_NUMBERS;
    source->scratch_bytes = 0;
    source->threads = 1;
}

/* For few bytes: the GIL stays held. */
void GG_NAME(gg_examples_held_plan)(gg_source *source) {
    gg_examples_size(source);
    source->nanoseconds = 1000;
}

int GG_NAME(gg_examples_held)(void *block) { return gg_examples_run(block); }

void GG_NAME(gg_examples_plan)(gg_source *source) {
    gg_examples_size(source);
    source->nanoseconds = 1000000;
}

int GG_NAME(gg_examples)(void *block) { return gg_examples_run(block); }
