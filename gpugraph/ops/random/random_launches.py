"""Random numbers on GPUs: launches of random_distributions.cu, which give the host's numbers.

A stream's position lies in the GPU's memory, where the kernels advance it: a captured run is the
same launches again.
"""

from __future__ import annotations

from math import ceil, prod
from typing import Any

from gpugraph.base.dtypes import bfloat16, float16
from gpugraph.kernel import Arg, Launch, Signature
from gpugraph.ops.framework.cuda_grids import THREADS, grid_of
from gpugraph.ops.random.seeds_and_streams import RESERVED, stored_stream

_BITS = {float16: 10, bfloat16: 7}
"""Bits of the mantissa of what has few."""

Bounds = tuple[int, int]
"""The lowest integer, and the first that is too high."""


def stream_launches(law: str, signature: Signature, bounds: Bounds = (0, 0)) -> list[Launch]:
    """Fills the output with the next numbers of the op's stream."""
    total = prod(signature.output_shapes[0])
    further = (stored_stream(signature), total, total * RESERVED)
    return [_launch("gg_random", law, signature, (Arg(0), *further, *_span(bounds)), "int32_t")]


def seed_launches(law: str, signature: Signature, bounds: Bounds = (0, 0)) -> list[Launch]:
    """Fills the output with the numbers of the seed, the one input that is not on the host."""
    total = prod(signature.output_shapes[0])
    arguments = (Arg(0), Arg(1), total, *_span(bounds))
    return [_launch("gg_stateless", law, signature, arguments, seed_type(signature, 1))]


def seed_type(signature: Signature, index: int) -> str:
    """The C type of a seed's integers."""
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
    """The lowest integer, and how many there are, as 64 bits."""
    low, high = bounds
    span = high - low
    return low, span if span < 2**63 else span - 2**64
