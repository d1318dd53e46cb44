"""Random numbers: streams, distributions, choices, initializers."""

from gpugraph.ops.random import (
    bits_to_distributions,
    gamma_and_poisson,
    multinomial_and_shuffle,
    philox,
    random_launches,
    random_ops,
    rejection_sampling,
    seeds_and_streams,
    stateless_random,
    variable_initializers,
)
