"""Launches of the CUDA kernels of convolution, which compute matrix products (convolution.cu).

A convolution and each of its gradients is a product [rows, steps] @ [steps, columns], in which
`steps` is the summed axis. Each tile of the result is computed by one thread block. If there are
too few tiles to occupy the GPU, the steps are divided into parts, each with its own block, and a
second launch adds up the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import ceil, prod
from typing import NamedTuple

from gpugraph.base.dtypes import bfloat16, float16, float64
from gpugraph.kernel import Arg, Call, Launch, Scratch, Signature, Source
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of, wide_type
from gpugraph.ops.nn.convolution.convolution_layouts import Copies, Images, Memory, padded
from gpugraph.ops.nn.convolution.convolution_products import (
    Matrices,
    ShapesOf,
    filter_gradient_matrices,
    forward_matrices,
    input_gradient_matrices,
    product_of as matrix_product,
    window_sums,
)
from gpugraph.ops.nn.windows.window_geometry import Layout
from gpugraph.ops.nn.windows.window_launches import (
    Shape,
    WindowBatch,
    filter_gradient_shapes,
    forward_shapes,
    geometry_of,
    input_gradient_shapes,
    pack_width,
)

_BLOCKS = 264
"""The number of blocks that fully occupies a GPU; with fewer, sums are split into parts."""
_STEPS = 32  # the length of a part is a multiple of 32, because the longest tile covers 32 steps
_MAX_LAYERS = 65535  # CUDA's limit for the z axis of a grid, which numbers parts times phases


class _Tiles(NamedTuple):
    """The sizes of the tiles of a result.

    A thread block computes `rows` x `columns` elements, and each group of `lanes` threads in it
    computes `thread_rows` x `thread_columns` elements.
    """

    rows: int
    columns: int
    thread_rows: int
    thread_columns: int
    lanes: int = 1

    @property
    def threads(self) -> int:
        """The number of threads in a block."""
        return self.rows // self.thread_rows * (self.columns // self.thread_columns) * self.lanes

    def blocks(self, rows: int, columns: int) -> int:
        """Return the number of tiles that cover a result of this size."""
        return ceil(rows / self.rows) * ceil(columns / self.columns)


class _Choice(NamedTuple):
    """The tile sizes that one kernel file supports, from large to small."""

    large: _Tiles
    high: _Tiles
    slim: _Tiles
    small: _Tiles

    def tiles(self, rows: int, columns: int, is_heavy: bool) -> _Tiles:
        """Return the largest tiles that have few elements outside the result and still occupy most
        multiprocessors.

        Args:
          is_heavy: whether the kernel needs so many registers for each element or load that only
            small tiles are possible.
        """
        if is_heavy:
            return self.small
        if columns <= 32:
            return self.slim
        if columns > 64 and self.large.blocks(rows, columns) >= _BLOCKS // 2:
            return self.large
        return self.high if self.high.blocks(rows, columns) >= _BLOCKS // 2 else self.small


class _Multiplier(NamedTuple):
    """A kernel file that multiplies matrices.

    Args:
      max_load: the maximum number of elements per load from memory.
    """

    name: str
    choice: _Choice
    max_load: int


_THREADS = _Multiplier(
    "convolution",
    _Choice(
        _Tiles(128, 128, 8, 8), _Tiles(128, 64, 8, 4), _Tiles(128, 32, 8, 4), _Tiles(64, 64, 4, 4)
    ),
    4,
)
_WARPS = _Multiplier(
    "convolution_mma",
    _Choice(
        *2
        * (
            _Tiles(128, 64, 64, 32, 32),
        ),  # three of these fit where a single tile of 128 x 128 would
        _Tiles(128, 32, 32, 32, 32),
        _Tiles(64, 64, 32, 32, 32),
    ),
    8,
)


class _Product(NamedTuple):
    """A convolution, or a gradient of it, as a product [rows, steps] @ [steps, columns].

    Args:
      mode: the value of the macro GG_MODE of the kernels.
      loads: for the left and the right matrix, the number of elements that are adjacent in memory.
      arrays: the arguments that hold the two matrices.
      is_dense: whether steps may be divided into parts.
      phases: the number of products of this size. In the gradient with respect to the images,
        pixels are grouped by their position modulo the strides, and each group is a product.
    """

    mode: int
    work: WindowBatch
    filter: Shape
    results: Shape
    rows: int
    steps: int
    columns: int
    loads: tuple[int, int]
    arrays: tuple[Arg, Arg]
    is_dense: bool
    phases: int = 1
    out: Memory | None = None
    copies: tuple[Memory, Memory] | None = None

    @property
    def matrices(self) -> tuple[Memory, Memory]:
        """The arguments that hold the matrices. They are the op's own arrays, or copies of them."""
        return self.copies or self.arrays

    def packs(self, max_load: int) -> tuple[int, int]:
        """Return the number of elements per load of the left matrix, and of the right matrix."""
        left, right = self.loads
        return self.work.pack(left, max_load), pack_width(right, max_load)


def _forward(layout: Layout, signature: Signature) -> _Product:
    """Return the convolution as a matrix product of the windows' elements and the filter.

    The matrices have shapes [places, window x channels] and [window x channels, outputs]. A place
    is one position of the window.
    """
    images, filter, results = forward_shapes(signature)
    work = geometry_of(layout, signature, images, filter)
    outputs = filter[-1]
    return _Product(
        0, work, filter, results, work.places, work.window * work.channels, outputs,
        (work.channels, outputs), (Arg(0), Arg(1)), work.last,
    )  # fmt: skip


def _input_gradient(layout: Layout, signature: Signature) -> _Product:
    """Return the product for the gradient with respect to the images.

    The matrices are the result's gradient [pixels of a phase, window x outputs] and the filter
    [window x outputs, channels].
    """
    images, filter, results = input_gradient_shapes(signature)
    work = geometry_of(layout, signature, images, filter)
    outputs, phases = filter[-1], prod(axis.stride for axis in work.axes)
    pixels = work.batch * prod(ceil(axis.size / axis.stride) for axis in work.axes)
    return _Product(
        1, work, filter, results, pixels, work.window * outputs, work.channels,
        (outputs, outputs), (Arg(1), Arg(0)), work.last and phases == 1, phases,
    )  # fmt: skip


def _filter_gradient(layout: Layout, signature: Signature) -> _Product:
    """Return the product for the gradient with respect to the filter.

    The matrices are the windows' elements [window x channels, places] and the result's gradient
    [places, outputs].
    """
    images, filter, results = filter_gradient_shapes(signature)
    work = geometry_of(layout, signature, images, filter)
    outputs = filter[-1]
    return _Product(
        2, work, filter, results, work.window * work.channels, work.places, outputs,
        (work.channels, outputs if work.last else 1), (Arg(0), Arg(1)), True,
    )  # fmt: skip


def _parts(blocks: int, steps: int) -> tuple[int, int]:
    """Return (number of parts, steps per part) for sums over `steps`, given the number of thread
    blocks.
    """
    max_parts = max(1, min(ceil(_BLOCKS / blocks), steps // 256, 64))
    steps_per_part = ceil(ceil(steps / max_parts) / _STEPS) * _STEPS
    return max(1, ceil(steps / max(steps_per_part, 1))), max(steps_per_part, _STEPS)


def _relaid(product: _Product, out: Arg, copies: Copies) -> _Product:
    """Return the product for copies of the arrays, with channels last and padded.

    The launches that copy from and to the op's own arrays are appended to `copies`. `out` is the
    result of the op.
    """
    work, mode, is_last = product.work, product.mode, product.work.last
    windows = work.batch, prod(axis.size for axis in work.axes)
    places = work.batch, prod(axis.out for axis in work.axes)
    channels, outputs = work.channels, product.filter[-1]
    left, right = product.arrays
    if mode == 1:
        slopes = copies.last(left, Images(*places, outputs), outputs, is_last)
        result = copies.result(out, Images(*windows, channels), is_last)
        return product._replace(
            work=work._replace(last=True), copies=(slopes, right), out=result,
            is_dense=product.phases == 1,
        )  # fmt: skip
    wide = padded(channels)
    images = copies.last(left, Images(*windows, channels), wide, is_last)
    work = work._replace(last=True, channels=wide)
    if mode == 0:
        matrix: Memory = copies.padded_filter(right, product.filter, wide)
        result = copies.result(out, Images(*places, outputs), is_last)
        return product._replace(
            work=work, steps=work.window * wide, loads=(wide, outputs), copies=(images, matrix),
            out=result, is_dense=True,
        )  # fmt: skip
    matrix = copies.last(right, Images(*places, outputs), outputs, is_last)
    return product._replace(
        work=work, rows=work.window * wide, loads=(wide, outputs), copies=(images, matrix),
        out=copies.cut_filter(out, product.filter, wide),
    )  # fmt: skip


ProductOf = Callable[[Layout, Signature], _Product]
Activation = Callable[[Signature], int]


def _launches(
    product_of: ProductOf,
    layout: Layout,
    activation: Activation | None,
    signature: Signature,
    multiplier: _Multiplier = _THREADS,
) -> list[Launch]:
    dtype = signature.output_types[0].base_dtype
    out, bias = (Arg(2), 0) if activation is None else (Arg(3), Arg(2))
    product = product_of(layout, signature)._replace(out=out)
    copies = Copies(dtype)
    by_warps = multiplier is _WARPS
    if by_warps:
        product = _relaid(product, out, copies)
    work, rows, columns = product.work, product.rows, product.columns
    packs = product.packs(multiplier.max_load)
    is_heavy = min(packs) < multiplier.max_load if by_warps else dtype is float64
    tiles = multiplier.choice.tiles(rows, columns, is_heavy)
    blocks = tiles.blocks(rows, columns)
    if product.is_dense:
        parts, steps_per_part = _parts(blocks, product.steps)
    else:
        parts, steps_per_part = 1, max(_STEPS, product.steps)
    if parts * product.phases > _MAX_LAYERS:
        raise NotImplementedError(f"strides that cut images in {product.phases} phases")
    sums = Scratch("parts", parts * rows * columns, wide_type(dtype)) if parts > 1 else 0
    defines = {
        **work.macros(prod(product.filter), prod(product.results)),
        "GG_MODE": product.mode,
        "GG_PACK_A": packs[0],
        "GG_PACK_B": packs[1],
        "GG_ROWS": tiles.rows,
        "GG_COLUMNS": tiles.columns,
        "GG_OWN_ROWS": tiles.thread_rows,
        "GG_OWN_COLUMNS": tiles.thread_columns,
        "GG_BIAS": int(activation is not None),
        "GG_CUT": 0 if activation is None else activation(signature),
        **({"BRAIN": int(dtype is bfloat16)} if by_warps else {}),
    }
    result, outputs = product.out, product.filter[-1]
    assert result is not None
    sizes = (work.batch, work.channels, outputs, parts, steps_per_part, *work.numbers)
    aligned = {
        f"GG_ALIGNED_{name}": (array, pack * dtype.size)
        for name, array, pack in zip("AB", product.matrices, packs)
    }
    file = f"{multiplier.name}.cu"
    launch = partial(Launch, types={"T": dtype}, defines=defines, file=file, aligned=aligned)
    launches = [
        launch(
            f"gg_{multiplier.name}",
            (blocks, 1, parts * product.phases),
            (tiles.threads, 1, 1),
            (*product.matrices, result, bias, sums, *sizes),
        )
    ]
    if parts > 1:
        count = rows * columns
        arguments = (sums, result, bias, count, columns, parts)
        launches.append(launch("gg_sum_parts", grid_of(count), (THREADS, 1, 1), arguments))
    return [*copies.before, *launches, *copies.after]


def _launches_by_warps(
    product_of: ProductOf, layout: Layout, activation: Activation | None, signature: Signature
) -> Sequence[Launch]:
    """Return launches that use tensor cores, or an empty list if tensor cores would round the
    dtype.
    """
    if signature.output_types[0].base_dtype not in (float16, bfloat16):
        return []
    return _launches(product_of, layout, activation, signature, _WARPS)


class _Direction(NamedTuple):
    """A convolution or one of its gradients, computed as a product of matrices. If the windows are
    single pixels, the matrices are stored arrays. Otherwise they are never stored.
    """

    product: ProductOf
    shapes: ShapesOf
    matrices: Matrices


_DIRECTIONS = {
    "forward": _Direction(_forward, forward_shapes, forward_matrices),
    "input": _Direction(_input_gradient, input_gradient_shapes, input_gradient_matrices),
    "filter": _Direction(_filter_gradient, filter_gradient_shapes, filter_gradient_matrices),
}


def _source(name: str, layout: Layout, host: Call, activation: Activation | None = None) -> Source:
    """Return a kernel of convolution.cu, or of convolution_mma.cu for tensor cores."""
    direction = _DIRECTIONS[name]
    arguments = direction.product, layout, activation
    return Source(
        "convolution.cu",
        partial(_launches, *arguments),
        host,
        tensor_cores=partial(_launches_by_warps, *arguments),
        product=partial(matrix_product, layout, direction.shapes, direction.matrices, activation),
        sums=partial(window_sums, name, layout, direction.shapes, activation),
    )


def convolution_gpu(layout: Layout, host: Call, activation: Activation | None = None) -> Source:
    """Return the CUDA kernel of convolution.

    Args:
      host: the NumPy kernel, which is the fallback.
      activation: a function that returns the number of an activation. If it is not None, the kernel
        adds a bias, the op's third input, and then applies the activation.
    """
    return _source("forward", layout, host, activation)


def input_gradient_gpu(layout: Layout, host: Call) -> Source:
    """Return the CUDA kernel of the gradient of convolution with respect to its images.

    Args:
      host: the NumPy kernel, which is the fallback.
    """
    return _source("input", layout, host)


def filter_gradient_gpu(layout: Layout, host: Call) -> Source:
    """Return the CUDA kernel of the gradient of convolution with respect to its filter."""
    return _source("filter", layout, host)
