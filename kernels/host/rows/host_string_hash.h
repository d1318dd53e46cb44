/* Hashes of strings, in buckets: MurmurHash64A, FarmHash's Fingerprint64 and SipHash-2-4, as in
   gpugraph/ops/strings/hash_algorithms.py.

   Parameters: the number of strings, their bytes, the number of buckets (0: return the hash
   itself), two words of a key. Arrays: the strings' bytes, one after the other, and one more; the
   end of each (int64); the buckets (int64). Bytes are read as on little-endian processors. */

#include "host_rows.h"

#define GG_K0 0xC3A5C85C97CB3127u
#define GG_K1 0xB492B66FBE98F273u
#define GG_K2 0x9AE16A3B2F90404Fu

typedef const uint8_t *gg_text;

static inline uint64_t gg_word(gg_text at) {
    uint64_t word;
    memcpy(&word, at, 8);
    return word;
}

static inline uint64_t gg_half_word(gg_text at) {
    uint32_t word;
    memcpy(&word, at, 4);
    return word;
}

static inline uint64_t gg_right(uint64_t x, int by) { return x >> by | x << (64 - by); }
static inline uint64_t gg_left(uint64_t x, int by) { return x << by | x >> (64 - by); }
static inline uint64_t gg_mixed(uint64_t x) { return x ^ x >> 47; }

/* The last bytes, fewer than 8, as a word. */
static inline uint64_t gg_rest(gg_text at, int64_t count) {
    uint64_t word = 0;
    for (int64_t i = 0; i < count; i++) word |= (uint64_t)at[i] << (8 * i);
    return word;
}

static uint64_t gg_murmur(gg_text text, int64_t size, const int64_t *key) {
    const uint64_t factor = 0xC6A4A7935BD1E995u;
    uint64_t state = 0xDECAFCAFFEu ^ (uint64_t)size * factor;
    (void)key;
    for (; size >= 8; text += 8, size -= 8)
        state = (state ^ gg_mixed(gg_word(text) * factor) * factor) * factor;
    if (size) state = (state ^ gg_rest(text, size)) * factor;
    return gg_mixed(gg_mixed(state) * factor);
}

/* -- FarmHash */

static inline uint64_t gg_pair(uint64_t one, uint64_t other, uint64_t factor) {
    const uint64_t first = gg_mixed((one ^ other) * factor);
    return gg_mixed((other ^ first) * factor) * factor;
}

static uint64_t gg_farm_up_to_16(gg_text text, uint64_t size) {
    const uint64_t factor = GG_K2 + size * 2;
    if (size >= 8) {
        const uint64_t a = gg_word(text) + GG_K2, b = gg_word(text + size - 8);
        return gg_pair(gg_right(b, 37) * factor + a, (gg_right(a, 25) + b) * factor, factor);
    }
    if (size >= 4)
        return gg_pair(size + (gg_half_word(text) << 3), gg_half_word(text + size - 4), factor);
    if (!size) return GG_K2;
    const uint64_t low = text[0] + ((uint64_t)text[size >> 1] << 8);
    const uint64_t high = size + ((uint64_t)text[size - 1] << 2);
    return gg_mixed(low * GG_K2 ^ high * GG_K0) * GG_K2;
}

static uint64_t gg_farm_up_to_64(gg_text text, uint64_t size) {
    const uint64_t factor = GG_K2 + size * 2;
    const uint64_t a = gg_word(text) * (size > 32 ? GG_K2 : GG_K1), b = gg_word(text + 8);
    const uint64_t c = gg_word(text + size - 8) * factor, d = gg_word(text + size - 16) * GG_K2;
    const uint64_t y = gg_right(a + b, 43) + gg_right(c, 30) + d;
    const uint64_t other = a + gg_right(b + GG_K2, 18) + c, z = gg_pair(y, other, factor);
    if (size <= 32) return z;
    const uint64_t e = gg_word(text + 16) * factor, f = gg_word(text + 24);
    const uint64_t g = (y + gg_word(text + size - 32)) * factor;
    const uint64_t h = (z + gg_word(text + size - 24)) * factor;
    return gg_pair(gg_right(e + f, 43) + gg_right(g, 30) + h, e + gg_right(f + a, 18) + g, factor);
}

typedef struct {
    uint64_t x, y, z, v[2], w[2];
} gg_farm_state;

static inline void gg_weak(uint64_t out[2], gg_text text, uint64_t a, uint64_t b) {
    a += gg_word(text);
    const uint64_t z = gg_word(text + 24), last = a + gg_word(text + 8) + gg_word(text + 16);
    b = gg_right(b + a + z, 21);
    out[0] = last + z, out[1] = b + gg_right(last, 44) + a;
}

/* A block of 64 bytes; times: 9 for the last one. */
static inline void gg_farm_block(gg_farm_state *s, gg_text text, uint64_t factor, uint64_t times) {
    uint64_t x = gg_right(s->x + s->y + s->v[0] + gg_word(text + 8), 37) * factor;
    uint64_t y = gg_right(s->y + s->v[1] + gg_word(text + 48), 42) * factor;
    x ^= s->w[1] * times;
    y += s->v[0] * times + gg_word(text + 40);
    const uint64_t z = gg_right(s->z + s->w[0], 33) * factor;
    const uint64_t v1 = s->v[1] * factor, w0 = s->w[0], w1 = s->w[1];
    gg_weak(s->v, text, v1, x + w0);
    gg_weak(s->w, text + 32, z + w1, y + gg_word(text + 16));
    s->x = z, s->y = y, s->z = x;
}

static uint64_t gg_farm(gg_text text, int64_t size, const int64_t *key) {
    (void)key;
    if (size <= 16) return gg_farm_up_to_16(text, (uint64_t)size);
    if (size <= 64) return gg_farm_up_to_64(text, (uint64_t)size);
    const uint64_t seed = 81, y = seed * GG_K1 + 113;
    gg_farm_state s = {seed * GG_K2 + gg_word(text), y, gg_mixed(y * GG_K2 + 113) * GG_K2,
                       {0, 0}, {0, 0}};
    for (int64_t at = 0; at < (size - 1) / 64 * 64; at += 64)
        gg_farm_block(&s, text + at, GG_K1, 1);
    const uint64_t factor = GG_K1 + ((s.z & 0xFF) << 1);
    s.w[0] += (uint64_t)(size - 1) & 63;
    s.v[0] += s.w[0];
    s.w[0] += s.v[0];
    gg_farm_block(&s, text + size - 64, factor, 9);
    const uint64_t one = gg_pair(s.v[0], s.w[0], factor) + gg_mixed(s.y) * GG_K0 + s.z;
    return gg_pair(one, gg_pair(s.v[1], s.w[1], factor) + s.x, factor);
}

/* -- SipHash-2-4 */

static inline void gg_sip_round(uint64_t s[4]) {
    s[0] += s[1], s[1] = gg_left(s[1], 13) ^ s[0], s[0] = gg_left(s[0], 32);
    s[2] += s[3], s[3] = gg_left(s[3], 16) ^ s[2];
    s[0] += s[3], s[3] = gg_left(s[3], 21) ^ s[0];
    s[2] += s[1], s[1] = gg_left(s[1], 17) ^ s[2], s[2] = gg_left(s[2], 32);
}

static inline void gg_sip_word(uint64_t s[4], uint64_t word) {
    s[3] ^= word;
    gg_sip_round(s), gg_sip_round(s);
    s[0] ^= word;
}

static uint64_t gg_sip(gg_text text, int64_t size, const int64_t *key) {
    const uint64_t k0 = (uint64_t)key[0], k1 = (uint64_t)key[1];
    uint64_t s[4] = {k0 ^ 0x736F6D6570736575u, k1 ^ 0x646F72616E646F6Du, k0 ^ 0x6C7967656E657261u,
                     k1 ^ 0x7465646279746573u};
    const int64_t whole = size / 8 * 8;
    for (int64_t at = 0; at < whole; at += 8) gg_sip_word(s, gg_word(text + at));
    gg_sip_word(s, gg_rest(text + whole, size - whole) | (uint64_t)(size & 0xFF) << 56);
    s[2] ^= 0xFF;
    for (int each = 0; each < 4; each++) gg_sip_round(s);
    return s[0] ^ s[1] ^ s[2] ^ s[3];
}

static void gg_hash_plan(gg_source *source) {
    const int64_t count = source->parameters[0], bytes = source->parameters[1];
    source->count[0] = bytes + 1;
    source->count[1] = source->count[2] = count;
    gg_set_work(source, 10.0 * count + bytes);
    source->threads = 1;
}

typedef uint64_t (*gg_hash)(gg_text text, int64_t size, const int64_t *key);

GG_ALWAYS int gg_put_in_buckets(gg_source *source, gg_hash hash) {
    const int64_t *numbers = source->parameters, *ends = source->at[1];
    const uint64_t buckets = (uint64_t)numbers[2];
    uint64_t *out = source->at[2];
    for (int64_t i = 0, start = 0; i < numbers[0]; start = ends[i++]) {
        const uint64_t code = hash((gg_text)source->at[0] + start, ends[i] - start, numbers + 3);
        out[i] = buckets ? code % buckets : code;
    }
    return GG_DONE;
}

void GG_NAME(gg_murmur_hash_plan)(gg_source *source) { gg_hash_plan(source); }
void GG_NAME(gg_farm_hash_plan)(gg_source *source) { gg_hash_plan(source); }
void GG_NAME(gg_sip_hash_plan)(gg_source *source) { gg_hash_plan(source); }
int GG_NAME(gg_murmur_hash)(void *block) { return gg_put_in_buckets(block, gg_murmur); }
int GG_NAME(gg_farm_hash)(void *block) { return gg_put_in_buckets(block, gg_farm); }
int GG_NAME(gg_sip_hash)(void *block) { return gg_put_in_buckets(block, gg_sip); }
