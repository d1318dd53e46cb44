"""Launches of the CUDA kernels of depthwise convolution (depthwise_convolution.cu)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import ceil, prod

from gpugraph.kernel import Arg, Call, Launch, Scratch, Signature, Source
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of, wide_type
from gpugraph.ops.nn.windows.window_geometry import Layout
from gpugraph.ops.nn.windows.window_launches import WindowBatch, geometry_of

_BLOCKS = 1056
"""The number of blocks that fully occupies a GPU; with fewer, sums over windows are split into
parts.
"""


def _macros(work: WindowBatch, times: int, pack: int = 1) -> Mapping[str, str | int]:
    counts = work.pixels * work.channels * times, work.places * work.channels * times
    return {**work.macros(*counts), "GG_PACK": pack}


def _launch(
    signature: Signature, function: str, work: WindowBatch, times: int, count: int
) -> Launch:
    """Return a launch over the `count` elements of the result.

    Args:
      times: the number of output channels per input channel.
    """
    pack = work.pack() if times == 1 else 1
    dtype = signature.output_types[0].base_dtype
    numbers = (count // pack, work.channels, times, *work.numbers)
    return Launch(
        function,
        grid_of(count // pack),
        (THREADS, 1, 1),
        (Arg(0), Arg(1), Arg(2), *numbers),
        {"T": dtype},
        _macros(work, times, pack),
    )


def _forward(layout: Layout, signature: Signature) -> list[Launch]:
    shape, filter = signature.input_shapes
    work = geometry_of(layout, signature, shape, filter)
    count = prod(signature.output_shapes[0])
    return [_launch(signature, "gg_depthwise", work, filter[3], count)]


def _input_gradient(layout: Layout, signature: Signature) -> list[Launch]:
    shape, filter = signature.output_shapes[0], signature.input_shapes[1]
    work = geometry_of(layout, signature, shape, filter)
    return [_launch(signature, "gg_depthwise_back_input", work, filter[3], prod(shape))]


def _filter_gradient(layout: Layout, signature: Signature) -> list[Launch]:
    filter, dtype = signature.output_shapes[0], signature.output_types[0].base_dtype
    work = geometry_of(layout, signature, signature.input_shapes[0], filter)
    outputs, elements, rows = prod(filter[2:]), work.window, work.batch * work.axes[1].out
    width = 32
    while work.last and width > 1 and width >= 2 * outputs:
        width //= 2
    groups = ceil(outputs / width) if work.last else outputs
    max_parts = max(1, min(ceil(_BLOCKS / (groups * elements)), rows // 8, 1024))
    rows_per_part = max(1, ceil(rows / max_parts))
    parts = max(1, ceil(rows / rows_per_part))
    count = elements * outputs
    sums: Scratch | int = Scratch("parts", parts * count, wide_type(dtype)) if parts > 1 else 0
    types, macros = {"T": dtype}, _macros(work, filter[3])
    numbers = (work.batch, work.channels, filter[3], parts, rows_per_part, *work.numbers)
    launches = [
        Launch(
            "gg_depthwise_back_filter",
            (groups * elements, parts, 1),
            (width, THREADS // width, 1),
            (Arg(0), Arg(1), Arg(2), sums, *numbers),
            types,
            macros,
        )
    ]
    if parts > 1:
        arguments = (sums, Arg(2), count, parts)
        grid = grid_of(count)
        launches.append(Launch("gg_sum_parts", grid, (THREADS, 1, 1), arguments, types, macros))
    return launches


def _source(
    launches: Callable[[Layout, Signature], list[Launch]], layout: Layout, host: Call
) -> Source:
    return Source("depthwise_convolution.cu", partial(launches, layout), host)


depthwise_gpu = partial(_source, _forward)
depthwise_input_gradient_gpu = partial(_source, _input_gradient)
depthwise_filter_gradient_gpu = partial(_source, _filter_gradient)
