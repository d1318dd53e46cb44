"""Launches of the kernels in random_distributions.cu, which compute the same random numbers on GPUs
as the host.

The position in a stream of random numbers is in GPU memory, where the kernels advance it. A
captured CUDA graph can therefore be launched repeatedly.
"""

from __future__ import annotations

from math import ceil, prod
from typing import Any

from gpugraph.base.dtypes import bfloat16, float16
from gpugraph.kernel import Arg, Launch, Signature
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of
from gpugraph.ops.random.seeds_and_streams import RESERVED, stored_stream

_BITS = {float16: 10, bfloat16: 7}
"""The number of mantissa bits of the 16-bit types."""

Bounds = tuple[int, int]
"""The lower bound of integers, and the upper bound (exclusive)."""


def stream_launches(law: str, signature: Signature, bounds: Bounds = (0, 0)) -> list[Launch]:
    """Return launches that fill the output with the next numbers of the op's stream.

    Args:
      law: the name of a CUDA function that computes the numbers.
    """
    total = prod(signature.output_shapes[0])
    further = (stored_stream(signature), total, total * RESERVED)
    return [_launch("gg_random", law, signature, (Arg(0), *further, *_span(bounds)), "int32_t")]


def seed_launches(law: str, signature: Signature, bounds: Bounds = (0, 0)) -> list[Launch]:
    """Return launches that compute the output from the seed, which is the only input in GPU
    memory.
    """
    total = prod(signature.output_shapes[0])
    arguments = (Arg(0), Arg(1), total, *_span(bounds))
    return [_launch("gg_stateless", law, signature, arguments, seed_type(signature, 1))]


def seed_type(signature: Signature, index: int) -> str:
    """Return the C type of the elements of the seed, which is input `index`."""
    return f"{signature.input_types[index].base_dtype.name}_t"


def _launch(
    function: str, law: str, signature: Signature, arguments: tuple[Any, ...], seed: str
) -> Launch:
    dtype = signature.output_types[0].base_dtype
    groups = ceil(prod(signature.output_shapes[0]) / (2 if dtype.size == 8 else 4))
    grid, block = grid_of(groups), (THREADS, 1, 1)
    defines: dict[str, str | int] = {"LAW": law, "SEED": seed, "BITS": _BITS.get(dtype, 0)}
    return Launch(function, grid, block, arguments, {"T": dtype}, defines)


def _span(bounds: Bounds) -> tuple[int, int]:
    """Return the smallest integer of a range, and the number of integers in the range, as a signed
    64-bit number.
    """
    low, high = bounds
    span = high - low
    return low, span if span < 2**63 else span - 2**64
