"""Distributions: those of `tf.distributions`, and others over vectors."""

from gpugraph.distributions import *
from gpugraph.distributions.multivariate_normal import (
    MultivariateNormalDiag as MultivariateNormalDiag,
    MultivariateNormalTriL as MultivariateNormalTriL,
)
from gpugraph.distributions.one_hot_categorical import OneHotCategorical as OneHotCategorical
