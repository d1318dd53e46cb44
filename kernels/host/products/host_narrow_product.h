/* The product of host_product.h for a matrix of so few columns that they would leave most of a
   vector empty: vectors lie along the lines instead. For a few lines and one or two columns there
   is a vector of sums each, whose elements are added up at the end.

   The matrix is transposed: column after column. Lines are whole vectors, number after number. */

#ifndef GG_DOTS
#define GG_DOTS
#define GG_DOT_PLACES 6
#define GG_DOT_COLUMNS 2
#define GG_DOT_OUTPUTS 4

/* The maximum number of columns, by the elements of a vector. */
static int64_t gg_dot_most(int64_t lanes) { return gg_min(lanes / 4, GG_DOT_OUTPUTS); }
#endif

/* The sum of a vector's elements, as a tree. */
GG_ALWAYS gg_real GG_NAME(gg_dot_sum)(GG_NAME(gg_vector) x) {
    gg_real each[GG_REAL_LANES];
    *(GG_NAME(gg_vector) *)each = x;
    for (int64_t half = GG_REAL_LANES / 2; half; half /= 2)
        for (int64_t lane = 0; lane < half; lane++) each[lane] += each[lane + half];
    return each[0];
}

/* All lines by `columns` of the matrix from column `first` on. */
GG_ALWAYS void GG_NAME(gg_dot_tiles)(const int columns, const GG_NAME(gg_lines_by_matrix) * m,
                                     int64_t segments, int64_t first) {
    for (int64_t start = 0; start < m->places; start += GG_DOT_PLACES) {
        GG_NAME(gg_vector) sum[GG_DOT_PLACES][GG_DOT_COLUMNS];
        const gg_real *line[GG_DOT_PLACES];
        const gg_real *matrix = m->matrix + first * m->rows + m->first_row;
        int64_t last = m->places - 1;
        GG_UNROLL for (int p = 0; p < GG_DOT_PLACES; p++) {
            line[p] = m->from + m->from_at[gg_min(start + p, last)];
            GG_UNROLL for (int c = 0; c < columns; c++) sum[p][c] = (GG_NAME(gg_vector)){0};
        }
        for (int64_t s = 0; s < segments; s++) {
            int64_t at = m->segments[s].offset, end = at + m->segments[s].count;
            for (; at < end; at += GG_REAL_LANES, matrix += GG_REAL_LANES) {
                GG_NAME(gg_vector) row[GG_DOT_COLUMNS];
                GG_UNROLL for (int c = 0; c < columns; c++)
                    row[c] = *(const GG_NAME(gg_vector) *)(matrix + c * m->rows);
                GG_UNROLL for (int p = 0; p < GG_DOT_PLACES; p++) {
                    GG_NAME(gg_vector) x = *(const GG_NAME(gg_vector) *)(line[p] + at);
                    GG_UNROLL for (int c = 0; c < columns; c++) GG_ADD_PRODUCT(sum[p][c], x, row[c]);
                }
            }
        }
        GG_NAME(gg_conv_end) end;
        for (int c = 0; m->end && c < columns; c++)
            GG_NAME(gg_set_end)(&end, m->end, c, first + c);
        GG_UNROLL for (int p = 0; p < GG_DOT_PLACES; p++) {
            gg_real *to = m->to + m->to_at[gg_min(start + p, last)] + first;
            GG_UNROLL for (int c = 0; c < columns; c++) {
                gg_real whole = GG_NAME(gg_dot_sum)(sum[p][c]);
                if (m->end) {
                    const gg_real *addend = m->end->addend;
                    whole = (whole - end.mean[c]) * end.factor[c] + end.bias[c];
                    if (addend) whole += addend[to - m->to + c];
                    whole = GG_NAME(gg_cut)(whole, m->end->cut);
                }
                to[c] = whole;
            }
        }
    }
}

/* Separate functions, so that each has all registers. */
#define GG_DOT_TILES(columns)                                                                      \
    static __attribute__((noinline)) void GG_NAME(gg_dot_tiles_##columns)(                         \
        const GG_NAME(gg_lines_by_matrix) * m, int64_t segments, int64_t first) {                  \
        GG_NAME(gg_dot_tiles)(columns, m, segments, first);                                        \
    }
GG_DOT_TILES(1)
GG_DOT_TILES(2)

static void GG_NAME(gg_dots)(const GG_NAME(gg_lines_by_matrix) * m) {
    GG_NAME(gg_conv_piece) all = {.high = m->depth, .end = m->stripe_count};
    gg_box whole = {0, 0, m->stripe_count, 0, 0};
    if (m->stripe_count) whole.last_x = m->depth / (m->stripe_count * m->cell_rows);
    int64_t segments = GG_NAME(gg_conv_find_segments)(m, &all, &whole), first = 0;
    for (; first + 2 <= m->outputs; first += 2) GG_NAME(gg_dot_tiles_2)(m, segments, first);
    if (first < m->outputs) GG_NAME(gg_dot_tiles_1)(m, segments, first);
}
