"""Random tensors: the stream of each op follows from its seed and the graph's."""

from gpugraph.ops.nn.losses.candidate_samplers import (
    all_candidate_sampler,
    fixed_unigram_candidate_sampler,
    learned_unigram_candidate_sampler,
    log_uniform_candidate_sampler,
    uniform_candidate_sampler,
)
from gpugraph.ops.random.gamma_and_poisson import random_gamma as gamma
from gpugraph.ops.random.gamma_and_poisson import random_poisson as poisson
from gpugraph.ops.random.multinomial_and_shuffle import (
    categorical,
    multinomial,
    stateless_categorical,
    stateless_multinomial,
)
from gpugraph.ops.random.multinomial_and_shuffle import random_shuffle as shuffle
from gpugraph.ops.random.random_ops import get_seed, set_random_seed, truncated_normal
from gpugraph.ops.random.random_ops import random_normal as normal
from gpugraph.ops.random.random_ops import random_uniform as uniform
from gpugraph.ops.random.stateless_random import stateless_random_normal as stateless_normal
from gpugraph.ops.random.stateless_random import stateless_random_uniform as stateless_uniform
from gpugraph.ops.random.stateless_random import stateless_truncated_normal

__all__ = [
    "all_candidate_sampler",
    "categorical",
    "fixed_unigram_candidate_sampler",
    "gamma",
    "get_seed",
    "learned_unigram_candidate_sampler",
    "log_uniform_candidate_sampler",
    "multinomial",
    "normal",
    "poisson",
    "set_random_seed",
    "shuffle",
    "stateless_categorical",
    "stateless_multinomial",
    "stateless_normal",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
    "uniform_candidate_sampler",
]
