"""Distributions: objects for random variables that draw samples and compute densities and
statistics.

This module only re-exports names.
"""

from gpugraph.library.distributions.counting_distributions import (
    Bernoulli as Bernoulli,
    Categorical as Categorical,
    DirichletMultinomial as DirichletMultinomial,
    Multinomial as Multinomial,
)
from gpugraph.library.distributions.distribution import Distribution as Distribution
from gpugraph.library.distributions.distribution_parameters import (
    FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED as NOT_REPARAMETERIZED,
    ReparameterizationType as ReparameterizationType,
)
from gpugraph.library.distributions.gamma_family_distributions import (
    Beta as Beta,
    Dirichlet as Dirichlet,
    Exponential as Exponential,
    Gamma as Gamma,
)
from gpugraph.library.distributions.kullback_leibler import (
    RegisterKL as RegisterKL,
    kl_divergence as kl_divergence,
)
from gpugraph.library.distributions.location_scale_distributions import (
    Laplace as Laplace,
    Normal as Normal,
    StudentT as StudentT,
    Uniform as Uniform,
)
