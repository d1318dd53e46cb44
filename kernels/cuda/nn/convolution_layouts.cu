/* Copies around the convolutions of convolution_mma.cu, which load several channels at once: from
   channels first to channels last and back, and with channels that are padded by zeros or cut off.

   variants: T=half,bfloat16 */

#include "gpu_kernel.cuh"

#define GG_SIDE 32
#define GG_HIGH 8

/* A matrix of each image, transposed in tiles: to[column, row] = from[row, column], where rows after
   `rows` are zero. `from` has rows x columns elements an image, `to` columns x wide. */
GG_INLINE void gg_transposed(const T *from, T *to, long long rows, long long columns, long long wide) {
    __shared__ T tile[GG_SIDE][GG_SIDE + 2];
    const long long across = (columns + GG_SIDE - 1) / GG_SIDE, down = (wide + GG_SIDE - 1) / GG_SIDE;
    const long long image = blockIdx.x / (across * down), place = blockIdx.x % (across * down);
    const long long row0 = place / across * GG_SIDE, column0 = place % across * GG_SIDE;
    from += image * rows * columns, to += image * columns * wide;
    for (int i = threadIdx.y; i < GG_SIDE; i += GG_HIGH) {
        const long long row = row0 + i, column = column0 + threadIdx.x;
        tile[i][threadIdx.x] = row < rows && column < columns ? from[row * columns + column] : (T)0;
    }
    __syncthreads();
    for (int i = threadIdx.y; i < GG_SIDE; i += GG_HIGH) {
        const long long column = column0 + i, row = row0 + threadIdx.x;
        if (column < columns && row < wide) to[column * wide + row] = tile[threadIdx.x][i];
    }
}

/* images (channels, pixels) to (pixels, wide) */
extern "C" __global__ void __launch_bounds__(GG_SIDE *GG_HIGH) gg_channels_last(const T *from, T *to, long long channels, long long pixels, long long wide) {
    gg_transposed(from, to, channels, pixels, wide);
}

/* images (pixels, channels) to (channels, pixels) */
extern "C" __global__ void __launch_bounds__(GG_SIDE *GG_HIGH) gg_channels_first(const T *from, T *to, long long channels, long long pixels) {
    gg_transposed(from, to, pixels, channels, pixels);
}

/* Rows of `had` elements become rows of `wide`: zeros are appended, or the last elements cut off. */
extern "C" __global__ void gg_widen(const T *from, T *to, long long count, long long had, long long wide) {
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += stride) {
        const long long row = at / wide, column = at % wide;
        to[at] = column < had ? from[row * had + column] : (T)0;
    }
}
