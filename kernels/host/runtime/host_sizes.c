/* The sizes of a run: all words in the blocks of a program's calls, by one call before its first
   instruction, and one after each kernel that reports a size (gpugraph/devices/native/
   size_stages.py).

   Sizes are registers. A stage computes those that have become known, checks the conditions under
   which the program holds for them, stacks the buffers whose first use follows, and writes every
   word of the calls up to the next report. Then the calls divide their work again (host_cuts.c).
   Whatever needs memory or an array of Python is left to Python. */

enum { GG_TIMES = 0, GG_PLUS = 1, GG_QUOTIENT = 2, GG_REMAINDER = 3 };
enum { GG_EQUAL = 0, GG_LESS = 1, GG_AT_MOST = 2 };
enum {
    GG_UNFIT = 1,  /* the sizes need another program */
    GG_ARENA = 2,  /* the arena must grow */
    GG_ASIDE = 4,  /* a buffer beside it must grow */
    GG_TABLES = 8, /* a table must grow */
    GG_SCRATCH = 16, /* the scratch memory of a call must grow */
    GG_UNMET = 32    /* a call must be bound for these sizes alone */
};
enum { GG_OF_PARTS = 0, GG_OF_WHOLE = 1, GG_OF_COLUMNS = 2, GG_OF_SOURCE = 3 };

#define GG_LARGEST ((int64_t)1 << 62)
#define GG_STACKED 64 /* buffers begin and end on cache lines */

/* A register, its value in the last run, and where a kernel has stored it (or NULL). */
typedef struct { int64_t size, last; const int64_t *counted; } gg_size_report;
typedef struct { int64_t kind, to, left, right, factor; } gg_size_step;
typedef struct { int64_t kind, size, outcome, owner; } gg_size_condition;
typedef struct { int64_t owner, closed; } gg_size_owner;
typedef struct { int64_t number, size, first, last; } gg_size_buffer; /* below it: a slice */
typedef struct { int64_t size, room; } gg_size_aside;
typedef struct { int64_t *place, base, offset, first, last, room, *entries; } gg_size_table;
typedef struct { int64_t size, stride; } gg_size_axis;
typedef struct { int64_t *place, size, base; } gg_size_word;
typedef struct { void *place; int64_t kind, size; } gg_size_element;
typedef struct { gg_cut cut; void *block; int64_t *threads, owner; } gg_size_cut;
typedef struct { const void *block; int64_t kind, item, room, owner, needed; } gg_size_scratch;
typedef struct { const void *place; int64_t is_real, limit; } gg_size_work;

/* The part of a `gg_source` (host_source.h) that its plan sets. */
typedef struct {
    gg_entry entry;
    gg_parallel parallel;
    int64_t threads;
    void *parameters, *at, *scratch;
    int64_t scratch_bytes;
} gg_source_head;

typedef struct {
    int64_t *registers; /* 0, 1, the fed sizes, all others */
    int64_t *bases;     /* 0, then the addresses of buffers: in the arena, then others */
    int64_t *ends;      /* of the buffers in the arena: their ends in it */
    const int64_t *below;
    int64_t *unmet; /* by call: whether one of its conditions does not hold */
    int64_t arena, room;
    int64_t threads;
    int64_t version; /* the number of stages that have run */
    int64_t status, needed;
} gg_sizes;

typedef struct gg_stage {
    gg_entry entry;
    gg_sizes *all;
    const struct gg_stage *before;
    int64_t version; /* of its last run: it is current if all stages before it ran earlier */
    int64_t high;          /* the end of the highest buffer so far */
    int64_t releases;      /* whether a call's work is worth releasing the GIL */
    int64_t left;          /* what its last run left to Python: GG_UNMET or 0 */
    int64_t replaced;      /* whether Python has replaced calls, and must be asked in each run */
    int64_t num_reported, num_steps, num_conditions, num_owners, num_buffers, num_asides;
    int64_t num_tables, num_words, num_elements, num_cuts, num_scratch, num_works;
    gg_size_report *reported;
    const gg_size_step *steps;
    const gg_size_condition *conditions;
    const gg_size_owner *owners;
    const gg_size_buffer *buffers;
    const gg_size_aside *asides;
    const gg_size_table *tables;
    const gg_size_word *words;
    const gg_size_element *elements;
    const gg_size_cut *cuts;
    gg_size_scratch *scratch;
    const gg_size_work *works;
    const gg_size_axis *axes;
} gg_stage;

GG_BRIEF

/* Takes the sizes that kernels have reported. Returns whether all sizes on which the stage depends
   are those of its last run. */
static int gg_is_current(gg_stage *p) {
    int64_t *r = p->all->registers;
    int current = p->before && p->version;
    for (const gg_stage *b = p->before; b; b = b->before)
        current &= b->version && b->version < p->version;
    for (gg_size_report *s = p->reported, *end = s + p->num_reported; s < end; s++) {
        if (s->counted) r[s->size] = *s->counted;
        current &= s->last == r[s->size];
        s->last = r[s->size];
    }
    return current;
}

/* Computes the sizes. Returns 0 if one exceeds 63 bits, or a divisor is 0. */
static int gg_compute_sizes(const gg_stage *p) {
    int64_t *r = p->all->registers;
    for (const gg_size_step *s = p->steps, *end = s + p->num_steps; s < end; s++) {
        int64_t left = r[s->left], right = r[s->right], product;
        switch (s->kind) {
        case GG_TIMES:
            if (__builtin_mul_overflow(left, right, &r[s->to])) return 0;
            break;
        case GG_PLUS:
            if (__builtin_mul_overflow(s->factor, right, &product)) return 0;
            if (__builtin_add_overflow(left, product, &r[s->to])) return 0;
            break;
        default:
            if (!right || right == -1) return 0;
            product = left / right - (left % right && (left < 0) != (right < 0));
            r[s->to] = s->kind == GG_QUOTIENT ? product : left - product * right;
        }
    }
    return 1;
}

static int gg_check_conditions(gg_stage *p) {
    const int64_t *r = p->all->registers;
    int64_t *unmet = p->all->unmet;
    for (int64_t each = 0; each < p->num_owners; each++)
        unmet[p->owners[each].owner] = p->owners[each].closed;
    for (int64_t each = 0; each < p->num_conditions; each++) {
        const gg_size_condition *c = &p->conditions[each];
        int64_t size = r[c->size];
        int holds = c->kind == GG_EQUAL ? size == 0 : c->kind == GG_LESS ? size < 0 : size <= 0;
        if (holds == c->outcome) continue;
        if (c->owner < 0) return 0;
        unmet[c->owner] = 1;
    }
    for (int64_t each = 0; each < p->num_owners; each++)
        if (unmet[p->owners[each].owner]) p->all->status = GG_UNMET;
    return 1;
}

/* Places each buffer on top of those below it. Returns 0 if a size is negative or too large. */
static int gg_stack_buffers(gg_stage *p) {
    gg_sizes *all = p->all;
    p->high = p->before ? p->before->high : 0;
    for (const gg_size_buffer *b = p->buffers, *end = b + p->num_buffers; b < end; b++) {
        int64_t bottom = 0, size = all->registers[b->size];
        for (int64_t each = b->first; each < b->last; each++)
            bottom = gg_most(bottom, all->ends[all->below[each]]);
        if (size < 0 || size > GG_LARGEST) return 0;
        int64_t top = bottom + gg_parts_of(size, GG_STACKED) * GG_STACKED;
        if (top > GG_LARGEST) return 0;
        all->bases[1 + b->number] = all->arena + bottom;
        all->ends[b->number] = top;
        p->high = gg_most(p->high, top);
    }
    return 1;
}

static int gg_is_short_aside(const gg_stage *p) {
    for (int64_t each = 0; each < p->num_asides; each++)
        if (p->all->registers[p->asides[each].size] > p->asides[each].room) return 1;
    return 0;
}

/* Fills the tables: the addresses of all elements along some axes. Returns 0 if one is too small. */
static int gg_fill_tables(const gg_stage *p) {
    const int64_t *r = p->all->registers;
    for (const gg_size_table *t = p->tables, *end = t + p->num_tables; t < end; t++) {
        int64_t count = 1;
        for (int64_t axis = t->first; axis < t->last; axis++) {
            int64_t size = r[p->axes[axis].size];
            if (size && count > t->room / size) return 0;
            count *= size;
        }
        if (count > t->room) return 0;
        int64_t filled = 1;
        t->entries[0] = p->all->bases[t->base] + r[t->offset];
        for (int64_t axis = t->last - 1; axis >= t->first && count; axis--) {
            int64_t size = r[p->axes[axis].size], stride = r[p->axes[axis].stride];
            for (int64_t i = 1; i < size; i++)
                for (int64_t each = 0; each < filled; each++)
                    t->entries[i * filled + each] = t->entries[each] + i * stride;
            filled *= size;
        }
        *t->place = (int64_t)(intptr_t)t->entries;
    }
    return 1;
}

static void gg_write_words(const gg_stage *p) {
    const int64_t *r = p->all->registers, *bases = p->all->bases;
    for (const gg_size_word *w = p->words, *end = w + p->num_words; w < end; w++)
        *w->place = r[w->size] + bases[w->base];
    for (int64_t each = 0; each < p->num_elements; each++) {
        const gg_size_element *e = &p->elements[each];
        int64_t value = r[e->size];
        switch (e->kind) {
        case 0: *(int32_t *)e->place = (int32_t)value; break;
        case 1: *(int64_t *)e->place = value; break;
        case 2: *(float *)e->place = (float)value; break;
        default: *(double *)e->place = (double)value;
        }
    }
}

static int64_t gg_scratch_needed(const gg_size_scratch *s) {
    const gg_block *b = s->block;
    int64_t length = b->parts;
    if (s->kind == GG_OF_SOURCE) return ((const gg_source_head *)s->block)->scratch_bytes;
    if (s->kind == GG_OF_WHOLE) length = 1 + b->parts;
    if (s->kind == GG_OF_COLUMNS) length = gg_parts_of(b->rows, b->rows_each) * b->inner;
    return gg_most(length, 1) * s->item;
}

static void gg_divide_work(gg_stage *p) {
    gg_sizes *all = p->all;
    for (const gg_size_cut *c = p->cuts, *end = c + p->num_cuts; c < end; c++) {
        if (all->unmet[c->owner]) continue;
        if (c->threads) *c->threads = all->threads;
        c->cut(c->block);
    }
    for (gg_size_scratch *s = p->scratch, *end = s + p->num_scratch; s < end; s++) {
        if (all->unmet[s->owner]) continue;
        s->needed = gg_scratch_needed(s);
        if (s->needed > s->room) all->status |= GG_SCRATCH;
    }
    p->releases = 0;
    for (const gg_size_work *w = p->works, *end = w + p->num_works; w < end; w++)
        p->releases |= w->is_real ? *(const double *)w->place >= (double)w->limit
                                  : *(const int64_t *)w->place >= w->limit;
}

/* A call's entry: one stage. */
int gg_run_stage(void *at) {
    gg_stage *p = at;
    gg_sizes *all = p->all;
    if (gg_is_current(p)) {
        all->status = p->left;
        return p->left || p->replaced ? GG_FAILED : GG_DONE;
    }
    p->version = all->status = 0;
    if (!gg_compute_sizes(p) || !gg_check_conditions(p) || !gg_stack_buffers(p)) {
        all->status = GG_UNFIT;
    } else if (p->high > all->room) {
        all->needed = p->high;
        all->status = GG_ARENA;
    } else if (gg_is_short_aside(p)) {
        all->status = GG_ASIDE;
    } else if (!gg_fill_tables(p)) {
        all->status = GG_TABLES;
    }
    if (all->status & ~GG_UNMET) return GG_FAILED;
    gg_write_words(p);
    gg_divide_work(p);
    if (all->status & GG_SCRATCH) return GG_FAILED; /* and the stage runs again */
    p->left = all->status;
    p->version = ++all->version;
    return all->status || p->replaced ? GG_FAILED : GG_DONE;
}

GG_BRIEF_END
