"""`tf.random`: random tensors.

The random numbers of each op depend on its own seed and the graph's seed.
"""

from gpugraph.ops.nn.losses.candidate_samplers import (
    all_candidate_sampler as all_candidate_sampler,
    fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler,
    learned_unigram_candidate_sampler as learned_unigram_candidate_sampler,
    log_uniform_candidate_sampler as log_uniform_candidate_sampler,
    uniform_candidate_sampler as uniform_candidate_sampler,
)
from gpugraph.ops.random.multinomial_and_shuffle import (
    categorical as categorical, multinomial as multinomial,
    stateless_categorical as stateless_categorical, stateless_multinomial as stateless_multinomial,
)
from gpugraph.ops.random.random_ops import (
    get_seed as get_seed, set_random_seed as set_random_seed, truncated_normal as truncated_normal,
)
from gpugraph.ops.random.stateless_random import (
    stateless_truncated_normal as stateless_truncated_normal,
)
from gpugraph.ops.random import gamma_and_poisson as _gamma_and_poisson
from gpugraph.ops.random import multinomial_and_shuffle as _multinomial_and_shuffle
from gpugraph.ops.random import random_ops as _random_ops
from gpugraph.ops.random import stateless_random as _stateless_random

gamma = _gamma_and_poisson.random_gamma
normal = _random_ops.random_normal
poisson = _gamma_and_poisson.random_poisson
shuffle = _multinomial_and_shuffle.random_shuffle
stateless_normal = _stateless_random.stateless_random_normal
stateless_uniform = _stateless_random.stateless_random_uniform
uniform = _random_ops.random_uniform
