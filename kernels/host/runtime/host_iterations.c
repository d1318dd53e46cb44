/* Loops: all instructions of an iteration, in order, by one call
   (gpugraph/devices/native/iterations.py).

   Each instruction calls a kernel, sets a bool, or jumps if one is true or false. Instructions
   without native code are left to Python, which does them and calls again; so are a kernel that
   refuses its input, and an access to a container beyond the common case. */

#include <string.h>

enum {
    GG_CALL = 0, GG_PYTHON = 1, GG_IF = 2, GG_UNLESS = 3, GG_JUMP = 4, GG_AGAIN = 5, GG_SET = 6,
    GG_CLEAR = 7
};

typedef struct {
    int64_t kind;
    void *operand; /* the block of a kernel, or a bool */
    int64_t target;
} gg_instruction;

typedef struct {
    gg_entry entry;
    const gg_instruction *instructions;
    int64_t next;           /* the first instruction, and the last one at the end */
    int64_t slice;          /* nanoseconds after which it returns to Python */
    volatile int64_t *stop; /* it returns if this is not 0 */
} gg_iterations;

GG_BRIEF

int gg_iterate(void *at) {
    gg_iterations *p = at;
    int64_t began = gg_now(), looked = began, turns = 0, pause = 1;
    const gg_instruction *now = p->instructions + p->next;
    for (;;) {
        switch (now->kind) {
        case GG_CALL:
            if ((*(gg_entry *)now->operand)(now->operand)) goto failed;
            now++;
            break;
        case GG_IF:
            now = *(const char *)now->operand ? p->instructions + now->target : now + 1;
            break;
        case GG_UNLESS:
            now = *(const char *)now->operand ? now + 1 : p->instructions + now->target;
            break;
        case GG_JUMP:
            now = p->instructions + now->target;
            break;
        case GG_AGAIN: { /* an iteration ends */
            now = p->instructions + now->target;
            if (*p->stop) {
                p->next = now - p->instructions;
                return GG_STOPPED;
            }
            if (++turns < pause) break;
            int64_t time = gg_now();
            pause = time - looked > 10000 ? 1 : gg_min(2 * pause, 1024);
            looked = time;
            turns = 0;
            if (time - began > p->slice) {
                p->next = now - p->instructions;
                return GG_MORE;
            }
            break;
        }
        case GG_SET:
            *(char *)now++->operand = 1;
            break;
        case GG_CLEAR:
            *(char *)now++->operand = 0;
            break;
        case GG_PYTHON:
            goto failed;
        default:
            return GG_DONE;
        }
    }
failed:
    p->next = now - p->instructions;
    return GG_FAILED;
}

/* -- containers: a push, a pop, a read or a write of one element

   `record` is that of the object behind the handle. Everything beyond the common case fails, and
   Python does it: another object, another kind of element, memory that is full or to be freed,
   bad indices. */

typedef struct {
    gg_entry entry;
    void *const *handle;
    const void *object; /* the owner of the record; NULL until Python sets it */
    int64_t *record;
    char *value;
    char *copy;           /* a second target of a written value; may be NULL */
    const int32_t *index; /* of arrays */
    int64_t kind, bytes, copied;
} gg_access;

enum { GG_ROWS = 0, GG_KIND = 1, GG_USED = 2, GG_ROOM = 3, GG_STAYS = 4, GG_PEAK = 5 }; /* of a stack */
enum { GG_SIZE = 2, GG_STATES = 3, GG_AFTER = 4, GG_CLOSED = 5, GG_HELD = 1 }; /* of an array */

static inline int gg_is_known(const gg_access *p) {
    return p->object && *p->handle == p->object && p->record[GG_KIND] == p->kind;
}

static inline char *gg_row(const gg_access *p, int64_t index) {
    return (char *)(intptr_t)p->record[GG_ROWS] + index * p->bytes;
}

int gg_push(void *at) {
    gg_access *p = at;
    if (!gg_is_known(p) || p->record[GG_USED] == p->record[GG_ROOM]) return GG_FAILED;
    memcpy(gg_row(p, p->record[GG_USED]++), p->value, p->bytes);
    p->record[GG_PEAK] = gg_most(p->record[GG_PEAK], p->record[GG_USED]);
    if (p->copy) memcpy(p->copy, p->value, p->bytes);
    return GG_DONE;
}

int gg_pop(void *at) {
    gg_access *p = at;
    /* the last one frees memory, unless it stays */
    if (!gg_is_known(p) || p->record[GG_USED] < 2 - p->record[GG_STAYS]) return GG_FAILED;
    memcpy(p->value, gg_row(p, --p->record[GG_USED]), p->bytes);
    return GG_DONE;
}

int gg_put(void *at) {
    gg_access *p = at;
    if (!gg_is_known(p)) return GG_FAILED;
    int64_t index = *p->index;
    char *states = (char *)(intptr_t)p->record[GG_STATES];
    if (index < 0 || index >= p->record[GG_SIZE] || states[index]) return GG_FAILED;
    memcpy(gg_row(p, index), p->value, p->bytes);
    states[index] = GG_HELD;
    if (p->copy) memset(p->copy, 0, p->copied);
    return GG_DONE;
}

int gg_take(void *at) {
    gg_access *p = at;
    if (!gg_is_known(p)) return GG_FAILED;
    int64_t index = *p->index;
    char *states = (char *)(intptr_t)p->record[GG_STATES];
    /* after a read of the first or last element an array may free its memory */
    if (index < 1 || index >= p->record[GG_SIZE] - 1 || !(states[index] & GG_HELD))
        return GG_FAILED;
    memcpy(p->value, gg_row(p, index), p->bytes);
    states[index] = (char)p->record[GG_AFTER];
    return GG_DONE;
}

/* Reads the handle of an array's gradients, `kind`, which is at `value` since it was found. */
int gg_find(void *at) {
    gg_access *p = at;
    if (!p->object || *p->handle != p->object || p->record[GG_CLOSED]) return GG_FAILED;
    if (*(const int64_t *)p->value != p->kind) return GG_FAILED;
    if (p->copy) memset(p->copy, 0, p->copied);
    return GG_DONE;
}

GG_BRIEF_END
