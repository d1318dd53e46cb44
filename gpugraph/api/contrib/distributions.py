"""Distributions: those of `tf.distributions`, and normal distributions over vectors."""

from gpugraph.distributions import *
from gpugraph.distributions.multivariate_normal import (
    MultivariateNormalDiag as MultivariateNormalDiag,
    MultivariateNormalTriL as MultivariateNormalTriL,
)
