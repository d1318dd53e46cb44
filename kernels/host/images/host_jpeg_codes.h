/* Huffman codes of JPEG files: a buffer of bits, code tables, the coefficients of a block.

   The data of a scan is copied first, without the zeros that follow bytes of 255, so that the buffer
   is filled from any 8 bytes without a branch. GG_JPEG_PAD zeros follow the copy. */

#include <stdlib.h>

#define GG_JPEG_LOOK 10  /* the bits by which the tables are indexed */
#define GG_JPEG_PAD 512  /* more than the bytes of a block */

/* Blocks are transformed together. Their rows are stored alternately: the coefficients of row y of
   block b begin at (y * GG_JPEG_BLOCKS + b) * 8. */
#if defined(__AVX512BW__)
#define GG_JPEG_BLOCKS 4
#elif defined(__AVX2__)
#define GG_JPEG_BLOCKS 2
#else
#define GG_JPEG_BLOCKS 1
#endif

typedef struct {
    const uint8_t *at, *first, *end;
    uint64_t bits;  /* the next bits, from the highest one */
    int count;      /* of valid bits */
} gg_jpeg_bits;

/* An entry describes the code at the start of an index and the number that follows: the bits of both,
   those of the code, the distance to the coefficient, and the bits of the number, 8 bits each. It is
   0 for longer codes. */
typedef struct {
    uint32_t entries[1 << GG_JPEG_LOOK];
    int64_t above[18];                  /* above the largest code of a size, in 16 bits */
    int first[17];                      /* all[first[size] + code] */
    uint8_t all[256];
    int kind, is_set;
} gg_jpeg_codes;

/* The kinds of codes. For progressive files, an entry holds the symbol in place of the distance, and
   only the bits of the code. */
enum { GG_JPEG_AC, GG_JPEG_DC, GG_JPEG_PLAIN };

#define GG_JPEG_END 128 /* the distance that ends a block */

static const uint8_t gg_jpeg_order[64] = {
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/* The place of the coefficient at place n of its block. */
#define GG_JPEG_PLACE(n) ((n) / 8 * 8 * GG_JPEG_BLOCKS + (n) % 8)

/* Returns the entry of a code of `length` bits. It is 0 if the symbol is invalid. */
static uint32_t gg_jpeg_entry(int kind, int symbol, int length) {
    if (kind == GG_JPEG_PLAIN)
        return (uint32_t)length | (uint32_t)length << 8 | (uint32_t)symbol << 16;
    const int is_dc = kind == GG_JPEG_DC;
    const int size = symbol & 15;
    int distance = is_dc ? 1 : (symbol >> 4) + 1;
    if (size > (is_dc ? 11 : 10)) return 0;
    if (!is_dc && !size && symbol != 0xF0) distance = GG_JPEG_END;
    return (uint32_t)(length + size) | (uint32_t)length << 8 | (uint32_t)distance << 16 |
           (uint32_t)size << 24;
}

/* Sets the tables from a segment DHT: 16 numbers of codes by size, then symbols. Returns whether the
   codes are valid. */
static int gg_jpeg_set_codes(gg_jpeg_codes *codes, const uint8_t *counts, const uint8_t *symbols,
                             int kind) {
    int code = 0, number = 0;
    memset(codes, 0, sizeof *codes);
    codes->kind = kind;
    for (int size = 1; size <= 16; size++) {
        codes->first[size] = number - code;
        for (int each = 0; each < counts[size - 1]; each++, code++, number++) {
            if (number > 255 || code >= 1 << size) return 0;
            if (kind == GG_JPEG_DC && symbols[number] > 15) return 0;
            codes->all[number] = symbols[number];
            if (size > GG_JPEG_LOOK) continue;
            const int shift = GG_JPEG_LOOK - size;
            const uint32_t entry = gg_jpeg_entry(kind, symbols[number], size);
            for (int i = 0; i < 1 << shift; i++) codes->entries[(code << shift) + i] = entry;
        }
        codes->above[size] = (int64_t)code << (16 - size);
        code <<= 1;
    }
    codes->above[17] = INT64_MAX;
    codes->is_set = 1;
    return 1;
}

/* Copies the data up to the next marker to `to`, and returns the end of the copy. `at` becomes the
   address of the marker, or `end`. */
static uint8_t *gg_jpeg_copy_data(const uint8_t **at, const uint8_t *end, uint8_t *to) {
    for (const uint8_t *from = *at;;) {
        const uint8_t *next = memchr(from, 0xFF, (size_t)(end - from));
        const int is_data = next && end - next >= 2 && !next[1];
        const uint8_t *until = !next ? end : is_data ? next + 1 : next;
        memcpy(to, from, (size_t)(until - from));
        to += until - from;
        if (!is_data) {
            *at = until;
            memset(to, 0, GG_JPEG_PAD);
            return to;
        }
        from = next + 2;
    }
}

/* Fills the buffer to at least 56 bits. */
GG_ALWAYS void gg_jpeg_fill(gg_jpeg_bits *b) {
    uint64_t word;
    memcpy(&word, b->at, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    b->bits |= word >> b->count;
    b->at += (63 - b->count) >> 3;
    b->count |= 56;
}

GG_ALWAYS void gg_jpeg_drop(gg_jpeg_bits *b, int count) {
    b->bits <<= count;
    b->count -= count;
}

/* The number of bits behind the data that was read, negative if more was read. */
GG_ALWAYS int64_t gg_jpeg_rest(const gg_jpeg_bits *b) {
    return 8 * (int64_t)(b->end - b->at) + b->count;
}

/* Returns the entry of a code that is longer than an index. It is 0 if the data is damaged. */
static __attribute__((noinline)) uint32_t gg_jpeg_long_code(uint64_t bits,
                                                            const gg_jpeg_codes *codes) {
    const int64_t next = (int64_t)(bits >> 48);
    int size = GG_JPEG_LOOK + 1;
    if (next < codes->above[GG_JPEG_LOOK]) return 0; /* a shorter code of an invalid symbol */
    for (; next >= codes->above[size]; size++);
    if (size > 16) return 0;
    const int number = codes->first[size] + (int)(next >> (16 - size));
    return gg_jpeg_entry(codes->kind, codes->all[number & 255], size);
}

GG_ALWAYS uint32_t gg_jpeg_code(uint64_t bits, const gg_jpeg_codes *codes) {
    const uint32_t entry = codes->entries[bits >> (64 - GG_JPEG_LOOK)];
    return __builtin_expect(!entry, 0) ? gg_jpeg_long_code(bits, codes) : entry;
}

/* The number that follows a code. */
GG_ALWAYS int gg_jpeg_number(uint64_t bits, uint32_t entry) {
    const int size = (int)(entry >> 24);
    const uint64_t rest = bits << (entry >> 8 & 255);
    const int is_positive = (int)((int64_t)rest >> 63);
    return (int)(rest >> 1 >> (63 - size)) + (~is_positive & ((int)(~0u << size) + 1));
}

/* Reads the coefficients of a block, which must be zero. Returns the place of the last one, or -1 if
   the data is damaged. */
static int gg_jpeg_block(gg_jpeg_bits *of, const gg_jpeg_codes *dc, const gg_jpeg_codes *ac,
                         int *before, int16_t *block) {
    gg_jpeg_bits b = *of;
    gg_jpeg_fill(&b);
    uint32_t entry = gg_jpeg_code(b.bits, dc);
    if (!entry || b.at > b.end + 8) return -1;
    *before += gg_jpeg_number(b.bits, entry);
    if (abs(*before) > INT16_MAX) return -1;
    block[0] = (int16_t)*before;
    gg_jpeg_drop(&b, (int)(entry & 255));
    int k = 0, last = 0;
    while (k < 63) {
        gg_jpeg_fill(&b);
        for (int each = 0; each < 2; each++) { /* two codes and numbers have at most 52 bits */
            entry = gg_jpeg_code(b.bits, ac);
            k += (int)(entry >> 16 & 255);
            if (k > 63 || !entry) {
                if (k < GG_JPEG_END) return -1;
                gg_jpeg_drop(&b, (int)(entry & 255));
                break;
            }
            block[GG_JPEG_PLACE(gg_jpeg_order[k])] = (int16_t)gg_jpeg_number(b.bits, entry);
            gg_jpeg_drop(&b, (int)(entry & 255));
            last = k;
            if (k == 63) break;
        }
    }
    *of = b;
    return last;
}
