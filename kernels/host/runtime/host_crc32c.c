/* CRC-32C by the processor's instruction, for files with such checksums.

   Without the instruction there is no gg_crc32c: NumPy is as fast as tables are.

   The instruction takes three cycles and a new one begins in each, so three parts of a block are
   computed at the same time. A part is moved past the next one by a table: the state after
   that many zero bytes. */

#if defined(__SSE4_2__) && defined(__x86_64__)
#define GG_CRC_WORD(crc, word) ((uint32_t)__builtin_ia32_crc32di((crc), (word)))
#define GG_CRC_BYTE(crc, byte) __builtin_ia32_crc32qi((crc), (byte))
#elif defined(__ARM_FEATURE_CRC32) && defined(__aarch64__)
#include <arm_acle.h>
#define GG_CRC_WORD(crc, word) __crc32cd((crc), (word))
#define GG_CRC_BYTE(crc, byte) __crc32cb((crc), (byte))
#endif

#ifdef GG_CRC_WORD

#define GG_CRC_PART 1024 /* bytes */

static uint32_t gg_crc_past[4][256]; /* a byte of a state, after GG_CRC_PART zero bytes */

static uint32_t gg_crc_skip(uint32_t state) {
    return gg_crc_past[0][state & 255] ^ gg_crc_past[1][state >> 8 & 255] ^
           gg_crc_past[2][state >> 16 & 255] ^ gg_crc_past[3][state >> 24];
}

static __attribute__((constructor)) void gg_crc_begin(void) {
    for (int place = 0; place < 4; place++)
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t state = byte << 8 * place;
            for (int i = 0; i < GG_CRC_PART / 8; i++) state = GG_CRC_WORD(state, (uint64_t)0);
            gg_crc_past[place][byte] = state;
        }
}

static uint64_t gg_crc_load(const uint8_t *bytes) {
    uint64_t word;
    __builtin_memcpy(&word, bytes, 8);
    return word;
}

/* The checksum of bytes that follow those with the checksum `crc`. */
uint32_t gg_crc32c(const uint8_t *bytes, int64_t size, uint32_t crc) {
    uint32_t first = ~crc;
    for (; size >= 3 * GG_CRC_PART; bytes += 3 * GG_CRC_PART, size -= 3 * GG_CRC_PART) {
        uint32_t second = 0, third = 0;
        for (int64_t i = 0; i < GG_CRC_PART; i += 8) {
            first = GG_CRC_WORD(first, gg_crc_load(bytes + i));
            second = GG_CRC_WORD(second, gg_crc_load(bytes + GG_CRC_PART + i));
            third = GG_CRC_WORD(third, gg_crc_load(bytes + 2 * GG_CRC_PART + i));
        }
        first = gg_crc_skip(gg_crc_skip(first) ^ second) ^ third;
    }
    for (; size >= 8; bytes += 8, size -= 8) first = GG_CRC_WORD(first, gg_crc_load(bytes));
    for (; size; bytes++, size--) first = GG_CRC_BYTE(first, *bytes);
    return ~first;
}

static uint32_t gg_masked_crc(const uint8_t *bytes, int64_t size) {
    const uint32_t crc = gg_crc32c(bytes, size, 0);
    return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

/* The number of whole and undamaged TFRecords at the beginning of some bytes, up to `most` of them;
   the place behind each is stored in `ends`. */
int64_t gg_record_ends(const uint8_t *bytes, int64_t size, int64_t *ends, int64_t most) {
    int64_t at = 0, count = 0;
    while (count < most && size - at >= 16) {
        const uint64_t length = gg_crc_load(bytes + at);
        uint32_t head, foot;
        if (length > (uint64_t)(size - at - 16)) break;
        __builtin_memcpy(&head, bytes + at + 8, 4);
        __builtin_memcpy(&foot, bytes + at + 12 + length, 4);
        if (gg_masked_crc(bytes + at, 8) != head) break;
        if (gg_masked_crc(bytes + at + 12, (int64_t)length) != foot) break;
        ends[count++] = at += 16 + (int64_t)length;
    }
    return count;
}

#endif
