/* Updates of the rows of a matrix, several updates of one row in their order, which
   row_update_order.cu computes: the result is always bitwise the same.

       gg_runs, gg_join   updates of a row combined, then with the row, by COMBINE(a, b) and
                          FINISH(row, a), which are associative
       gg_each            FINISH(row, update) for each update, one after the other

   Blocks are columns x rows; if one number updates all rows, `step` is 0, else 1.

   TARGET: the type of the rows, by default that of the updates.

   variants: ELEMENT=float32,float16,float64,int8,int64
   variants: ELEMENT=float16,float32 TARGET=float32,bfloat16 */

#include "gpu_kernel.cuh"
#include "row_numbers.cuh"

#ifndef COMBINE
#define COMBINE(a, b) ((a) + (b))
#define FINISH(a, b) ((a) + (b))
#define REFUSES(a) false
#endif
#ifndef TARGET
#define TARGET ELEMENT
#define TARGET_LOAD ELEMENT_LOAD
#define TARGET_STORE ELEMENT_STORE
#endif

/* Pieces of `piece` updates each: updates of one row are combined. A row with all updates in one
   piece is finished; for other rows the first piece writes `tails`, further ones write `heads`. */
extern "C" __global__ void gg_runs(TARGET *target, const ELEMENT *changes, const uint32_t *keys, const int32_t *order, ELEMENT_VALUE *heads, ELEMENT_VALUE *tails, long long count, long long pieces, long long piece, long long width, long long rows, long long step) {
    GG_ROWS(at, pieces) {
        const long long begin = at * piece, end = begin + piece < count ? begin + piece : count;
        GG_COLUMNS(column, width) {
            uint32_t row = keys[begin];
            bool inside = begin > 0 && keys[begin - 1] == row;
            const ELEMENT *mine = changes + column * step;
            ELEMENT_VALUE sum = ELEMENT_LOAD(mine[order[begin] * step * width]);
            for (long long next = begin + 1;; next++) {
                const uint32_t other = next < count ? keys[next] : 0xffffffffu;
                if (next < end && other == row) {
                    sum = COMBINE(sum, ELEMENT_LOAD(mine[order[next] * step * width]));
                    continue;
                }
                if (inside) {
                    heads[at * width + column] = sum;
                } else if (other == row) {
                    tails[at * width + column] = sum;
                } else if (row < rows) {
                    TARGET *place = target + row * width + column;
                    *place = TARGET_STORE(FINISH(TARGET_LOAD(*place), sum));
                }
                if (next >= end) break;
                row = other;
                inside = false;
                sum = ELEMENT_LOAD(mine[order[next] * step * width]);
            }
        }
    }
}

/* Rows with updates in several pieces: a block of 256 threads for each piece in which one begins;
   threads with one threadIdx.x share a column. */
extern "C" __global__ void gg_join(TARGET *target, const uint32_t *keys, const ELEMENT_VALUE *heads, const ELEMENT_VALUE *tails, long long count, long long pieces, long long piece, long long width, long long rows) {
    __shared__ ELEMENT_VALUE part[256];
    const long long first = blockIdx.x, after = (first + 1) * piece;
    if (after >= count) return;
    const uint32_t row = keys[after - 1];
    if (row >= rows || keys[after] != row) return;
    if (keys[first * piece] == row && first > 0 && keys[first * piece - 1] == row) return;
    long long end = pieces, low = first + 1; /* the first piece that begins with another row */
    while (low < end) {
        const long long middle = low + (end - low) / 2;
        if (keys[middle * piece] == row) low = middle + 1;
        else end = middle;
    }
    const int thread = threadIdx.x + blockDim.x * threadIdx.y;
    const int lanes = end - first < blockDim.y ? (int)(end - first) : blockDim.y;
    for (long long left = (long long)blockIdx.y * blockDim.x; left < width; left += (long long)gridDim.y * blockDim.x) {
        const long long column = left + threadIdx.x;
        if (column < width && threadIdx.y < lanes) {
            ELEMENT_VALUE sum = threadIdx.y ? heads[(first + threadIdx.y) * width + column] : tails[first * width + column];
            for (long long at = first + threadIdx.y + lanes; at < end; at += lanes) sum = COMBINE(sum, heads[at * width + column]);
            part[thread] = sum;
        }
        __syncthreads();
        for (int half = 128; half; half >>= 1) {
            if (column < width && threadIdx.y < half && threadIdx.y + half < lanes)
                part[thread] = COMBINE(part[thread], part[thread + half * blockDim.x]);
            __syncthreads();
        }
        if (column < width && threadIdx.y == 0) {
            TARGET *place = target + row * width + column;
            *place = TARGET_STORE(FINISH(TARGET_LOAD(*place), part[thread]));
        }
        __syncthreads();
    }
}

/* Each row's updates in order. If REFUSES(update) holds: *failed = 1, and no update. */
extern "C" __global__ void gg_each(ELEMENT *target, const ELEMENT *changes, const uint32_t *keys, const int32_t *order, int *failed, long long count, long long width, long long rows, long long step) {
    GG_ROWS(at, count) {
        const uint32_t row = keys[at];
        if (row >= rows || (at > 0 && keys[at - 1] == row)) continue;
        GG_COLUMNS(column, width) {
            ELEMENT_VALUE value = ELEMENT_LOAD(target[row * width + column]);
            for (long long next = at; next < count && keys[next] == row; next++) {
                const ELEMENT_VALUE change = ELEMENT_LOAD(changes[order[next] * step * width + column * step]);
                if (REFUSES(change)) *failed = 1;
                else value = FINISH(value, change);
            }
            target[row * width + column] = ELEMENT_STORE(value);
        }
    }
}
