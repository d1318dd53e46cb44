/* The division of a call's work into parts and threads, by the sizes in its block. Parts depend on sizes alone, so results do not depend on threads.

   A cut is called after a block's sizes are set, with `threads` as the most that it may use; it
   sets `threads`, everything about parts, and `work`. gpugraph/devices/native calls it when it
   binds a call, and again when the call gets other sizes. */

/* Nanoseconds of work for each thread: waking one takes 5 to 50 us. */
double gg_thread_nanoseconds = 8000.0;
#define GG_PART 16384         /* the most elements of a part: a multiple of GG_BLOCK */
#define GG_LEAST_PART 4096    /* the fewest elements of a part, without partial sums */
#define GG_EVEN_PARTS 16      /* parts that are even among threads that start at different times */
#define GG_PART_ROWS 16       /* the fewest rows of a part that keeps a row of partial sums */

static inline int64_t gg_most(int64_t a, int64_t b) { return a > b ? a : b; }

static inline int64_t gg_parts_of(int64_t all, int64_t each) { return all / each + !!(all % each); }

typedef void (*gg_cut)(void *block);

void gg_cut_block(void *at) {
    gg_block *b = at;
    int64_t elements = b->rows * b->inner;
    b->work = (double)elements * b->each_nanoseconds;
    int64_t worth = b->work < 1e15 ? (int64_t)(b->work / gg_thread_nanoseconds) : INT64_MAX;
    b->threads = gg_most(1, gg_min(b->threads, worth));
    b->rows_each = gg_most(b->rows, 1);
    b->inner_each = b->inner;
    b->across = 1;
    if (b->cuts & GG_PARTIAL || b->threads > 1) {
        int64_t even = gg_parts_of(elements, GG_EVEN_PARTS * GG_LEAST_PART) * GG_LEAST_PART;
        int64_t part = gg_min(gg_most(even, GG_LEAST_PART), GG_PART);
        if (b->cuts & GG_PARTIAL) part = GG_PART;
        if (b->cuts & GG_ACROSS && b->inner > part) {
            b->inner_each = part;
            b->across = gg_parts_of(b->inner, part);
        }
        b->rows_each = gg_most(1, part / gg_most(b->inner_each, 1));
        if (b->cuts & GG_COLUMNS) b->rows_each = gg_most(b->rows_each, GG_PART_ROWS);
    }
    b->parts = gg_parts_of(b->rows, b->rows_each) * b->across;
}

/* -- products: the unit of work is one multiplication of floats */

#define GG_TILE_WORK 3000000 /* a product of twice this is two blocks, of eight times more four */
#define GG_TILE_LINE 32      /* the unit of a block's edges: the tiles of the BLAS */
#define GG_MANY 8            /* products that are divided among threads without being cut */
#define GG_EACH_WORK 750000  /* for each thread */
#define GG_VECTOR_WORK 8     /* a multiplication of a matrix and a vector loads its element once */

static inline int64_t gg_half_edge(int64_t edge) {
    return gg_parts_of(gg_parts_of(edge, 2), GG_TILE_LINE) * GG_TILE_LINE;
}

void gg_cut_products(void *at) {
    gg_products *p = at;
    int64_t work = p->m * p->n * p->k * p->item / 4;
    if (p->kind != GG_MATRICES) work *= GG_VECTOR_WORK;
    int64_t m = p->m, n = p->n;
    for (int64_t most = 2 * GG_TILE_WORK;
         p->count < GG_MANY && work >= most && gg_most(m, n) > GG_TILE_LINE; most *= 8) {
        if (m >= n)
            m = gg_half_edge(m);
        else
            n = gg_half_edge(n);
    }
    p->m_each = m;
    p->n_each = n;
    p->m_count = gg_parts_of(p->m, m);
    p->n_count = gg_parts_of(p->n, n);
    p->work = work * p->count;
    int64_t units = p->count * p->m_count * p->n_count;
    p->threads = gg_most(1, gg_min(gg_min(p->threads, p->work / GG_EACH_WORK), units));
    p->each = p->threads == 1 ? units : gg_most(1, units / (4 * p->threads));
    p->parts = gg_parts_of(units, p->each);
}

/* -- copies */

#define GG_PART_BYTES 65536    /* bytes that a part writes, if there are several */
#define GG_THREAD_BYTES 262144 /* the fewest for a second thread */
#define GG_SIDE 128            /* the most columns in a block of a transpose */

void gg_cut_move(void *at) {
    gg_move *p = at;
    int64_t outside = 1;
    for (int64_t each = 0; each < p->outside; each++) outside *= p->sizes[each];
    int64_t bytes = outside * p->rows * p->columns * p->item;
    if (!bytes) { /* nothing is copied */
        p->rows_each = p->columns_each = p->threads = p->each = 1;
        p->count = p->parts = 0;
        return;
    }
    p->rows_each = p->rows;
    p->columns_each = p->columns;
    p->threads = bytes > GG_THREAD_BYTES ? gg_min(p->threads, bytes / (GG_THREAD_BYTES / 2)) : 1;
    if (p->threads > 1) {
        int64_t elements = GG_PART_BYTES / p->item;
        p->columns_each = gg_min(p->columns, p->kind == GG_TURN ? GG_SIDE : elements);
        p->rows_each = gg_min(p->rows, elements / p->columns_each);
    }
    p->count = gg_parts_of(p->rows, p->rows_each) * gg_parts_of(p->columns, p->columns_each);
    p->count *= outside;
    int64_t block = p->rows_each * p->columns_each * p->item;
    p->each = p->threads <= 1 ? p->count : gg_most(1, GG_PART_BYTES / block);
    p->parts = gg_parts_of(p->count, p->each);
}
