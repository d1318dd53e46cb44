/* Connectionist temporal classification: the loss and its gradient (gg_ctc_loss), as in
   gpugraph/ops/nn/losses/ctc_loss.py, which defines places, moves and sums. Sums of probabilities are
   logarithms in double precision; a part is one sequence, and its steps end with the sequence.

   Parameters: steps, batch, classes, the number of labels, and whether equal labels that are adjacent
   are one, whether a label may last, whether sequences with too many labels are ignored. Arrays:
   logits, the labels' indices and values, lengths, loss, gradient. Labels or lengths that are not
   sound end it with GG_FAILED, before anything is written. */

#ifndef GG_CTC
#define GG_CTC
#include "host_math.h"

extern void *malloc(size_t);
extern void free(void *);

#define GG_CTC_EXP(x) _Generic((x), float: gg_exp_f32, default: gg_exp_f64)(x)

typedef struct {
    gg_source *source;
    int64_t steps, batch, classes, count, collapses, lasts, ignores;
    int64_t *first, *counts; /* of each sequence: its first label, and their number */
    int32_t *labels;
    _Atomic int failed;
} gg_ctc;

static int gg_ctc_add_labels(gg_ctc *c, int64_t row, int64_t from, int64_t end) {
    const int32_t *values = c->source->at[2];
    const int64_t length = ((const int32_t *)c->source->at[3])[row];
    int32_t *to = c->labels + from;
    int64_t count = 0, ended = 0;
    if (from == end || (end - from > length && !c->ignores)) return 0;
    for (int64_t i = from; i < end; i++) {
        if (values[i] < 0) return 0;
        if (c->collapses && i > from && values[i] == values[i - 1]) continue;
        if (values[i] >= c->classes - 1) ended = 1;
        else if (ended) return 0;
        else to[count++] = values[i];
    }
    c->first[row] = from, c->counts[row] = count;
    return 1;
}

/* Lists the labels of all sequences; returns whether they are sound. */
static int gg_ctc_list(gg_ctc *c) {
    const int64_t *indices = c->source->at[1];
    const int32_t *lengths = c->source->at[3];
    int64_t at = 0;
    for (int64_t row = 0; row < c->batch; row++) {
        const int64_t from = at;
        if (lengths[row] > c->steps) return 0;
        for (; at < c->count && indices[2 * at] == row; at++) {
            const int64_t before = at > from ? indices[2 * at - 1] : -1;
            if (indices[2 * at + 1] <= before) return 0;
        }
        if (!gg_ctc_add_labels(c, row, from, at)) return 0;
    }
    return at == c->count;
}

/* What the recursions of one sequence read and write: lines of places. Each has two more elements
   on both sides, which are minus infinity, or are not read. */
typedef struct {
    int64_t steps, places, width;
    double *ahead, *stay, *skip, *seen, *behind, *after, *norms;
} gg_ctc_lines;

/* log(exp(x) + exp(y) + exp(z)) */
GG_ALWAYS double gg_log_of_three(double x, double y, double z) {
    double most = x > y ? x : y;
    most = most > z ? most : z;
    const double from = most == -(double)INFINITY ? 0.0 : most;
    return from + gg_log_f64(gg_exp_f64(x - from) + gg_exp_f64(y - from) + gg_exp_f64(z - from));
}

static void gg_ctc_ahead(const gg_ctc_lines *l, int64_t step) {
    double *restrict to = l->ahead + step * l->width;
    const double *before = to - l->width;
    GG_LOOP for (int64_t u = 0; u < l->places; u++)
        to[u] = l->seen[u] +
                gg_log_of_three(before[u] + l->stay[u], before[u - 1], before[u - 2] + l->skip[u]);
}

/* From the sums behind the next step, and `seen` of that step. */
static void gg_ctc_behind(const gg_ctc_lines *l) {
    double *restrict after = l->after, *restrict behind = l->behind;
    GG_LOOP for (int64_t u = 0; u < l->places; u++) after[u] = behind[u] + l->seen[u];
    GG_LOOP for (int64_t u = 0; u < l->places; u++)
        behind[u] =
            gg_log_of_three(after[u] + l->stay[u], after[u + 1], after[u + 2] + l->skip[u + 2]);
}

static int gg_ctc_allocate(gg_ctc_lines *l, int64_t steps, int64_t labels) {
    l->steps = steps, l->places = 2 * labels + 1, l->width = l->places + 4;
    const int64_t lines = steps + 5, numbers = lines * l->width + steps;
    double *all = malloc((size_t)numbers * sizeof *all);
    if (!all) return 0;
    for (int64_t i = 0; i < 5 * l->width; i++) all[i] = -(double)INFINITY;
    for (int64_t i = 5; i < lines; i++)
        all[i * l->width] = all[i * l->width + 1] = -(double)INFINITY;
    l->stay = all + 2, l->skip = l->stay + l->width, l->seen = l->skip + l->width;
    l->behind = l->seen + l->width, l->after = l->behind + l->width;
    l->ahead = l->after + l->width, l->norms = all + lines * l->width;
    return 1;
}

static void gg_ctc_set_moves(const gg_ctc_lines *l, const int32_t *labels, int64_t lasts) {
    for (int64_t u = 0; u < l->places; u++) {
        const int64_t label = u % 2, same = label && u > 1 && labels[u / 2] == labels[u / 2 - 1];
        l->stay[u] = label && !lasts ? -(double)INFINITY : 0.0;
        l->skip[u] = label && u > 1 && !(same && lasts) ? 0.0 : -(double)INFINITY;
    }
}
#endif

/* The softmax of a line, and the logarithm of its denominator. */
static double GG_NAME(gg_ctc_softmax)(const gg_real *from, int64_t classes, gg_real *restrict to) {
    gg_real most = from[0];
    double sum = 0;
    for (int64_t i = 1; i < classes; i++) most = from[i] > most ? from[i] : most;
    GG_LOOP for (int64_t i = 0; i < classes; i++) to[i] = GG_CTC_EXP(from[i] - most);
    for (int64_t i = 0; i < classes; i++) sum += (double)to[i];
    const gg_real share = (gg_real)(1 / sum);
    GG_LOOP for (int64_t i = 0; i < classes; i++) to[i] *= share;
    return (double)most + gg_log_f64(sum);
}

static void GG_NAME(gg_ctc_see)(const gg_ctc_lines *l, const gg_real *logits, const int32_t *labels,
                                int64_t blank, double norm) {
    const double other = (double)logits[blank] - norm;
    for (int64_t u = 0; u < l->places; u++)
        l->seen[u] = u % 2 ? (double)logits[labels[u / 2]] - norm : other;
}

/* Subtracts each class's share in all paths of a step. */
static void GG_NAME(gg_ctc_share)(const gg_ctc_lines *l, int64_t step, double total,
                                  const int32_t *labels, int64_t blank, gg_real *to) {
    const double *ahead = l->ahead + step * l->width;
    double *restrict shares = l->after, other = 0;
    GG_LOOP for (int64_t u = 0; u < l->places; u++)
        shares[u] = gg_exp_f64(ahead[u] + l->behind[u] - total);
    for (int64_t u = 0; u < l->places; u += 2) other += shares[u];
    for (int64_t u = 1; u < l->places; u += 2) to[labels[u / 2]] -= (gg_real)shares[u];
    to[blank] -= (gg_real)other;
}

static void GG_NAME(gg_ctc_sequence)(gg_ctc *c, int64_t row, const gg_ctc_lines *l) {
    const int32_t *labels = c->labels + c->first[row];
    const int64_t line = c->batch * c->classes, blank = c->classes - 1, end = l->steps - 1;
    const gg_real *logits = (const gg_real *)c->source->at[0] + row * c->classes;
    gg_real *to = (gg_real *)c->source->at[5] + row * c->classes;
    gg_ctc_set_moves(l, labels, c->lasts);
    for (int64_t t = 0; t <= end; t++) {
        l->norms[t] = GG_NAME(gg_ctc_softmax)(logits + t * line, c->classes, to + t * line);
        GG_NAME(gg_ctc_see)(l, logits + t * line, labels, blank, l->norms[t]);
        if (t) gg_ctc_ahead(l, t);
        else
            for (int64_t u = 0; u < l->places; u++)
                l->ahead[u] = u < 2 ? l->seen[u] : -(double)INFINITY;
    }
    const double *last = l->ahead + end * l->width + l->places - 1;
    const double total = gg_log_of_three(last[0], last[-1], -(double)INFINITY);
    const double from = total > -(double)INFINITY ? total : 0.0;
    ((gg_real *)c->source->at[4])[row] = (gg_real)-total;
    for (int64_t u = 0; u < l->places; u++)
        l->behind[u] = u >= l->places - 2 ? 0.0 : -(double)INFINITY;
    for (int64_t t = end; t >= 0; t--) {
        if (t < end) gg_ctc_behind(l);
        GG_NAME(gg_ctc_share)(l, t, from, labels, blank, to + t * line);
        GG_NAME(gg_ctc_see)(l, logits + t * line, labels, blank, l->norms[t]);
    }
}

static void GG_NAME(gg_ctc_part)(void *block, int64_t row) {
    gg_ctc *c = block;
    const int64_t length = ((const int32_t *)c->source->at[3])[row], labels = c->counts[row];
    const int64_t used = (length > 0) & (labels <= length) ? gg_min(length, c->steps) : 0;
    gg_real *to = (gg_real *)c->source->at[5] + row * c->classes;
    for (int64_t t = used; t < c->steps; t++)
        memset(to + t * c->batch * c->classes, 0, (size_t)c->classes * sizeof *to);
    ((gg_real *)c->source->at[4])[row] = 0;
    if (!used) return;
    gg_ctc_lines lines;
    if (!gg_ctc_allocate(&lines, used, labels)) {
        atomic_store(&c->failed, 1);
        return;
    }
    GG_NAME(gg_ctc_sequence)(c, row, &lines);
    free(lines.stay - 2);
}

void GG_NAME(gg_ctc_loss_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = source->count[5] = n[0] * n[1] * n[2];
    source->count[1] = 2 * n[3], source->count[2] = n[3];
    source->count[3] = source->count[4] = n[1];
    source->scratch_bytes = n[1] * 16 + n[3] * 4;
    gg_set_work(source, (double)n[0] * (n[1] * (n[2] * 2.0 + 20) + n[3] * 40.0));
}

int GG_NAME(gg_ctc_loss)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters;
    int64_t *numbers = (int64_t *)source->scratch;
    gg_ctc c = {source, n[0], n[1], n[2], n[3], n[4], n[5], n[6],
                numbers, numbers + n[1], (int32_t *)(numbers + 2 * n[1]), 0};
    if (!gg_ctc_list(&c)) return GG_FAILED;
    source->parallel(GG_NAME(gg_ctc_part), &c, n[1], source->threads);
    return atomic_load(&c.failed) ? GG_FAILED : GG_DONE;
}

/* -- the most likely label at each time. Parameters: steps, batch, classes, whether a class at
   successive times is one label, the room for labels. Arrays: logits, lengths; indices, labels, the
   shape, minus the sums of the largest logits, the number of labels. NaN ends it with GG_FAILED. */

void GG_NAME(gg_ctc_greedy_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = n[0] * n[1] * n[2], source->count[1] = source->count[5] = n[1];
    source->count[2] = 2 * n[4], source->count[3] = n[4], source->count[4] = 2;
    source->count[6] = 1;
    source->scratch_bytes = 0;
    gg_set_work(source, (double)n[4] * (n[2] + 5));
    source->threads = 1;
}

/* The class of the largest number of a line, which is added to the sum. */
static int64_t GG_NAME(gg_ctc_best)(const gg_real *x, int64_t classes, gg_real *sum) {
    gg_real best = x[0];
    int64_t place = 0;
    for (int64_t c = 1; c < classes; c++)
        if (x[c] > best) best = x[c], place = c;
    *sum += best;
    return place;
}

int GG_NAME(gg_ctc_greedy)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, batch = n[1], classes = n[2], line = batch * classes;
    const int32_t *lengths = source->at[1];
    int64_t *indices = source->at[2], *labels = source->at[3], *shape = source->at[4];
    gg_real *scores = source->at[5];
    int64_t count = 0, widest = 0;
    for (int64_t row = 0; row < batch; row++)
        if (lengths[row] > n[0]) return GG_FAILED;
    for (int64_t row = 0; row < batch; row++) {
        const gg_real *x = (const gg_real *)source->at[0] + row * classes;
        int64_t column = 0, before = -1;
        gg_real sum = 0;
        for (int64_t t = 0; t < lengths[row]; t++, x += line) {
            const int64_t label = GG_NAME(gg_ctc_best)(x, classes, &sum);
            for (int64_t c = 0; c < classes; c++)
                if (x[c] != x[c]) return GG_FAILED;
            if (label != classes - 1 && !(n[3] && label == before)) {
                indices[2 * count] = row, indices[2 * count + 1] = column++;
                labels[count++] = label;
            }
            before = label;
        }
        scores[row] = 0 - sum;
        widest = gg_max(widest, column);
    }
    shape[0] = batch, shape[1] = widest;
    *(int64_t *)source->at[6] = count;
    return GG_DONE;
}
