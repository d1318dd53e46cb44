"""An op that computes the results of many StatelessMultinomial ops at once, one for each seed.
`sample_from_datasets` uses the results to select datasets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import int32, int64
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.datasets.elements.dataset_declaration import HOST
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.random.bits_to_distributions import doubles
from gpugraph.ops.random.philox import Words, blocks_by_key
from gpugraph.ops.random.seeds_and_streams import STATELESS_KEY

_LOW, _HALF = np.uint64(2**32 - 1), np.uint64(32)


def _halves(numbers: Any) -> tuple[Any, Any]:
    return numbers & _LOW, numbers >> _HALF


def _first_words(seeds: Any) -> Words:
    """Return the first four 32-bit random words for each seed.

    Args:
      seeds: an array with one seed, which is two integers, in each row.
    """
    unsigned = seeds.astype(np.int64).view(np.uint64)
    counters = (*_halves(unsigned[:, 0]), *_halves(unsigned[:, 1]))
    k0, k1, c2, c3 = blocks_by_key(_halves(np.uint64(STATELESS_KEY)), counters)
    zeros = np.zeros_like(k0)
    return blocks_by_key((k0, k1), (zeros, zeros, c2, c3))


def _bind(_: KernelContext, logits: Any, seeds: Any, out: Any) -> Callable[[], None]:
    def run() -> None:
        wide = logits[0].astype(np.float64)
        finite = np.isfinite(wide)
        largest = np.max(wide, where=finite, initial=-np.finfo(np.float64).max)
        sums = np.cumsum(np.where(finite, np.exp(wide - largest), 0))
        words = _first_words(seeds)
        drawn = doubles(words[0] | words[1] << _HALF)
        drawn *= sums[-1:]
        out[:, 0, 0] = (sums <= drawn[:, np.newaxis]).sum(axis=1)

    return run


def _infer(context: InferContext) -> Sequence[TensorShape]:
    logits, seeds = context.shapes
    logits.with_rank(2)
    return [TensorShape.of(((seeds.with_rank(2).sizes or (None,))[0], 1, 1))]


op(
    "_StatelessMultinomials", inputs="logits: T, seeds: Tseed", outputs="output: output_dtype",
    attrs={
        "T": Attr("type", required=True), "Tseed": Attr("type", required=True),
        "output_dtype": Attr("type", int64, allowed=(int32, int64)),
    },
    infer=_infer, cpu=Call(make=_bind), gpu=HOST, grad=NO_GRADIENT,
    doc=(
        "For each row of `seeds`, the class [1, 1] that StatelessMultinomial draws with this "
        "seed."
    ),
)  # fmt: skip
