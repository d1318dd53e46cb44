"""Distributions: random variables as objects, with densities, statistics and divergences.

This face re-exports; it defines nothing.
"""

from gpugraph.distributions.counting_distributions import (
    Bernoulli as Bernoulli,
    Categorical as Categorical,
    DirichletMultinomial as DirichletMultinomial,
    Multinomial as Multinomial,
)
from gpugraph.distributions.distribution import Distribution as Distribution
from gpugraph.distributions.distribution_parameters import (
    FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED as NOT_REPARAMETERIZED,
    ReparameterizationType as ReparameterizationType,
)
from gpugraph.distributions.gamma_family_distributions import (
    Beta as Beta,
    Dirichlet as Dirichlet,
    Exponential as Exponential,
    Gamma as Gamma,
)
from gpugraph.distributions.kullback_leibler import (
    RegisterKL as RegisterKL,
    kl_divergence as kl_divergence,
)
from gpugraph.distributions.location_scale_distributions import (
    Laplace as Laplace,
    Normal as Normal,
    StudentT as StudentT,
    Uniform as Uniform,
)
