/* Non-maximum suppression, as in gpugraph/ops/image/box_selection.py.

   Parameters: the number of boxes, whether overlaps are given instead of corners, whether results
   are padded, the number of outputs, the room for results, the number of limits, the bits of the
   threshold if it is no input. Arrays: boxes [n, 4] or overlaps [n, n], scores, the maximum number
   (int32), the limits: threshold, minimum score, sigma; then the indices (int32), their scores if there are
   three outputs, and their number (int32); the number of rows (int64).

   Of all classes: the number of images, of boxes, of classes with boxes, of classes, the room for
   results, whether corners are clipped to [0, 1]. Arrays: boxes [images, n, classes or 1, 4], scores
   [images, n, classes], the maximum numbers for a class and for all (int32), the threshold and the
   minimum score; then corners, scores, classes (float), numbers of results (int32); an int64. */

#include "host_rows.h"

typedef struct {
    double score;
    int32_t box, since; /* since: how many chosen boxes it was compared with */
} gg_waiting;

typedef struct {
    float *low_y, *low_x, *high_y, *high_x, *area;
} gg_corners;

static inline int gg_comes_before(gg_waiting a, gg_waiting b) {
    return a.score != b.score ? a.score > b.score : a.box < b.box;
}

static void gg_sift_down(gg_waiting *heap, int64_t count, int64_t at) {
    const gg_waiting item = heap[at];
    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && gg_comes_before(heap[child + 1], heap[child])) child++;
        if (!gg_comes_before(heap[child], item)) break;
        heap[at] = heap[child];
    }
    heap[at] = item;
}

static void gg_sift_up(gg_waiting *heap, int64_t at) {
    const gg_waiting item = heap[at];
    for (int64_t parent; at && gg_comes_before(item, heap[parent = (at - 1) / 2]); at = parent)
        heap[at] = heap[parent];
    heap[at] = item;
}

/* The first one if either is NaN, as std::min and std::max. */
static inline float gg_lower(float a, float b) { return b < a ? b : a; }
static inline float gg_upper(float a, float b) { return a < b ? b : a; }
static inline float gg_not_below_0(float x) { return x < 0 ? 0 : x; } /* NaN stays */

static void gg_set_corners(gg_corners c, int64_t to, const float *box) {
    c.low_y[to] = gg_lower(box[0], box[2]), c.low_x[to] = gg_lower(box[1], box[3]);
    c.high_y[to] = gg_upper(box[0], box[2]), c.high_x[to] = gg_upper(box[1], box[3]);
    c.area[to] = (c.high_y[to] - c.low_y[to]) * (c.high_x[to] - c.low_x[to]);
}

#define GG_BOXES_AT_ONCE 32

/* The overlaps of the box at `one` with those from `first` on; all are in `c`. */
static void gg_overlaps(gg_corners c, int64_t one, int64_t first, int64_t count, float *out) {
    const float ly = c.low_y[one], lx = c.low_x[one], hy = c.high_y[one], hx = c.high_x[one];
    const float area = c.area[one];
    GG_LOOP for (int64_t i = 0; i < count; i++) {
        const int64_t j = first + i;
        const float y = gg_not_below_0(gg_lower(hy, c.high_y[j]) - gg_upper(ly, c.low_y[j]));
        const float x = gg_not_below_0(gg_lower(hx, c.high_x[j]) - gg_upper(lx, c.low_x[j]));
        const float shared = y * x, whole = area + c.area[j] - shared;
        const float ratio = shared / (whole == 0 ? 1 : whole);
        out[i] = area <= 0 || c.area[j] <= 0 ? 0 : ratio;
    }
}

typedef struct {
    const float *overlaps; /* or null */
    int64_t boxes;
    gg_corners corners; /* of the chosen boxes, then of the next one */
    const int32_t *chosen;
    float threshold;
    double sigma;
    int ignores_nan; /* whether an overlap of NaN is none */
} gg_suppressing;

/* The factor of a box's score, after the comparison with the chosen boxes from `since` on; negative
   if it is suppressed. */
static double gg_weight_of(const gg_suppressing *s, int64_t box, int64_t since, int64_t count) {
    float weight = 1, shared[GG_BOXES_AT_ONCE];
    for (int64_t first = since; first < count; first += GG_BOXES_AT_ONCE) {
        const int64_t many = gg_min(GG_BOXES_AT_ONCE, count - first);
        if (s->overlaps)
            for (int64_t i = 0; i < many; i++)
                shared[i] = s->overlaps[box * s->boxes + s->chosen[first + i]];
        else
            gg_overlaps(s->corners, count, first, many, shared);
        int over = 0, within = 1;
        for (int64_t i = 0; i < many; i++) {
            over |= shared[i] > s->threshold;
            within &= (shared[i] <= s->threshold) | s->ignores_nan;
        }
        if (s->sigma != 0)
            for (int64_t i = 0; i < many; i++)
                weight *= expf((float)(-0.5 / s->sigma) * shared[i] * shared[i]);
        else if (over)
            return -1;
        else if (!within)
            weight = 0;
    }
    return weight;
}

/* Scores and boxes, some numbers apart; of which scores above `least` are chosen. */
typedef struct {
    const float *scores, *boxes;
    int64_t score_step, box_step;
    float least;
} gg_scored;

/* Chooses at most `most` boxes, and returns how many; `values` may be null. */
static int64_t gg_select(gg_suppressing *s, const gg_scored *from, gg_waiting *heap, int64_t most,
                         int32_t *indices, float *values) {
    int64_t waiting = 0, chosen = 0;
    for (int64_t i = 0; i < s->boxes; i++) {
        const float score = from->scores[i * from->score_step];
        if (score > from->least) heap[waiting++] = (gg_waiting){score, (int32_t)i, 0};
    }
    for (int64_t i = waiting / 2; i-- > 0;) gg_sift_down(heap, waiting, i);
    while (waiting && chosen < most) {
        const gg_waiting best = heap[0];
        heap[0] = heap[--waiting];
        if (waiting) gg_sift_down(heap, waiting, 0);
        if (!s->overlaps)
            gg_set_corners(s->corners, chosen, from->boxes + from->box_step * best.box);
        const double weight = gg_weight_of(s, best.box, best.since, chosen);
        if (weight < 0) continue;
        const double score = best.score * weight;
        if (score == best.score) {
            if (values) values[chosen] = (float)score;
            indices[chosen++] = best.box;
        } else if (score > from->least) {
            heap[waiting] = (gg_waiting){score, best.box, (int32_t)chosen};
            gg_sift_up(heap, waiting++);
        }
    }
    return chosen;
}

void GG_NAME(gg_choose_boxes_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    int at = 0;
    source->count[at++] = n[0] * (n[1] ? n[0] : 4);
    source->count[at++] = n[0];
    for (int64_t i = 0; i < 1 + n[5]; i++) source->count[at++] = 1;
    source->count[at++] = n[4];
    if (n[3] == 3) source->count[at++] = n[4];
    if (n[3] > 1) source->count[at++] = 1;
    source->count[at++] = 1;
    source->scratch_bytes =
        gg_lines(n[0] * (int64_t)sizeof(gg_waiting)) + 6 * gg_lines((n[4] + 1) * 4);
    gg_set_work(source, 50.0 * n[0]);
    source->threads = 1;
}

static float gg_limit(const gg_source *source, int64_t number, float otherwise) {
    return number < source->parameters[5] ? *(const float *)source->at[3 + number] : otherwise;
}

int GG_NAME(gg_choose_boxes)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, boxes = n[0], room = n[4];
    const float *from = source->at[0], *scores = source->at[1];
    const int64_t most = *(const int32_t *)source->at[2];
    const int32_t bits = (int32_t)n[6];
    float fixed;
    memcpy(&fixed, &bits, 4);
    const float threshold = gg_limit(source, 0, fixed), least = gg_limit(source, 1, -INFINITY);
    const float sigma = gg_limit(source, 2, 0);
    if (most < 0 || (!n[1] && !(threshold >= 0 && threshold <= 1)) || !(sigma >= 0))
        return GG_FAILED;
    void **outputs = source->at + 3 + n[5];
    int32_t *indices = outputs[0];
    float *values = n[3] == 3 ? outputs[1] : NULL;
    gg_waiting *heap = (gg_waiting *)source->scratch;
    char *memory = source->scratch + gg_lines(boxes * (int64_t)sizeof(gg_waiting));
    float *lines[6];
    for (int i = 0; i < 6; i++) lines[i] = (float *)(memory + i * gg_lines((room + 1) * 4));
    gg_suppressing s = {n[1] ? from : NULL, boxes,
                        {lines[0], lines[1], lines[2], lines[3], lines[4]},
                        indices, threshold, sigma};
    const gg_scored all = {scores, from, 1, 4, least};
    const int64_t chosen = gg_select(&s, &all, heap, gg_min(most, room), indices, values);
    for (int64_t i = chosen; i < room; i++) indices[i] = 0;
    for (int64_t i = chosen; values && i < room; i++) values[i] = 0;
    if (n[3] > 1) *(int32_t *)outputs[n[3] - 1] = (int32_t)chosen;
    *(int64_t *)outputs[n[3]] = n[2] ? room : chosen;
    return GG_DONE;
}

/* -- of all classes */

typedef struct {
    float score;
    int32_t kind, box;
} gg_of_class;

static int64_t gg_heap_bytes(int64_t boxes) { return gg_lines(boxes * (int64_t)sizeof(gg_waiting)); }

/* Sorts by score, the best first; equal ones stay in order. `spare` has as much room. */
static void gg_sort_by_score(gg_of_class *x, int64_t count, gg_of_class *spare) {
    for (int64_t width = 1; width < count; width *= 2) {
        for (int64_t first = 0; first < count; first += 2 * width) {
            const int64_t middle = gg_min(first + width, count), end = gg_min(middle + width, count);
            int64_t a = first, b = middle;
            for (int64_t to = first; to < end; to++)
                spare[to] = a < middle && (b >= end || !(x[b].score > x[a].score)) ? x[a++] : x[b++];
        }
        memcpy(x, spare, (size_t)count * sizeof *x);
    }
}

void GG_NAME(gg_choose_of_classes_plan)(gg_source *source) {
    const int64_t *n = source->parameters;
    source->count[0] = n[0] * n[1] * n[2] * 4, source->count[1] = n[0] * n[1] * n[3];
    for (int at = 2; at < 6; at++) source->count[at] = 1;
    source->count[6] = n[0] * n[4] * 4;
    source->count[7] = source->count[8] = n[0] * n[4];
    source->count[9] = n[0], source->count[10] = 1;
    source->scratch_bytes = gg_heap_bytes(n[1]) + 7 * gg_lines((n[1] + 1) * 4) +
                            2 * gg_lines(n[1] * n[3] * (int64_t)sizeof(gg_of_class));
    gg_set_work(source, 50.0 * n[0] * n[1] * n[3]);
    source->threads = 1;
}

int GG_NAME(gg_choose_of_classes)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, boxes = n[1], kinds = n[3], room = n[4];
    const int64_t most = *(const int32_t *)source->at[2], total = *(const int32_t *)source->at[3];
    const float threshold = *(const float *)source->at[4], least = *(const float *)source->at[5];
    if (most <= 0 || total <= 0 || !(threshold >= 0 && threshold <= 1)) return GG_FAILED;
    float *corners = source->at[6], *values = source->at[7], *classes = source->at[8];
    gg_waiting *heap = (gg_waiting *)source->scratch;
    float *lines[7];
    char *memory = source->scratch + gg_heap_bytes(boxes);
    for (int i = 0; i < 7; i++, memory += gg_lines((boxes + 1) * 4)) lines[i] = (float *)memory;
    gg_of_class *found = (gg_of_class *)memory, *spare;
    spare = (gg_of_class *)(memory + gg_lines(boxes * kinds * (int64_t)sizeof(gg_of_class)));
    int32_t *indices = (int32_t *)lines[5];
    gg_suppressing s = {NULL, boxes, {lines[0], lines[1], lines[2], lines[3], lines[4]},
                        indices, threshold, 0, 1};
    memset(corners, 0, (size_t)source->count[6] * sizeof *corners);
    memset(values, 0, (size_t)source->count[7] * sizeof *values);
    memset(classes, 0, (size_t)source->count[8] * sizeof *classes);
    for (int64_t image = 0; image < n[0]; image++) {
        const float *from = (const float *)source->at[0] + image * boxes * n[2] * 4;
        int64_t count = 0;
        for (int64_t kind = 0; kind < kinds; kind++) {
            const float *scores = (const float *)source->at[1] + image * boxes * kinds + kind;
            const gg_scored of = {scores, from + (n[2] > 1 ? 4 * kind : 0), kinds, 4 * n[2], least};
            const int64_t chosen = gg_select(&s, &of, heap, gg_min(most, boxes), indices, lines[6]);
            for (int64_t i = 0; i < chosen; i++)
                found[count++] = (gg_of_class){lines[6][i], (int32_t)kind, indices[i]};
        }
        gg_sort_by_score(found, count, spare);
        count = gg_min(count, gg_min(total, room));
        ((int32_t *)source->at[9])[image] = (int32_t)count;
        for (int64_t i = 0; i < count; i++) {
            const int64_t to = image * room + i, kind = n[2] > 1 ? found[i].kind : 0;
            const float *box = from + (found[i].box * n[2] + kind) * 4;
            values[to] = found[i].score, classes[to] = (float)found[i].kind;
            for (int side = 0; side < 4; side++) {
                const float x = box[side];
                corners[4 * to + side] = n[5] ? (x < 0 ? 0 : x > 1 ? 1 : x) : x;
            }
        }
    }
    *(int64_t *)source->at[10] = room;
    return GG_DONE;
}
