"""Random tensors: the stream of each op follows from its seed and the graph's."""

from gpugraph.ops.random import get_seed, set_random_seed, truncated_normal
from gpugraph.ops.random import random_normal as normal
from gpugraph.ops.random import random_uniform as uniform

__all__ = [
    "get_seed",
    "normal",
    "set_random_seed",
    "truncated_normal",
    "uniform",
]
