/* A reduction over axes with others between them or behind them: over one axis in order, as NumPy's
   `reduce`, over several in blocks; lines of few elements are taken many at a time.

   Macros: GG_MAP of an element `x`, GG_COMBINE of the result so far `a` with an element `b`, and
   GG_FINISH of the result `a` of `n` elements; T is the type. Parameters: the number of groups of
   neighbouring axes that are all reduced or all kept, in turn; whether the first one is reduced;
   the number of elements along each. */

#include "host_math.h"

typedef gg_real T;

#define GG_REDUCED_COLUMNS 512 /* maximum columns of a part */
#define GG_REDUCED_ROWS 128    /* rows of a block, if there are several reduced groups */
#define GG_REDUCED_GROUPS 8    /* at most */
#define GG_REDUCED_FEW 32      /* columns of lines that are taken many at a time */
#define GG_REDUCED_WIDE 256    /* elements that are taken at a time */

typedef struct {
    int64_t count, size[GG_REDUCED_GROUPS], step[GG_REDUCED_GROUPS]; /* from the last to the first */
    int64_t all;                                                     /* the product of all sizes */
} gg_axes;

typedef struct {
    gg_source *source;
    gg_axes kept, reduced; /* without the columns */
    int64_t columns;       /* contiguous elements: the last kept group, and a reduced one after it */
    int64_t folded;        /* how many of these become one */
    int64_t across, number, block;
    int is_apart; /* whether a part has some of the columns of one line of results */
} gg_reduced_axis;

static void gg_add_axis(gg_axes *axes, int64_t size, int64_t step) {
    axes->size[axes->count] = size;
    axes->step[axes->count++] = step;
    axes->all *= size;
}

static gg_reduced_axis gg_reduced_of(gg_source *source) {
    const int64_t *n = source->parameters, count = n[0], *sizes = n + 2;
    gg_reduced_axis r = {source, {.all = 1}, {.all = 1}, 1, 1};
    int64_t last = count - 1, step = 1, number = 1;
    if ((n[1] + last) % 2) r.folded = sizes[last--];
    if (last >= 0) r.columns = sizes[last--];
    step = r.columns *= r.folded;
    for (int64_t i = last; i >= 0; step *= sizes[i--])
        gg_add_axis((n[1] + i) % 2 ? &r.reduced : &r.kept, sizes[i], step);
    for (int64_t i = 0; i < count; i++)
        if ((n[1] + i) % 2) number *= sizes[i];
    r.number = number;
    r.block = count > 3 || r.folded > 1 ? GG_REDUCED_ROWS : r.reduced.all;
    r.is_apart = r.folded == 1;
    r.across = r.is_apart ? gg_ceil(r.columns, GG_REDUCED_COLUMNS) : 1;
    return r;
}

void GG_NAME(gg_reduce_axis_plan)(gg_source *source) {
    const gg_reduced_axis r = gg_reduced_of(source);
    source->count[0] = r.kept.all * r.reduced.all * r.columns;
    source->count[1] = r.kept.all * r.columns / gg_max(r.folded, 1);
    source->scratch_bytes = 0;
    gg_set_work(source, (double)source->count[0] * (r.columns > 8 ? 0.25 : 1.0));
}

static inline T gg_mapped(T x) { return GG_MAP; }

static inline T gg_combined(T a, T b) { return GG_COMBINE; }

static inline T gg_finished(T a, int64_t n) { return n ? GG_FINISH : a; }

/* The offset of the elements with a number. */
static inline int64_t gg_place_in(const gg_axes *axes, int64_t number) {
    int64_t place = 0;
    for (int64_t i = 0; i < axes->count; i++) {
        place += number % axes->size[i] * axes->step[i];
        number /= axes->size[i];
    }
    return place;
}

/* Results over the last of the reduced groups, whose lines of a few columns follow each other. */
static void gg_reduce_narrow(const T *x, int64_t lines, int64_t columns, T *out) {
    T wide[GG_REDUCED_WIDE];
    int64_t most = gg_min(GG_REDUCED_WIDE / columns, lines), left = lines - most;
    const int64_t width = most * columns;
    GG_LOOP for (int64_t c = 0; c < width; c++) wide[c] = gg_mapped(x[c]);
    for (x += width; left > 0; left -= most, x += width) {
        const int64_t count = gg_min(left, most) * columns;
        GG_LOOP for (int64_t c = 0; c < count; c++) wide[c] = gg_combined(wide[c], gg_mapped(x[c]));
    }
    while (most > 1) {
        const int64_t half = most / 2 * columns, rest = (most - most / 2) * columns;
        GG_LOOP for (int64_t c = 0; c < half; c++) wide[c] = gg_combined(wide[c], wide[rest + c]);
        most -= most / 2;
    }
    for (int64_t c = 0; c < columns; c++) out[c] = wide[c];
}

/* The same for all reduced groups. */
static void gg_reduce_lines(const gg_reduced_axis *r, const T *from, T *total) {
    const int64_t lines = r->reduced.size[0], all = r->reduced.all / lines;
    T part[GG_REDUCED_FEW];
    for (int64_t i = 0; i < all; i++) {
        T *to = i ? part : total;
        gg_reduce_narrow(from + gg_place_in(&r->reduced, i * lines), lines, r->columns, to);
        for (int64_t c = 0; i && c < r->columns; c++) total[c] = gg_combined(total[c], part[c]);
    }
}

/* The results of at most GG_REDUCED_COLUMNS columns over the reduced groups. */
static void gg_reduce_columns(const gg_reduced_axis *r, const T *from, int64_t columns, T *total) {
    T part[GG_REDUCED_COLUMNS];
    if (columns == r->columns && columns <= GG_REDUCED_FEW && r->reduced.count) {
        gg_reduce_lines(r, from, total);
        return;
    }
    for (int64_t first = 0; first < r->reduced.all; first += r->block) {
        const int64_t last = gg_min(r->reduced.all, first + r->block);
        T *to = first ? part : total;
        for (int64_t i = first; i < last; i++) {
            const T *x = from + gg_place_in(&r->reduced, i);
            if (i == first)
                GG_LOOP for (int64_t c = 0; c < columns; c++) to[c] = gg_mapped(x[c]);
            else
                GG_LOOP for (int64_t c = 0; c < columns; c++)
                    to[c] = gg_combined(to[c], gg_mapped(x[c]));
        }
        if (first)
            GG_LOOP for (int64_t c = 0; c < columns; c++) total[c] = gg_combined(total[c], part[c]);
    }
}

/* One number of several, which are changed: by halves. */
static T gg_folded(T *x, int64_t count) {
    while (count > 1) {
        const int64_t half = count / 2, rest = count - half;
        GG_LOOP for (int64_t c = 0; c < half; c++) x[c] = gg_combined(x[c], x[rest + c]);
        count = rest;
    }
    return x[0];
}

/* Results of which each has contiguous elements. */
static void gg_reduce_folded(const gg_reduced_axis *r, const T *x, T *out) {
    T total[GG_REDUCED_COLUMNS];
    const int64_t results = r->columns / r->folded, few = GG_REDUCED_COLUMNS / r->folded;
    if (few) {
        for (int64_t first = 0; first < results; first += few) {
            const int64_t count = gg_min(few, results - first);
            gg_reduce_columns(r, x + first * r->folded, count * r->folded, total);
            for (int64_t i = 0; i < count; i++)
                out[first + i] = gg_finished(gg_folded(total + i * r->folded, r->folded), r->number);
        }
        return;
    }
    for (int64_t i = 0; i < results; i++, x += r->folded) {
        T result = 0;
        for (int64_t first = 0; first < r->folded; first += GG_REDUCED_COLUMNS) {
            const int64_t columns = gg_min(GG_REDUCED_COLUMNS, r->folded - first);
            gg_reduce_columns(r, x + first, columns, total);
            const T part = gg_folded(total, columns);
            result = first ? gg_combined(result, part) : part;
        }
        out[i] = gg_finished(result, r->number);
    }
}

static void gg_reduce_axis_part(void *block, int64_t which) {
    const gg_reduced_axis *r = block;
    const int64_t line = which / r->across, first = which % r->across * GG_REDUCED_COLUMNS;
    const T *x = (const T *)r->source->at[0] + gg_place_in(&r->kept, line);
    T *out = (T *)r->source->at[1] + line * (r->columns / r->folded), total[GG_REDUCED_COLUMNS];
    if (!r->is_apart) {
        gg_reduce_folded(r, x, out);
        return;
    }
    const int64_t columns = gg_min(GG_REDUCED_COLUMNS, r->columns - first);
    gg_reduce_columns(r, x + first, columns, total);
    for (int64_t c = 0; c < columns; c++) out[first + c] = gg_finished(total[c], r->number);
}

int GG_NAME(gg_reduce_axis)(void *block) {
    gg_reduced_axis r = gg_reduced_of(block);
    r.source->parallel(gg_reduce_axis_part, &r, r.kept.all * r.across, r.source->threads);
    return GG_DONE;
}
