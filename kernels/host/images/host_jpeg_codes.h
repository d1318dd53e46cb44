/* Huffman codes of JPEG files: a buffer of bits, code tables, the coefficients of a block. */

#include <stdlib.h>

#define GG_JPEG_LOOK 10 /* the bits by which the tables are indexed */

typedef struct {
    const uint8_t *at, *end;
    uint64_t bits;  /* the next bits, from the highest one */
    int count;      /* of valid bits */
    int padded;     /* of these, zeros after the end of the data */
} gg_jpeg_bits;

typedef struct {
    uint8_t sizes[1 << GG_JPEG_LOOK];   /* of the code at the start of an index; 0: a longer code */
    uint8_t symbols[1 << GG_JPEG_LOOK];
    int16_t ready[1 << GG_JPEG_LOOK];   /* value << 8 | run << 4 | bits, where all bits are in it */
    int64_t above[18];                  /* above the largest code of a size, in 16 bits */
    int first[17];                      /* symbols[first[size] + code] */
    uint8_t all[256];
    int is_set;
} gg_jpeg_codes;

static const uint8_t gg_jpeg_order[64] = {
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/* The number that `size` bits represent. */
GG_ALWAYS int gg_jpeg_number(uint64_t bits, int size) {
    const int value = (int)(bits >> (64 - size));
    return value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
}

/* Sets the index of the codes whose bits, and those of the number that follows, fit into it. */
static void gg_jpeg_set_ready(gg_jpeg_codes *codes) {
    for (int i = 0; i < 1 << GG_JPEG_LOOK; i++) {
        const int run = codes->symbols[i] >> 4, size = codes->symbols[i] & 15;
        const int length = codes->sizes[i] + size;
        codes->ready[i] = 0;
        if (!codes->sizes[i] || !size || length > GG_JPEG_LOOK) continue;
        const int value = gg_jpeg_number((uint64_t)i << (64 - GG_JPEG_LOOK + codes->sizes[i]), size);
        if (value < -128 || value > 127) continue;
        codes->ready[i] = (int16_t)(value * 256 + run * 16 + length);
    }
}

/* Sets the tables from a segment DHT: 16 numbers of codes by size, then symbols, which may not be
   larger than `most`. Returns whether the codes are valid. */
static int gg_jpeg_set_codes(gg_jpeg_codes *codes, const uint8_t *counts, const uint8_t *symbols,
                             int most) {
    int code = 0, number = 0;
    memset(codes, 0, sizeof *codes);
    for (int size = 1; size <= 16; size++) {
        codes->first[size] = number - code;
        for (int each = 0; each < counts[size - 1]; each++, code++, number++) {
            if (number > 255 || code >= 1 << size || symbols[number] > most) return 0;
            codes->all[number] = symbols[number];
            if (size > GG_JPEG_LOOK) continue;
            const int shift = GG_JPEG_LOOK - size;
            memset(codes->sizes + (code << shift), size, (size_t)1 << shift);
            memset(codes->symbols + (code << shift), symbols[number], (size_t)1 << shift);
        }
        codes->above[size] = (int64_t)code << (16 - size);
        code <<= 1;
    }
    codes->above[17] = INT64_MAX;
    codes->is_set = 1;
    gg_jpeg_set_ready(codes);
    return 1;
}

static void gg_jpeg_fill_slowly(gg_jpeg_bits *b) {
    while (b->count <= 56) {
        uint64_t byte = 0;
        if (b->at >= b->end || (b->at[0] == 0xFF && (b->at + 1 >= b->end || b->at[1]))) {
            b->padded += 8;
        } else {
            byte = b->at[0];
            b->at += byte == 0xFF ? 2 : 1;
        }
        if (b->count < 56) b->bits &= ~(~(uint64_t)0 >> b->count);
        b->bits |= byte << (56 - b->count);
        b->count += 8;
    }
}

/* Fills the buffer to at least 56 bits. */
GG_ALWAYS void gg_jpeg_fill(gg_jpeg_bits *b) {
    if (b->end - b->at >= 8) {
        uint64_t word;
        memcpy(&word, b->at, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        const uint64_t ones = 0x0101010101010101u;
        if (!((~word - ones) & word & (ones << 7))) { /* no byte is 255 */
            b->bits |= word >> b->count;
            b->at += (63 - b->count) >> 3;
            b->count |= 56;
            return;
        }
    }
    gg_jpeg_fill_slowly(b);
}

GG_ALWAYS void gg_jpeg_drop(gg_jpeg_bits *b, int count) {
    b->bits <<= count;
    b->count -= count;
}

/* Reads a symbol. Returns -1 if no code fits. The buffer must have 16 bits. */
GG_ALWAYS int gg_jpeg_symbol(gg_jpeg_bits *b, const gg_jpeg_codes *codes) {
    const int index = (int)(b->bits >> (64 - GG_JPEG_LOOK));
    int size = codes->sizes[index];
    if (size) {
        gg_jpeg_drop(b, size);
        return codes->symbols[index];
    }
    const int64_t next = (int64_t)(b->bits >> 48);
    for (size = GG_JPEG_LOOK + 1; next >= codes->above[size]; size++);
    if (size > 16) return -1;
    const int number = codes->first[size] + (int)(next >> (16 - size));
    gg_jpeg_drop(b, size);
    return codes->all[number & 255];
}

#define GG_JPEG_MOST_SUM 5900

/* Reads the coefficients of a block, times their steps. `block` must be zero. Returns the place of
   the last one. Returns -1 if the data is damaged, or if the transform might exceed 16 bits, where
   implementations of libjpeg differ. */
static int gg_jpeg_block(gg_jpeg_bits *b, const gg_jpeg_codes *dc, const gg_jpeg_codes *ac,
                         int *before, const uint16_t *steps, int16_t *block) {
    gg_jpeg_fill(b);
    const int size = gg_jpeg_symbol(b, dc);
    if (size < 0 || size > 11) return -1;
    if (size) {
        *before += gg_jpeg_number(b->bits, size);
        gg_jpeg_drop(b, size);
    }
    if (abs(*before) > INT16_MAX) return -1;
    block[0] = (int16_t)(*before * steps[0]);
    int last = 0, sum = abs(*before * steps[0]);
    for (int k = 1; k < 64; k++) {
        if (b->count < 32) gg_jpeg_fill(b);
        const int ready = ac->ready[b->bits >> (64 - GG_JPEG_LOOK)];
        int value = ready >> 8, run = ready >> 4 & 15;
        if (ready) {
            gg_jpeg_drop(b, ready & 15);
        } else {
            const int symbol = gg_jpeg_symbol(b, ac), bits = symbol & 15;
            if (symbol < 0 || bits > 10) return -1;
            run = symbol >> 4;
            if (!bits && run != 15) break;
            value = 0;
            if (bits) {
                value = gg_jpeg_number(b->bits, bits);
                gg_jpeg_drop(b, bits);
            }
        }
        k += run;
        if (k > 63) return -1;
        const int coefficient = value * steps[k];
        block[gg_jpeg_order[k]] = (int16_t)coefficient;
        sum += abs(coefficient);
        if (value) last = k;
    }
    return b->count < b->padded || sum > GG_JPEG_MOST_SUM ? -1 : last;
}
