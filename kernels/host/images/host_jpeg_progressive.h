/* The scans of progressive JPEG files, each of which adds bits to coefficients of all blocks. */

/* A scan: its components, the range of coefficients, and the places of the bits before and after. */
typedef struct {
    int count, parts[3], first, last, high, low;
    int run; /* the blocks without further coefficients that follow */
} gg_jpeg_pass;

GG_ALWAYS int gg_jpeg_take_bits(gg_jpeg_bits *b, int count) {
    if (!count) return 0;
    if (b->count < count) gg_jpeg_fill(b);
    const int value = (int)(b->bits >> (64 - count));
    gg_jpeg_drop(b, count);
    return value;
}

/* Reads a symbol, or returns -1. */
GG_ALWAYS int gg_jpeg_symbol(gg_jpeg_bits *b, const gg_jpeg_codes *codes) {
    gg_jpeg_fill(b);
    const uint32_t entry = gg_jpeg_code(b->bits, codes);
    gg_jpeg_drop(b, (int)(entry & 255));
    return entry ? (int)(entry >> 16 & 255) : -1;
}

GG_ALWAYS int gg_jpeg_extended(gg_jpeg_bits *b, int size) {
    if (!size) return 0;
    const int value = gg_jpeg_take_bits(b, size);
    return value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
}

static int gg_jpeg_dc_pass(gg_jpeg_bits *b, const gg_jpeg_codes *codes, const gg_jpeg_pass *pass,
                           int *before, int16_t *block) {
    if (pass->high) {
        if (gg_jpeg_take_bits(b, 1)) block[0] |= (int16_t)(1 << pass->low);
        return 1;
    }
    const int size = gg_jpeg_symbol(b, codes);
    if (size < 0 || size > 11) return 0;
    *before += gg_jpeg_extended(b, size);
    if (abs(*before) > INT16_MAX >> pass->low) return 0;
    block[0] = (int16_t)(*before * (1 << pass->low));
    return 1;
}

/* Sets the number of blocks that a symbol ends, the current one included. */
GG_ALWAYS void gg_jpeg_set_run(gg_jpeg_bits *b, gg_jpeg_pass *pass, int bits) {
    pass->run = (1 << bits) + gg_jpeg_take_bits(b, bits);
}

static int gg_jpeg_first_pass(gg_jpeg_bits *b, const gg_jpeg_codes *codes, gg_jpeg_pass *pass,
                              int16_t *block) {
    if (pass->run) return pass->run--, 1;
    for (int k = pass->first; k <= pass->last; k++) {
        const int symbol = gg_jpeg_symbol(b, codes), size = symbol & 15;
        if (symbol < 0 || size > 10) return 0;
        if (!size && symbol != 0xF0) {
            gg_jpeg_set_run(b, pass, symbol >> 4);
            pass->run--;
            return 1;
        }
        k += symbol >> 4;
        const int value = gg_jpeg_extended(b, size);
        if (k > pass->last) return !size;
        block[gg_jpeg_order[k]] = (int16_t)(value * (1 << pass->low));
    }
    return 1;
}

/* Adds a bit to a coefficient that is not 0. */
GG_ALWAYS void gg_jpeg_refine(gg_jpeg_bits *b, const gg_jpeg_pass *pass, int16_t *coefficient) {
    const int bit = 1 << pass->low;
    if (gg_jpeg_take_bits(b, 1) && !(*coefficient & bit))
        *coefficient = (int16_t)(*coefficient + (*coefficient < 0 ? -bit : bit));
}

static int gg_jpeg_later_pass(gg_jpeg_bits *b, const gg_jpeg_codes *codes, gg_jpeg_pass *pass,
                              int16_t *block) {
    int k = pass->first;
    for (; !pass->run && k <= pass->last; k++) {
        const int symbol = gg_jpeg_symbol(b, codes);
        int zeros = symbol >> 4, value = 0;
        if (symbol < 0 || (symbol & 15) > 1) return 0;
        if (symbol & 15)
            value = gg_jpeg_take_bits(b, 1) ? 1 << pass->low : -(1 << pass->low);
        else if (zeros != 15) {
            gg_jpeg_set_run(b, pass, zeros);
            break;
        }
        for (; k <= pass->last; k++) {
            int16_t *coefficient = &block[gg_jpeg_order[k]];
            if (*coefficient) gg_jpeg_refine(b, pass, coefficient);
            else if (--zeros < 0) break;
        }
        if (value && k > pass->last) return 0;
        if (value) block[gg_jpeg_order[k]] = (int16_t)value;
    }
    if (!pass->run) return 1;
    for (; k <= pass->last; k++) {
        int16_t *coefficient = &block[gg_jpeg_order[k]];
        if (*coefficient) gg_jpeg_refine(b, pass, coefficient);
    }
    pass->run--;
    return 1;
}

/* Reads the header of a scan. Returns whether it is valid. */
static int gg_jpeg_pass_of(gg_jpeg *j, const uint8_t *at, const uint8_t *end, gg_jpeg_pass *pass) {
    if (end - at < 1 || at[0] < 1 || at[0] > j->count || end - at != 4 + 2 * at[0]) return 0;
    *pass = (gg_jpeg_pass){at[0]};
    for (int i = 0; i < pass->count; i++) {
        int number = 0;
        while (number < j->count && j->parts[number].id != at[1 + 2 * i]) number++;
        if (number == j->count || (i && number <= pass->parts[i - 1])) return 0;
        pass->parts[i] = number;
        j->parts[number].dc = at[2 + 2 * i] >> 4, j->parts[number].ac = at[2 + 2 * i] & 15;
        if (j->parts[number].dc > 3 || j->parts[number].ac > 3) return 0;
        if (!j->has_steps[j->parts[number].steps]) return 0;
    }
    const uint8_t *rest = at + 1 + 2 * pass->count;
    pass->first = rest[0], pass->last = rest[1], pass->high = rest[2] >> 4, pass->low = rest[2] & 15;
    if (pass->first > pass->last || pass->last > 63 || pass->low > 13) return 0;
    if (!pass->first ? pass->last != 0 : pass->count != 1) return 0;
    return !pass->high || pass->high == pass->low + 1;
}

/* Checks that a scan continues where earlier ones ended, and that its codes are there. */
static int gg_jpeg_follows(gg_jpeg *j, const gg_jpeg_pass *pass) {
    for (int i = 0; i < pass->count; i++) {
        gg_jpeg_component *part = &j->parts[pass->parts[i]];
        for (int k = pass->first; k <= pass->last; k++) {
            if (part->places[k] != (pass->high ? pass->high : -1)) return 0;
            part->places[k] = (int8_t)pass->low;
        }
        if (pass->first && part->places[0] < 0) return 0;
        if (pass->first ? !j->codes[1][part->ac].is_set : !pass->high && !j->codes[0][part->dc].is_set)
            return 0;
    }
    return 1;
}

static int gg_jpeg_pass_block(gg_jpeg *j, gg_jpeg_bits *b, gg_jpeg_pass *pass,
                              gg_jpeg_component *part, int64_t y, int64_t x) {
    int16_t *block = part->coefficients + (y * (part->stride / 8) + x) * 64;
    if (b->at > b->end + 8) return 0;
    if (!pass->first)
        return gg_jpeg_dc_pass(b, &j->codes[0][part->dc], pass, &part->before, block);
    const gg_jpeg_codes *codes = &j->codes[1][part->ac];
    return pass->high ? gg_jpeg_later_pass(b, codes, pass, block)
                      : gg_jpeg_first_pass(b, codes, pass, block);
}

/* Reads the blocks of one MCU of several components. */
static int gg_jpeg_pass_mcu(gg_jpeg *j, gg_jpeg_bits *b, gg_jpeg_pass *pass, int64_t row,
                            int64_t column) {
    for (int i = 0; i < pass->count; i++) {
        gg_jpeg_component *part = &j->parts[pass->parts[i]];
        for (int each = 0; each < part->across * part->down; each++)
            if (!gg_jpeg_pass_block(j, b, pass, part, row * part->down + each / part->across,
                                    column * part->across + each % part->across))
                return 0;
    }
    return 1;
}

/* Reads the data of a scan. A scan of one component has no blocks outside of the picture. */
static int gg_jpeg_read_pass(gg_jpeg *j, gg_jpeg_pass *pass) {
    gg_jpeg_component *only = &j->parts[pass->parts[0]];
    const int is_single = pass->count == 1;
    const int64_t rows = is_single ? gg_ceil(only->height, 8) : j->rows;
    const int64_t columns = is_single ? gg_ceil(only->width, 8) : j->columns;
    gg_jpeg_bits b;
    int64_t number = 0, left = 1;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < columns; column++) {
            if (!--left) {
                if (!gg_jpeg_restart(j, &b, number++) || pass->run) return 0;
                left = j->interval ? j->interval : INT64_MAX;
            }
            if (is_single ? !gg_jpeg_pass_block(j, &b, pass, only, row, column)
                          : !gg_jpeg_pass_mcu(j, &b, pass, row, column))
                return 0;
        }
    const int64_t rest = gg_jpeg_rest(&b);
    return rest >= 0 && rest < 8 && !pass->run;
}

/* Reads all scans from the segments behind the start of the file. Returns whether they are undamaged
   and give all bits of the coefficients; libjpeg smooths other pictures. */
static int gg_jpeg_read_scans(gg_jpeg *j, const uint8_t *at) {
    const uint8_t *end = j->end;
    memset(j->has_steps, 0, sizeof j->has_steps);
    for (int i = 0; i < 8; i++) j->codes[i / 4][i % 4].is_set = 0;
    j->interval = 0;
    for (int i = 0; i < j->count; i++) memset(j->parts[i].places, -1, sizeof j->parts[i].places);
    while (end - at >= 2 && at[0] == 0xFF && at[1] != 0xD9) {
        if (end - at < 4) return 0;
        const int marker = at[1], size = gg_jpeg_two(at + 2);
        if (size < 2 || size > end - at - 2) return 0;
        const uint8_t *first = at + 4, *last = at + 2 + size;
        at = last;
        if (marker == 0xDA) {
            gg_jpeg_pass pass;
            if (!gg_jpeg_pass_of(j, first, last, &pass) || !gg_jpeg_follows(j, &pass)) return 0;
            j->at = last;
            if (!gg_jpeg_read_pass(j, &pass)) return 0;
            at = j->at;
        } else if (marker != 0xC2 && !gg_jpeg_segment(j, marker, first, last)) {
            return 0;
        }
    }
    for (int i = 0; i < j->count; i++)
        for (int k = 0; k < 64; k++)
            if (j->parts[i].places[k]) return 0;
    return end - at >= 2 && at[0] == 0xFF;
}

/* Returns whether coefficients other than the first one are not 0. */
GG_ALWAYS int gg_jpeg_has_others(const int16_t *block) {
    int16_t any = 0;
    for (int i = 1; i < 64; i++) any |= block[i];
    return any != 0;
}

/* Decodes all scans into planes. Returns whether this is possible. */
static int gg_jpeg_progressive_planes(gg_jpeg *j, const uint8_t *at, int is_grey) {
    for (int i = 0; i < j->count; i++) {
        gg_jpeg_component *part = &j->parts[i];
        memset(part->coefficients, 0,
               (size_t)(part->stride * j->rows * 8 * part->down) * sizeof(int16_t));
    }
    if (!gg_jpeg_read_scans(j, at)) return 0;
    for (int i = 0; i < (is_grey ? 1 : j->count); i++) {
        gg_jpeg_component *part = &j->parts[i];
        gg_jpeg_start_queue(j, part);
        for (int64_t y = 0; y < j->rows * part->down; y++)
            for (int64_t x = 0; x < j->columns * part->across; x++) {
                if (!gg_jpeg_is_near(j, y / part->down, x / part->across)) continue;
                const int16_t *from = part->coefficients + (y * (part->stride / 8) + x) * 64;
                int16_t *block = part->queue.blocks + 8 * part->queue.count;
                for (int row = 0; row < 8; row++)
                    memcpy(block + row * 8 * GG_JPEG_BLOCKS, from + 8 * row, 16);
                if (!gg_jpeg_put_block(j, part, gg_jpeg_has_others(from),
                                       part->plane + 8 * (y * part->stride + x)))
                    return 0;
            }
        if (!gg_jpeg_flush(j, part)) return 0;
    }
    return 1;
}
