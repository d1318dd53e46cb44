"""`tf.contrib.distributions`: the names of `tf.distributions`, and distributions over vectors."""

from gpugraph.library.distributions import *
from gpugraph.library.distributions.multivariate_normal import (
    MultivariateNormalDiag as MultivariateNormalDiag,
    MultivariateNormalTriL as MultivariateNormalTriL,
)
from gpugraph.library.distributions.one_hot_categorical import (
    OneHotCategorical as OneHotCategorical,
)
