/* Regular expressions over strings, in linear time: the automaton of gpugraph/ops/strings/
   linear_regex.py, with its states and transitions in tables that are filled on demand.

   Numbers: a hash of the program and its words; the program; what the function takes. The program:
   GG_REGEX_HEAD numbers (see gg_program_of), the class of each byte (256 bytes), the kinds of the
   classes, sets of classes (256 bits each), instructions (operation, two arguments), targets.

   A state is the list of its threads and the kind of the byte before. A transition holds the next
   state and, for each of its threads, the thread that it comes from and the slots that it has saved
   on the way. So the positions of a match's groups are found backwards from its end. */

#include "host_texts.h"

extern void *malloc(size_t);
extern void *realloc(void *, size_t);
extern void free(void *);

enum { GG_TAKE, GG_SPLIT, GG_SAVE, GG_ASSERT, GG_MATCH };
enum { GG_EDGE = 1, GG_NEWLINE = 2, GG_LETTER = 4 };

#define GG_REGEX_HEAD 5
#define GG_REGEX_SLOTS 20
#define GG_REGEX_BUCKETS 256
#define GG_REGEX_FIRST 0x4000  /* 32-bit words of a table at first, and at most */
#define GG_REGEX_MOST 0x400000
#define GG_REGEX_KNOWN 32 /* automata that are kept */

typedef struct {
    int64_t instructions, classes, sets, edges, edge; /* edge: the kind of both ends of a text */
    const uint8_t *of;                                 /* the class of a byte */
    const int64_t *kinds, *code, *targets;
    const uint64_t *members;
} gg_program;

typedef struct {
    int64_t hash, words, *numbers; /* the program's */
    gg_program program;
    uint32_t *table; /* states and origins; 0: not known yet */
    int64_t size, used;
    uint32_t starts[8], buckets[GG_REGEX_BUCKETS];
    int32_t *seen, *stack, *threads; /* scratch memory of gg_follow */
    uint32_t *saves, *origins;
    int32_t stamp;
    uint32_t *trace; /* the states of a search */
    int64_t trace_size;
    char *text; /* a new string */
    int64_t text_size;
} gg_automaton;

static gg_program gg_program_of(const int64_t *n) {
    gg_program p = {n[0], n[1], n[2], n[3], n[4], (const uint8_t *)(n + GG_REGEX_HEAD), 0, 0, 0, 0};
    p.kinds = n + GG_REGEX_HEAD + 32;
    p.members = (const uint64_t *)(p.kinds + p.classes);
    p.code = (const int64_t *)(p.members + 4 * p.sets);
    p.targets = p.code + 3 * p.instructions;
    return p;
}

static int gg_has_class(const gg_program *p, int64_t set, int64_t class) {
    return p->members[4 * set + class / 64] >> class % 64 & 1;
}

static void gg_forget(gg_automaton *a) {
    memset(a->table, 0, (size_t)a->size * 4);
    memset(a->starts, 0, sizeof a->starts);
    memset(a->buckets, 0, sizeof a->buckets);
    a->used = 1;
}

/* Sets the size of the table, which is then empty. */
static int gg_resize(gg_automaton *a, int64_t size) {
    free(a->table);
    a->table = malloc((size_t)size * 4);
    a->size = a->table ? size : 0;
    if (a->table) gg_forget(a);
    return a->table != 0;
}

static void gg_drop(gg_automaton *a) {
    free(a->numbers), free(a->table), free(a->seen), free(a->trace), free(a->text), free(a);
}

static gg_automaton *gg_new_automaton(const int64_t *numbers) {
    gg_automaton *a = malloc(sizeof *a);
    if (!a) return 0;
    memset(a, 0, sizeof *a);
    a->hash = numbers[0], a->words = numbers[1];
    a->numbers = malloc((size_t)a->words * 8);
    if (!a->numbers) return gg_drop(a), (gg_automaton *)0;
    memcpy(a->numbers, numbers + 2, (size_t)a->words * 8);
    const gg_program p = a->program = gg_program_of(a->numbers);
    const int64_t each = p.instructions, words = 4 * each + 2 * p.edges;
    a->seen = malloc((size_t)words * 4);
    if (!a->seen || !gg_resize(a, GG_REGEX_FIRST)) return gg_drop(a), (gg_automaton *)0;
    memset(a->seen, 0, (size_t)words * 4);
    a->threads = a->seen + each;
    a->saves = (uint32_t *)(a->threads + each);
    a->origins = a->saves + each;
    a->stack = (int32_t *)(a->origins + each); /* pairs: an instruction, saved slots */
    return a;
}

/* The automaton of a program, with the states of earlier calls. The GIL is held. */
static gg_automaton *gg_automaton_of(const int64_t *numbers) {
    static gg_automaton *known[GG_REGEX_KNOWN];
    static int next;
    for (int i = 0; i < GG_REGEX_KNOWN; i++) {
        gg_automaton *a = known[i];
        if (a && a->hash == numbers[0] && a->words == numbers[1] &&
            !memcmp(a->numbers, numbers + 2, (size_t)a->words * 8))
            return a;
    }
    gg_automaton *made = gg_new_automaton(numbers);
    if (!made) return 0;
    if (known[next]) gg_drop(known[next]);
    known[next] = made;
    next = (next + 1) % GG_REGEX_KNOWN;
    return made;
}

/* -- states: transitions, origins of each transition, the next state of the bucket, kind, number of
   threads, threads */

static uint32_t gg_state(gg_automaton *a, const int32_t *threads, int64_t count, int64_t kind) {
    const int64_t stride = a->program.classes + 1, size = 2 * stride + 3 + count;
    uint32_t hash = (uint32_t)kind;
    for (int64_t i = 0; i < count; i++) hash = (hash ^ (uint32_t)threads[i]) * 16777619u;
    uint32_t *bucket = a->buckets + (hash ^ hash >> 16) % GG_REGEX_BUCKETS;
    for (uint32_t s = *bucket; s; s = a->table[s + 2 * stride]) {
        const uint32_t *rest = a->table + s + 2 * stride;
        if (rest[1] == kind && rest[2] == count && !memcmp(rest + 3, threads, (size_t)count * 4))
            return s;
    }
    if (a->used + size > a->size) return 0;
    const uint32_t s = (uint32_t)a->used;
    uint32_t *rest = a->table + s + 2 * stride;
    a->used += size;
    rest[0] = *bucket, rest[1] = (uint32_t)kind, rest[2] = (uint32_t)count;
    memcpy(rest + 3, threads, (size_t)count * 4);
    *bucket = s;
    return s;
}

static uint32_t gg_start(gg_automaton *a, int64_t kind) {
    const int32_t first = 0;
    if (!a->starts[kind]) a->starts[kind] = gg_state(a, &first, 1, kind);
    return a->starts[kind];
}

static int gg_holds(int64_t assertion, int64_t before, int64_t after) {
    const int64_t word = (before ^ after) & GG_LETTER;
    switch (assertion) {
        case 0: return (before & GG_EDGE) != 0;
        case 1: return (after & GG_EDGE) != 0;
        case 2: return (before & (GG_EDGE | GG_NEWLINE)) != 0;
        case 3: return (after & (GG_EDGE | GG_NEWLINE)) != 0;
        case 4: return word != 0;
        default: return !word;
    }
}

typedef struct {
    int64_t count;
    uint32_t match, match_saves; /* match: 1 + the thread of the match, or 0 */
} gg_followed;

/* Appends the threads that take a byte of the class, in order of preference, up to the first one
   that has matched. */
static gg_followed gg_threads(gg_automaton *a, const uint32_t *rest, int64_t class, int64_t after) {
    const gg_program *p = &a->program;
    gg_followed f = {0, 0, 0};
    if (++a->stamp == INT32_MAX)
        memset(a->seen, 0, (size_t)p->instructions * 4), a->stamp = 1;
    for (uint32_t number = 0; number < rest[2]; number++) {
        int64_t top = 1;
        a->stack[0] = (int32_t)rest[3 + number], a->stack[1] = 0;
        while (top) {
            const int32_t at = a->stack[2 * --top];
            uint32_t saved = (uint32_t)a->stack[2 * top + 1];
            if (a->seen[at] == a->stamp) continue;
            a->seen[at] = a->stamp;
            const int64_t *code = p->code + 3 * at, operation = code[0];
            if (operation == GG_MATCH) return f.match = number + 1, f.match_saves = saved, f;
            if (operation == GG_TAKE) {
                if (class == p->classes || !gg_has_class(p, code[1], class)) continue;
                a->threads[f.count] = at + 1;
                a->origins[f.count] = number, a->saves[f.count++] = saved;
                continue;
            }
            if (operation == GG_ASSERT && !gg_holds(code[1], rest[1], after)) continue;
            if (operation == GG_SAVE) saved |= (uint32_t)code[1];
            const int64_t *targets = p->targets + code[1];
            const int64_t count = operation == GG_SPLIT ? code[2] : 1;
            for (int64_t k = count; k--; top++) {
                a->stack[2 * top] = operation == GG_SPLIT ? (int32_t)targets[k] : at + 1;
                a->stack[2 * top + 1] = (int32_t)saved;
            }
        }
    }
    return f;
}

/* Fills in a transition: four times the next state, 2 if it has no threads, 1 if there is a match
   before the byte. Returns 0 if the table is full. */
static uint32_t gg_follow(gg_automaton *a, uint32_t state, int64_t class) {
    const gg_program *p = &a->program;
    const int64_t stride = p->classes + 1, kind = class == p->classes ? p->edge : p->kinds[class];
    const gg_followed f = gg_threads(a, a->table + state + 2 * stride, class, kind);
    const uint32_t next = gg_state(a, a->threads, f.count, kind), origin = (uint32_t)a->used;
    if (!next || a->used + 2 + 2 * f.count > a->size) return 0;
    uint32_t *to = a->table + origin;
    *to++ = f.match, *to++ = f.match_saves;
    for (int64_t i = 0; i < f.count; i++) *to++ = a->origins[i], *to++ = a->saves[i];
    a->used += 2 + 2 * f.count;
    a->table[state + stride + class] = origin;
    return a->table[state + class] = next << 2 | (uint32_t)!f.count << 1 | (f.match != 0);
}

/* -- matching; each function returns 1, 0, or -1 if the table is full */

static int gg_matches_whole(gg_automaton *a, const uint8_t *text, int64_t size) {
    const uint8_t *of = a->program.of;
    const uint32_t *table = a->table;
    uint32_t state = gg_start(a, a->program.edge), entry;
    if (!state) return -1;
    for (int64_t i = 0; i < size; i++) {
        const int64_t class = of[text[i]];
        entry = table[state + class];
        if (!entry && !(entry = gg_follow(a, state, class))) return -1;
        if (entry & 2) return 0;
        state = entry >> 2;
    }
    entry = table[state + a->program.classes];
    if (!entry && !(entry = gg_follow(a, state, a->program.classes))) return -1;
    return entry & 1;
}

static int gg_grow(void **buffer, int64_t *size, int64_t wanted, int64_t each) {
    if (wanted <= *size) return 1;
    const int64_t room = wanted + wanted / 2 + 256;
    void *made = realloc(*buffer, (size_t)(room * each));
    if (made) *buffer = made, *size = room;
    return made != 0;
}

/* The slots of the match whose end is before text[end]. */
static void gg_way_back(const gg_automaton *a, const uint8_t *text, int64_t size, int64_t start,
                        int64_t end, int64_t *slots) {
    const gg_program *p = &a->program;
    uint32_t thread = 0, done = 0;
    memset(slots, -1, GG_REGEX_SLOTS * sizeof *slots);
    for (int64_t i = end; i >= start && !(done & 1); i--) {
        const int64_t class = i < size ? p->of[text[i]] : p->classes;
        const uint32_t *from = a->table + a->table[a->trace[i - start] + p->classes + 1 + class];
        if (i < end) from += 2 + 2 * thread;
        thread = i < end ? from[0] : from[0] - 1;
        for (uint32_t saved = from[1] & ~done; saved; saved &= saved - 1)
            slots[__builtin_ctz(saved)] = i;
        done |= from[1];
    }
}

static int gg_find(gg_automaton *a, const uint8_t *text, int64_t size, int64_t start,
                   int64_t *slots) {
    const gg_program *p = &a->program;
    const uint8_t *of = p->of;
    const uint32_t *table = a->table;
    uint32_t state = gg_start(a, start ? p->kinds[of[text[start - 1]]] : p->edge), entry;
    if (!state || !gg_grow((void **)&a->trace, &a->trace_size, size - start + 1, 4)) return -1;
    uint32_t *trace = a->trace;
    int64_t end = -1, i = start;
    for (;; i++) {
        const int64_t class = i < size ? of[text[i]] : p->classes;
        entry = table[state + class];
        if (!entry && !(entry = gg_follow(a, state, class))) return -1;
        *trace++ = state;
        state = entry >> 2;
        if (entry & 1) end = i;
        if ((entry & 2) || i == size) break;
    }
    if (end < 0) return 0;
    gg_way_back(a, text, size, start, end, slots);
    return 1;
}

/* Whether to repeat a search with an empty table, which has become larger unless it is the largest.
   `times` counts the repetitions. */
static int gg_has_more_room(gg_automaton *a, int *times) {
    if (a->size < GG_REGEX_MOST) return gg_resize(a, a->size * 4);
    gg_forget(a);
    return !(*times)++;
}

/* -- full matches. Arrays: strings, out (bool). */

GG_TEXT_FUNCTION(gg_text_full_match) {
    if (!gg_are_bytes(t->source, 0, t->count)) return GG_FAILED;
    gg_automaton *a = gg_automaton_of(t->numbers);
    uint8_t *out = t->source->at[1];
    for (int64_t i = 0; a && i < t->count; i++) {
        int matches, times = 0;
        do matches = gg_matches_whole(a, (const uint8_t *)t->items[i]->content, t->items[i]->size);
        while (matches < 0 && gg_has_more_room(a, &times));
        if (matches < 0) return GG_FAILED;
        out[i] = (uint8_t)matches;
    }
    return a ? GG_DONE : GG_FAILED;
}

/* -- replacement. After the program: whether everywhere, the number of parts, the parts: a group,
   or -1 - bytes of a text, and the text. Arrays: strings, out. */

/* The bytes of the character at `at`, 1 if it is not valid UTF-8. */
static int64_t gg_character(const uint8_t *at, int64_t room) {
    const uint8_t lead = at[0], low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const int64_t size = lead < 0xC2 || lead > 0xF4 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (size == 1 || room < size || at[1] < low || at[1] > (lead == 0xF4 ? 0x8F : 0xBF)) return 1;
    for (int64_t k = 2; k < size; k++)
        if (at[k] >> 6 != 2) return 1;
    return size;
}

static int gg_append(gg_automaton *a, int64_t *used, const void *from, int64_t size) {
    if (!gg_grow((void **)&a->text, &a->text_size, *used + size, 1)) return 0;
    if (size) memcpy(a->text + *used, from, (size_t)size); /* there may be no text yet */
    *used += size;
    return 1;
}

static int gg_append_rewrite(gg_automaton *a, int64_t *used, const int64_t *rewrite,
                             const uint8_t *text, const int64_t *slots) {
    const int64_t *part = rewrite + 2;
    for (int64_t k = 0; k < rewrite[1]; k++) {
        const int64_t group = *part++;
        if (group >= 0) {
            const int64_t first = slots[2 * group], last = slots[2 * group + 1];
            if (last > first && !gg_append(a, used, text + first, last - first)) return 0;
        } else {
            if (!gg_append(a, used, part, -1 - group)) return 0;
            part += (-1 - group + 7) / 8;
        }
    }
    return 1;
}

/* Writes a string with its matches replaced to a->text. Returns its size, -1 if nothing changes, -2
   if there is no memory. */
static int64_t gg_replace(gg_automaton *a, const int64_t *rewrite, const gg_bytes *item) {
    const uint8_t *text = (const uint8_t *)item->content;
    int64_t slots[GG_REGEX_SLOTS], used = 0, copied = 0, start = 0, last = -1;
    int times = 0, changes = 0;
    while (start <= item->size) {
        const int found = gg_find(a, text, item->size, start, slots);
        if (found < 0) {
            if (!gg_has_more_room(a, &times)) return -2;
            continue;
        }
        times = 0;
        if (!found) break;
        if (slots[0] == last && slots[1] == last) { /* empty, directly after another */
            start += start < item->size ? gg_character(text + start, item->size - start) : 1;
            continue;
        }
        changes = 1;
        if (!gg_append(a, &used, text + copied, slots[0] - copied)) return -2;
        if (!gg_append_rewrite(a, &used, rewrite, text, slots)) return -2;
        copied = start = last = slots[1];
        if (!rewrite[0]) break;
    }
    if (!changes) return -1;
    return gg_append(a, &used, text + copied, item->size - copied) ? used : -2;
}

GG_TEXT_FUNCTION(gg_text_replace) {
    if (!gg_are_bytes(t->source, 0, t->count)) return GG_FAILED;
    gg_automaton *a = gg_automaton_of(t->numbers);
    const int64_t *rewrite = t->numbers + 2 + t->numbers[1];
    void **out = t->source->at[1];
    int made = a != 0;
    for (int64_t i = 0; i < t->count && made; i++) {
        const int64_t size = gg_replace(a, rewrite, t->items[i]);
        if (size == -1) gg_share(t, out + i, t->items[i]);
        else made = size >= 0 && gg_put_bytes(t, out + i, a->text, size);
    }
    return made ? GG_DONE : GG_FAILED;
}
