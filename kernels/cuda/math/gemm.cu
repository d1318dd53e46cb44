/* out = a @ b for matrices with any strides, `batch` times (blockIdx.z): tiles of 64 x 64 through
   shared memory, 4 x 4 elements per thread. Used without cublasLt, or if it does not support a
   dtype. Epilogue, before rounding: + bias, a vector along the columns, + addend, which has the
   layout of `out` (either may be 0: none), and Relu, if `relu` is 1.

   gg_finish computes the epilogue of a product that is in memory.

   variants: T=float,half,bfloat16,double,int32,int64 */

#include "gpu_kernel.cuh"

#define GG_TILE 64
#define GG_STEP 16

/* NaN stays NaN. */
GG_INLINE T_VALUE gg_finished(T_VALUE x, const T *bias, const T *addend, long long column, long long at, long long relu) {
    if (bias) x += T_LOAD(bias[column]);
    if (addend) x += T_LOAD(addend[at]);
    return relu && x < (T_VALUE)0 ? (T_VALUE)0 : x;
}

extern "C" __global__ void gg_finish(T *out, const T *bias, const T *addend, long long relu, long long m, long long n, long long count, long long out_row, long long out_batch) {
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        const long long row = i / n, column = i - row * n, matrix = row / m;
        const long long at = matrix * out_batch + (row - matrix * m) * out_row + column;
        out[at] = T_STORE(gg_finished(T_LOAD(out[at]), bias, addend, column, at, relu));
    }
}

extern "C" __global__ void gg_gemm(const T *a, const T *b, T *out, const T *bias, const T *addend, long long relu, long long m, long long n, long long k, long long a_row, long long a_column, long long a_batch, long long b_row, long long b_column, long long b_batch, long long out_row, long long out_column, long long out_batch) {
    __shared__ T_VALUE tile_a[GG_STEP][GG_TILE + 4];
    __shared__ T_VALUE tile_b[GG_STEP][GG_TILE + 4];
    a += blockIdx.z * a_batch;
    b += blockIdx.z * b_batch;
    out += blockIdx.z * out_batch;
    if (addend) addend += blockIdx.z * out_batch;
    const long long row0 = (long long)blockIdx.y * GG_TILE, column0 = (long long)blockIdx.x * GG_TILE;
    const int thread = threadIdx.x, own_row = thread / 16 * 4, own_column = thread % 16 * 4;
    T_VALUE sum[4][4];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) sum[i][j] = 0;
    /* Neighbouring threads load along the axis that is contiguous. */
    const bool a_by_row = a_column == 1, b_by_row = b_column == 1;
    for (long long k0 = 0; k0 < k; k0 += GG_STEP) {
        for (int at = thread; at < GG_TILE * GG_STEP; at += 256) {
            const int i = a_by_row ? at / GG_STEP : at % GG_TILE;
            const int l = a_by_row ? at % GG_STEP : at / GG_TILE;
            const bool in = row0 + i < m && k0 + l < k;
            tile_a[l][i] = in ? T_LOAD(a[(row0 + i) * a_row + (k0 + l) * a_column]) : (T_VALUE)0;
        }
        for (int at = thread; at < GG_TILE * GG_STEP; at += 256) {
            const int j = b_by_row ? at % GG_TILE : at / GG_STEP;
            const int l = b_by_row ? at / GG_TILE : at % GG_STEP;
            const bool in = column0 + j < n && k0 + l < k;
            tile_b[l][j] = in ? T_LOAD(b[(k0 + l) * b_row + (column0 + j) * b_column]) : (T_VALUE)0;
        }
        __syncthreads();
#pragma unroll
        for (int l = 0; l < GG_STEP; l++) {
            T_VALUE left[4], right[4];
            for (int i = 0; i < 4; i++) left[i] = tile_a[l][own_row + i];
            for (int j = 0; j < 4; j++) right[j] = tile_b[l][own_column + j];
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) sum[i][j] += left[i] * right[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            const long long row = row0 + own_row + i, column = column0 + own_column + j;
            const long long at = row * out_row + column * out_column;
            if (row < m && column < n)
                out[at] = T_STORE(gg_finished(sum[i][j], bias, addend, column, at, relu));
        }
}
