/* Matrix products, c = a @ b, with an epilogue in the store: + bias, + addend, Relu.

   One operand is packed for all threads, panel by panel, a part of its lines and of k at a time:
   a stage. The other operand's panels are packed by the thread that multiplies with them. The
   longer side of the result decides which operand is shared: it is divided into parts along that.
   Parts are taken in order, so that a thread may wait for the work of an earlier part. If there
   are several stages, they use two buffers alternately, so that the next one is packed while the
   last tiles of this one are computed.

   For many small products, a part is a whole product. */

#include "host_half.h"
#include "host_matmul_tile.h"

GG_BRIEF

#ifndef GG_MATMUL
#define GG_MATMUL

#include <sched.h>

#define GG_MATMUL_DEPTH 256   /* of k in a stage */
#define GG_MATMUL_BYTES 1048576 /* of the shared operand in a stage */
#define GG_MATMUL_DIRECT 1   /* up to this many tiles read a panel in place */
#define GG_MATMUL_FAR 4096   /* bytes from one k to the next, whose cache lines share few sets */
#define GG_MATMUL_TOGETHER 8 /* panels that are then packed together, at most */
#define GG_MATMUL_FEW 16     /* up to this many tiles of each */
#define GG_MATMUL_FLAT 64    /* up to this many k, stores take longest: results go row by row */
#define GG_MATMUL_NEAR 16384 /* half of a first cache: a panel whose sets hold it */
#define GG_MATMUL_FETCHED 524288 /* of an operand that is in no second cache when it is needed */

/* The parameters; steps are in elements. */
typedef struct {
    int64_t count, m, n, k;
    int64_t a_row, a_col, b_row, b_col, c_row, addend_row;
    int64_t ends;
} gg_matmul_sizes;

/* An operand: its lines go along the result, `width` of them are a panel. */
typedef struct {
    void **at;
    int64_t lines, width, line_step, k_step;
} gg_factor;

typedef struct {
    gg_source *source;
    const gg_matmul_sizes *p;
    gg_factor shared, own;
    int64_t by_rows;     /* whether the shared operand is b, and parts go along the rows */
    int64_t is_apart;    /* whether a part is a whole product */
    int64_t depth_each, depths, lines_each, chunks;
    int64_t packs, panels;   /* parts of a stage: of packing, of multiplying */
    int64_t together;        /* panels of the other operand in a part */
    int64_t shared_bytes, own_bytes, progress, slots, slot_bytes;
    _Atomic int64_t packed[2], done[2]; /* parts of even and of odd stages */
} gg_matmul;

static void gg_wait_for(_Atomic int64_t *count, int64_t wanted) {
    for (int64_t spins = 0; atomic_load_explicit(count, memory_order_acquire) < wanted; spins++)
        if (spins > 4096) sched_yield();
#if defined(__x86_64__)
        else __builtin_ia32_pause();
#endif
}

static gg_matmul gg_matmul_of(gg_source *source, int64_t item) {
    const gg_matmul_sizes *p = (const gg_matmul_sizes *)source->parameters;
    gg_matmul m = {.source = source, .p = p};
    int64_t columns = GG_TILE_VECTORS * GG_VECTOR / item;
    gg_factor a = {source->at[0], p->m, GG_TILE_ROWS, p->a_row, p->a_col};
    gg_factor b = {source->at[1], p->n, columns, p->b_col, p->b_row};
    m.by_rows = p->m > 2 * p->n || (p->k <= GG_MATMUL_FLAT && p->m >= GG_MATMUL_FLAT);
    m.shared = m.by_rows ? b : a;
    m.own = m.by_rows ? a : b;
    m.depths = gg_max(1, gg_ceil(p->k, GG_MATMUL_DEPTH));
    m.depth_each = gg_ceil(p->k, m.depths);
    int64_t most = GG_MATMUL_BYTES / item / gg_max(m.depth_each, 1) / m.shared.width;
    int64_t shared_panels = gg_max(gg_ceil(m.shared.lines, m.shared.width), 1);
    m.chunks = gg_ceil(shared_panels, gg_max(most, 1));
    m.packs = gg_ceil(shared_panels, m.chunks);
    m.lines_each = m.packs * m.shared.width;
    m.panels = gg_ceil(m.own.lines, m.own.width);
    m.together = 1;
    if (m.own.line_step == 1 && m.own.k_step * item >= GG_MATMUL_FAR &&
        shared_panels <= GG_MATMUL_FEW) {
        m.together = gg_min(m.panels / (4 * source->threads), GG_MATMUL_TOGETHER);
        m.together = gg_max(m.together, 1);
        m.panels = gg_ceil(m.panels, m.together);
    }
    m.is_apart = p->count > 4 * source->threads || source->threads == 1;
    m.shared_bytes = gg_lines((m.lines_each * m.depth_each + GG_VECTOR) * item);
    m.own_bytes = gg_lines((m.together * m.own.width * m.depth_each + GG_VECTOR) * item);
    m.progress = m.is_apart ? 0 : gg_min(m.depths * m.chunks * p->count, 2) * m.shared_bytes;
    m.slots = m.progress + (m.is_apart ? 0 : gg_lines(m.panels * sizeof(int64_t)));
    m.slot_bytes = m.own_bytes + (m.is_apart ? m.shared_bytes : 0);
    return m;
}

/* The lines of an operand in one panel, from line `first` on, as its tile's function computes. */
static int64_t gg_panel_width(const gg_factor *factor, int64_t first, int64_t lanes, int is_rows) {
    int64_t lines = gg_min(factor->width, factor->lines - first), unit = is_rows ? 2 : lanes;
    return gg_ceil(lines, unit) * unit;
}

/* A product, a part of k, a part of the shared operand's lines. */
typedef struct {
    int64_t product, depth_index, first_k, depth, first_line, lines;
} gg_stage;

static gg_stage gg_stage_of(const gg_matmul *m, int64_t which) {
    gg_stage s = {.product = which / (m->depths * m->chunks)};
    int64_t rest = which % (m->depths * m->chunks);
    s.depth_index = rest % m->depths;
    s.first_k = s.depth_index * m->depth_each;
    s.depth = gg_min(m->depth_each, m->p->k - s.first_k);
    s.first_line = rest / m->depths * m->lines_each;
    s.lines = gg_min(m->lines_each, m->shared.lines - s.first_line);
    return s;
}

#endif

/* Packs a panel of the shared operand, number `panel` of the stage. */
static void GG_NAME(gg_matmul_pack)(const gg_matmul *m, const gg_stage *s, int64_t panel,
                                    gg_real *buffer) {
    const gg_factor *f = &m->shared;
    int64_t line = panel * f->width, first = s->first_line + line;
    if (line >= s->lines) return;
    const gg_real *from = (const gg_real *)f->at[s->product] + first * f->line_step +
                          s->first_k * f->k_step;
    int64_t width = gg_panel_width(f, first, GG_REAL_LANES, !m->by_rows);
    GG_NAME(gg_pack)(buffer + line * s->depth, width, from, f->line_step, f->k_step,
                     gg_min(f->width, f->lines - first), s->depth);
}

/* Prefetches a share, `part` of `parts`, of a panel of the other operand that is packed later:
   its pieces are far apart, beyond the reach of a processor's prefetcher. */
GG_ALWAYS void GG_NAME(gg_matmul_fetch)(const gg_matmul *m, const gg_stage *s, int64_t panel,
                                        int64_t part, int64_t parts) {
    const gg_factor *f = &m->own;
    int64_t first = panel * f->width, lines = gg_min(f->width, f->lines - first);
    const gg_real *from = (const gg_real *)f->at[s->product] + first * f->line_step +
                          s->first_k * f->k_step;
    int64_t is_wide = f->line_step == 1; /* pieces are of lines side by side, else along k */
    int64_t pieces = is_wide ? s->depth : lines, length = is_wide ? lines : s->depth;
    int64_t step = is_wide ? f->k_step : f->line_step, last = pieces * (part + 1) / parts;
    for (int64_t piece = pieces * part / parts; piece < last; piece++)
        for (int64_t each = 0; each < length; each += GG_LINE / sizeof(gg_real))
            __builtin_prefetch(from + piece * step + each, 0, 2);
}

/* All tiles of a panel of the other operand, with the packed lines of a stage.
   is_packed: whether the panel is in `space` already. */
static void GG_NAME(gg_matmul_panel)(const gg_matmul *m, const gg_stage *s, int64_t panel,
                                     const gg_real *buffer, gg_real *space, int is_packed) {
    const gg_factor *f = &m->own;
    const gg_matmul_sizes *p = m->p;
    int64_t first = panel * f->width, lines = gg_min(f->width, f->lines - first);
    int64_t width = gg_panel_width(f, first, GG_REAL_LANES, m->by_rows), step = f->k_step;
    const gg_real *own = (const gg_real *)f->at[s->product] + first * f->line_step +
                         s->first_k * f->k_step;
    int64_t bytes = step * sizeof(gg_real), spread = gg_min(gg_max(bytes & -bytes, GG_LINE), 4096);
    int is_near = s->depth * spread <= GG_MATMUL_NEAR;
    if (is_packed || f->line_step != 1 || width != lines ||
        (!is_near && s->lines > GG_MATMUL_DIRECT * m->shared.width)) {
        if (!is_packed)
            GG_NAME(gg_pack)(space, width, own, f->line_step, f->k_step, lines, s->depth);
        own = space, step = width;
    }
    GG_NAME(gg_tile_end) end = {.c_row = p->c_row, .addend_row = p->addend_row};
    end.adds = s->depth_index;
    end.ends = s->depth_index == m->depths - 1 ? p->ends : 0;
    int64_t next = panel + m->source->threads, tiles = gg_ceil(s->lines, m->shared.width);
    int64_t fetches = m->together == 1 && next < m->panels &&
                      f->lines * p->k * (int64_t)sizeof(gg_real) > GG_MATMUL_FETCHED;
    for (int64_t line = 0, tile = 0; line < s->lines; line += m->shared.width, tile++) {
        if (fetches) GG_NAME(gg_matmul_fetch)(m, s, next, tile, tiles);
        int64_t across = s->first_line + line, count = gg_min(m->shared.width, s->lines - line);
        int64_t across_width = gg_panel_width(&m->shared, across, GG_REAL_LANES, !m->by_rows);
        int64_t row = m->by_rows ? first : across, column = m->by_rows ? across : first;
        const gg_real *packed = buffer + line * s->depth;
        void **at = (void **)m->source->at[2], **addend = (void **)m->source->at[4];
        end.c = (gg_real *)at[s->product] + row * p->c_row + column;
        end.bias = (const gg_real *)m->source->at[3] + column;
        if (end.ends & GG_ADD_ADDEND)
            end.addend = (const gg_real *)addend[s->product] + row * p->addend_row + column;
        if (m->by_rows)
            GG_NAME(gg_run_tile)(lines, count, s->depth, own, step, packed, across_width, &end);
        else
            GG_NAME(gg_run_tile)(count, lines, s->depth, packed, across_width, own, step, &end);
    }
}

/* The panels of a part. Whole ones whose pieces are far apart are packed together, piece by
   piece. */
static void GG_NAME(gg_matmul_panels)(const gg_matmul *m, const gg_stage *s, int64_t part,
                                      const gg_real *buffer, gg_real *space) {
    const gg_factor *f = &m->own;
    int64_t panel = part * m->together, size = f->width * s->depth;
    int64_t whole = gg_min(f->lines / f->width - panel, m->together);
    if (m->together == 1 || s->lines <= GG_MATMUL_DIRECT * m->shared.width) whole = 0;
    const gg_real *from = (const gg_real *)f->at[s->product] + panel * f->width +
                          s->first_k * f->k_step;
    for (int64_t k = 0; whole > 0 && k < s->depth; k++, from += f->k_step)
        for (int64_t each = 0; each < whole; each++) {
            __builtin_prefetch(from + 8 * f->k_step + each * f->width);
            memcpy(space + each * size + k * f->width, from + each * f->width,
                   f->width * sizeof(gg_real));
        }
    int64_t last = gg_min(panel + m->together, gg_ceil(f->lines, f->width));
    for (int64_t each = 0; panel + each < last; each++)
        GG_NAME(gg_matmul_panel)(m, s, panel + each, buffer, space + each * size, each < whole);
}

/* A part of the work that threads share. */
static void GG_NAME(gg_matmul_part)(void *at, int64_t which) {
    gg_matmul *m = at;
    int64_t each = m->packs + m->panels, number = which / each, part = which % each;
    int64_t turn = number % 2, before = number / 2;
    gg_stage s = gg_stage_of(m, number);
    char *scratch = m->source->scratch;
    gg_real *buffer = (gg_real *)(scratch + turn * m->shared_bytes);
    if (part < m->packs) {
        gg_wait_for(&m->done[turn], before * m->panels);
        GG_NAME(gg_matmul_pack)(m, &s, part, buffer);
        atomic_fetch_add_explicit(&m->packed[turn], 1, memory_order_release);
        return;
    }
    int64_t panel = part - m->packs;
    _Atomic int64_t *progress = (_Atomic int64_t *)(scratch + m->progress) + panel;
    gg_wait_for(&m->packed[turn], (before + 1) * m->packs);
    gg_wait_for(progress, number);
    char *slot = gg_take(m->source, scratch + m->slots, m->slot_bytes);
    GG_NAME(gg_matmul_panels)(m, &s, panel, buffer, (gg_real *)slot);
    gg_give(slot);
    atomic_store_explicit(progress, number + 1, memory_order_release);
    atomic_fetch_add_explicit(&m->done[turn], 1, memory_order_release);
}

/* A product that one thread computes. */
static void GG_NAME(gg_matmul_whole)(void *at, int64_t which) {
    const gg_matmul *m = at;
    int64_t stages = m->depths * m->chunks;
    char *slot = gg_take(m->source, m->source->scratch + m->slots, m->slot_bytes);
    gg_real *buffer = (gg_real *)slot, *space = (gg_real *)(slot + m->shared_bytes);
    for (int64_t number = 0; number < stages; number++) {
        gg_stage s = gg_stage_of(m, which * stages + number);
        for (int64_t panel = 0; panel < m->packs; panel++)
            GG_NAME(gg_matmul_pack)(m, &s, panel, buffer);
        for (int64_t panel = 0; panel < m->panels; panel++)
            GG_NAME(gg_matmul_panels)(m, &s, panel, buffer, space);
    }
    gg_give(slot);
}

#define GG_MATMUL_GIGAFLOPS 60 /* of one core, roughly */

void GG_NAME(gg_matmul_plan)(gg_source *source) {
    const gg_matmul_sizes *p = (const gg_matmul_sizes *)source->parameters;
    double flops = 2.0 * p->m * p->n * p->k * p->count * sizeof(gg_real) / 4;
    gg_set_work(source, flops / GG_MATMUL_GIGAFLOPS);
    gg_matmul m = gg_matmul_of(source, sizeof(gg_real));
    source->scratch_bytes = m.slots + gg_slots_bytes(source, m.slot_bytes);
}

/* lists of a, b, c; bias; list of addends */
int GG_NAME(gg_matmul)(void *block) {
    gg_source *source = block;
    gg_matmul m = gg_matmul_of(source, sizeof(gg_real));
    gg_free_slots(source, source->scratch + m.slots, m.slot_bytes);
    if (m.is_apart) {
        source->parallel(GG_NAME(gg_matmul_whole), &m, m.p->count, source->threads);
        return GG_DONE;
    }
    memset(source->scratch + m.progress, 0, m.panels * sizeof(int64_t));
    int64_t stages = m.depths * m.chunks * m.p->count;
    source->parallel(GG_NAME(gg_matmul_part), &m, stages * (m.packs + m.panels), source->threads);
    return GG_DONE;
}

GG_BRIEF_END
