/* Non-maximum suppression, as in gpugraph/ops/image/box_selection.py.

   Parameters: the number of boxes, whether overlaps are given instead of corners, whether results
   are padded, the number of outputs, the room for results, the number of limits, the bits of the
   threshold if it is no input. Arrays: boxes [n, 4] or overlaps [n, n], scores, the maximum number
   (int32), the limits: threshold, minimum score, sigma; then the indices (int32), their scores if there are
   three outputs, and their number (int32); the number of rows (int64). */

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
            within &= shared[i] <= s->threshold;
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
    int64_t waiting = 0, chosen = 0;
    for (int64_t i = 0; i < boxes; i++)
        if (scores[i] > least) heap[waiting++] = (gg_waiting){scores[i], (int32_t)i, 0};
    for (int64_t i = waiting / 2; i-- > 0;) gg_sift_down(heap, waiting, i);
    while (waiting && chosen < gg_min(most, room)) {
        const gg_waiting best = heap[0];
        heap[0] = heap[--waiting];
        if (waiting) gg_sift_down(heap, waiting, 0);
        if (!n[1]) gg_set_corners(s.corners, chosen, from + 4 * best.box);
        const double weight = gg_weight_of(&s, best.box, best.since, chosen);
        if (weight < 0) continue;
        const double score = best.score * weight;
        if (score == best.score) {
            if (values) values[chosen] = (float)score;
            indices[chosen++] = best.box;
        } else if (score > least) {
            heap[waiting] = (gg_waiting){score, best.box, (int32_t)chosen};
            gg_sift_up(heap, waiting++);
        }
    }
    for (int64_t i = chosen; i < room; i++) indices[i] = 0;
    for (int64_t i = chosen; values && i < room; i++) values[i] = 0;
    if (n[3] > 1) *(int32_t *)outputs[n[3] - 1] = (int32_t)chosen;
    *(int64_t *)outputs[n[3]] = n[2] ? room : chosen;
    return GG_DONE;
}
