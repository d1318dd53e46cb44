/* The most likely sequences of labels (gg_ctc_beam), by the search of
   gpugraph/ops/nn/losses/ctc_beam_search.py, which defines the tree, the beam and their order. A part
   is one sequence; logarithms of probabilities are doubles.

   Parameters: steps, batch, classes, the width of the beam, the number of paths, whether equal labels
   that are adjacent are one, the room for labels. Arrays: logits, lengths; indices, labels and shape
   of each path, the logarithms, the number of rows of each output. It ends with GG_FAILED for NaN,
   for lengths that are not sound, and if fewer sequences than paths were found. */

#include "host_ctc.h"

#ifndef GG_CTC_BEAM
#define GG_CTC_BEAM

#define GG_NEVER (-(double)INFINITY)

extern void *realloc(void *, size_t);

typedef struct {
    double blank, labelled, total, old_blank, old_total;
    int32_t parent, label, child, next; /* -1: none */
} gg_beam_node;

typedef struct {
    double total;
    int64_t order;
    int32_t node;
} gg_beam_entry;

typedef struct {
    gg_beam_node *nodes;
    gg_beam_entry *heap; /* a heap, with the least likely entry at its top */
    double *known;
    int32_t *listed, *child_of;
    int64_t count, room, held, width, entries;
} gg_beam;

GG_ALWAYS double gg_either(double one, double other) {
    const double most = one < other ? other : one, least = one < other ? one : other;
    return least == GG_NEVER ? most : most + gg_log_f64(1 + gg_exp_f64(least - most));
}

GG_ALWAYS int gg_is_less(const gg_beam_entry *a, const gg_beam_entry *b) {
    return a->total < b->total || (a->total == b->total && a->order < b->order);
}

static void gg_sink(gg_beam_entry *heap, int64_t count, gg_beam_entry entry) {
    int64_t at = 0;
    for (int64_t below = 1; below < count; below = 2 * at + 1) {
        below += below + 1 < count && gg_is_less(heap + below + 1, heap + below);
        if (!gg_is_less(heap + below, &entry)) break;
        heap[at] = heap[below], at = below;
    }
    heap[at] = entry;
}

static void gg_drop(gg_beam_node *node) { node->blank = node->labelled = node->total = GG_NEVER; }

static void gg_beam_add(gg_beam *b, int32_t node) {
    const gg_beam_entry entry = {b->nodes[node].total, -++b->entries, node};
    if (b->held < b->width) {
        int64_t at = b->held++;
        for (; at && gg_is_less(&entry, b->heap + (at - 1) / 2); at = (at - 1) / 2)
            b->heap[at] = b->heap[(at - 1) / 2];
        b->heap[at] = entry;
    } else {
        const int32_t least = b->heap[0].node;
        gg_sink(b->heap, b->held, entry);
        gg_drop(b->nodes + least);
    }
}

GG_ALWAYS int gg_accepts(const gg_beam *b, double total) {
    return total != GG_NEVER && (b->held < b->width || total > b->heap[0].total);
}

/* Moves the entries to `listed`, the most likely first; returns their number. */
static int64_t gg_beam_empty(gg_beam *b) {
    const int64_t count = b->held;
    for (; b->held; b->held--) {
        b->listed[b->held - 1] = b->heap[0].node;
        gg_sink(b->heap, b->held - 1, b->heap[b->held - 1]);
    }
    return count;
}

/* A node of the tree; -1 without memory. */
static int32_t gg_beam_node_of(gg_beam *b, int32_t parent, int32_t label) {
    if (b->count == b->room) {
        gg_beam_node *more = NULL;
        if (b->room < INT32_MAX / 2) more = realloc(b->nodes, (size_t)(2 * b->room) * sizeof *more);
        if (!more) return -1;
        b->nodes = more, b->room *= 2;
    }
    const int32_t at = (int32_t)b->count++;
    b->nodes[at] = (gg_beam_node){GG_NEVER, GG_NEVER, GG_NEVER, GG_NEVER, GG_NEVER,
                                  parent,   label,    -1,       -1};
    if (parent >= 0) b->nodes[at].next = b->nodes[parent].child, b->nodes[parent].child = at;
    return at;
}

/* A step in which no label is added. */
static void gg_beam_continue(gg_beam *b, gg_beam_node *node, int64_t blank) {
    if (node->parent >= 0) {
        const gg_beam_node *parent = b->nodes + node->parent;
        const double before = parent->label == node->label ? parent->old_blank : parent->old_total;
        if (parent->total != GG_NEVER) node->labelled = gg_either(node->labelled, before);
        node->labelled += b->known[node->label];
    }
    node->blank = node->old_total + b->known[blank];
    node->total = gg_either(node->blank, node->labelled);
}

/* Adds the sequences with one more label; returns whether there was memory. */
static int gg_beam_grow(gg_beam *b, int32_t parent, int64_t blank) {
    const gg_beam_node node = b->nodes[parent];
    const double least = b->held == b->width ? b->heap[0].total : GG_NEVER;
    for (int32_t c = node.child; c >= 0; c = b->nodes[c].next) b->child_of[b->nodes[c].label] = c;
    int has_memory = 1;
    for (int32_t label = 0; label < blank && has_memory; label++) {
        int32_t child = b->child_of[label];
        b->child_of[label] = -1;
        const double before = label == node.label ? node.old_blank : node.old_total;
        const double total = b->known[label] + before;
        if (child >= 0 ? b->nodes[child].total != GG_NEVER : !(total > least)) continue;
        if (gg_accepts(b, total)) {
            if (child < 0) child = gg_beam_node_of(b, parent, label);
            has_memory = child >= 0;
            if (!has_memory) break;
            b->nodes[child].labelled = b->nodes[child].total = total;
            gg_beam_add(b, child);
        } else if (child >= 0) { /* it left the beam in this step */
            b->nodes[child].old_blank = b->nodes[child].old_total = GG_NEVER;
        }
    }
    return has_memory;
}

static int gg_beam_step(gg_beam *b, int64_t blank) {
    const int64_t count = gg_beam_empty(b);
    for (int64_t i = 0; i < count; i++) {
        gg_beam_node *node = b->nodes + b->listed[i];
        node->old_blank = node->blank, node->old_total = node->total;
    }
    for (int64_t i = 0; i < count; i++) {
        gg_beam_continue(b, b->nodes + b->listed[i], blank);
        gg_beam_add(b, b->listed[i]);
    }
    for (int64_t i = 0; i < count; i++)
        if (gg_accepts(b, b->nodes[b->listed[i]].old_total) && !gg_beam_grow(b, b->listed[i], blank))
            return 0;
    return 1;
}

/* The labels of a path from the first to the last; returns their number. */
static int64_t gg_beam_labels(const gg_beam *b, int32_t at, int64_t merges, int32_t *labels) {
    int64_t count = 0;
    int32_t last = -1;
    for (; b->nodes[at].parent >= 0; last = b->nodes[at].label, at = b->nodes[at].parent)
        if (!merges || b->nodes[at].label != last) labels[count++] = b->nodes[at].label;
    for (int64_t i = 0; i < count / 2; i++) {
        const int32_t label = labels[i];
        labels[i] = labels[count - 1 - i], labels[count - 1 - i] = label;
    }
    return count;
}

static int gg_beam_allocate(gg_beam *b, int64_t width, int64_t classes) {
    b->width = width, b->room = 4 * width + 16;
    b->nodes = malloc((size_t)b->room * sizeof *b->nodes);
    b->heap = malloc((size_t)width * (sizeof *b->heap + sizeof *b->listed));
    b->known = malloc((size_t)classes * (sizeof *b->known + sizeof *b->child_of));
    if (!b->nodes || !b->heap || !b->known) return 0;
    b->listed = (int32_t *)(b->heap + width), b->child_of = (int32_t *)(b->known + classes);
    for (int64_t c = 0; c < classes; c++) b->child_of[c] = -1;
    const int32_t root = gg_beam_node_of(b, -1, -1);
    b->nodes[root].blank = b->nodes[root].total = 0;
    gg_beam_add(b, root);
    return 1;
}

typedef struct {
    gg_source *source;
    int64_t *counts; /* of labels, by sequence and path */
    int32_t *labels;
    _Atomic int failed;
} gg_beam_work;

/* Writes the labels of all sequences as the sparse tensor of one path. */
static void gg_beam_sparse(const gg_beam_work *w, int64_t path) {
    const int64_t *n = w->source->parameters, paths = n[4];
    void **out = w->source->at + 2 + path;
    int64_t *indices = out[0], *values = out[paths], *shape = out[2 * paths];
    int64_t *rows = w->source->at[2 + 3 * paths + 1], count = 0, widest = 0;
    for (int64_t row = 0; row < n[1]; row++) {
        const int64_t each = row * paths + path;
        for (int64_t i = 0; i < w->counts[each]; i++, count++) {
            indices[2 * count] = row, indices[2 * count + 1] = i;
            values[count] = w->labels[each * n[0] + i];
        }
        widest = gg_max(widest, w->counts[each]);
    }
    shape[0] = n[1], shape[1] = widest;
    rows[path] = rows[paths + path] = count, rows[2 * paths + path] = 2;
}
#endif

/* The logarithms of a step's probabilities; returns whether none is NaN. */
static int GG_NAME(gg_beam_know)(double *known, const gg_real *logits, int64_t classes) {
    double most = GG_NEVER, sum = 0;
    for (int64_t c = 0; c < classes; c++) most = logits[c] > most ? (double)logits[c] : most;
    for (int64_t c = 0; c < classes; c++) sum += gg_exp_f64((double)logits[c] - most);
    const double norm = most + gg_log_f64(sum);
    int is_sound = 1;
    for (int64_t c = 0; c < classes; c++) {
        known[c] = (double)logits[c] - norm;
        is_sound &= known[c] == known[c];
    }
    return is_sound;
}

static int GG_NAME(gg_beam_search)(gg_beam_work *w, int64_t row, gg_beam *b) {
    const int64_t *n = w->source->parameters, classes = n[2], paths = n[4];
    const int64_t length = ((const int32_t *)w->source->at[1])[row];
    const gg_real *logits = (const gg_real *)w->source->at[0] + row * classes;
    for (int64_t t = 0; t < length; t++, logits += n[1] * classes) {
        if (!GG_NAME(gg_beam_know)(b->known, logits, classes)) return 0;
        if (!gg_beam_step(b, classes - 1)) return 0;
    }
    if (gg_beam_empty(b) < paths) return 0;
    gg_real *scores = (gg_real *)w->source->at[2 + 3 * paths] + row * paths;
    for (int64_t path = 0; path < paths; path++) {
        const int64_t each = row * paths + path;
        w->counts[each] = gg_beam_labels(b, b->listed[path], n[5], w->labels + each * n[0]);
        scores[path] = (gg_real)b->nodes[b->listed[path]].total;
    }
    return 1;
}

static void GG_NAME(gg_beam_part)(void *work, int64_t row) {
    gg_beam_work *w = work;
    const int64_t *n = w->source->parameters;
    gg_beam b = {0};
    if (!gg_beam_allocate(&b, n[3], n[2]) || !GG_NAME(gg_beam_search)(w, row, &b))
        atomic_store(&w->failed, 1);
    free(b.nodes), free(b.heap), free(b.known);
}

void GG_NAME(gg_ctc_beam_plan)(gg_source *source) {
    const int64_t *n = source->parameters, paths = n[4];
    source->count[0] = n[0] * n[1] * n[2], source->count[1] = n[1];
    for (int64_t path = 0; path < paths; path++) {
        source->count[2 + path] = 2 * n[6], source->count[2 + paths + path] = n[6];
        source->count[2 + 2 * paths + path] = 2;
    }
    source->count[2 + 3 * paths] = n[1] * paths, source->count[3 + 3 * paths] = 3 * paths + 1;
    source->scratch_bytes = n[1] * paths * (8 + 4 * n[0]);
    gg_set_work(source, (double)n[6] * n[3] * (n[2] * 3.0 + 60));
}

int GG_NAME(gg_ctc_beam)(void *block) {
    gg_source *source = block;
    const int64_t *n = source->parameters, paths = n[4];
    int64_t *counts = (int64_t *)source->scratch;
    gg_beam_work w = {source, counts, (int32_t *)(counts + n[1] * paths), 0};
    if (n[2] < 1) return GG_FAILED; /* there is no blank */
    for (int64_t row = 0; row < n[1]; row++)
        if (((const int32_t *)source->at[1])[row] > n[0]) return GG_FAILED;
    source->parallel(GG_NAME(gg_beam_part), &w, n[1], source->threads);
    if (atomic_load(&w.failed)) return GG_FAILED;
    for (int64_t path = 0; path < paths; path++) gg_beam_sparse(&w, path);
    ((int64_t *)source->at[3 + 3 * paths])[3 * paths] = n[1];
    return GG_DONE;
}
