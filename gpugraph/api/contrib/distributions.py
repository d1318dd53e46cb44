"""`tf.contrib.distributions`: the distributions of `tf.distributions` and many others."""

from gpugraph.api.contrib import bijectors as bijectors
from gpugraph.library.bijectors.elementwise_bijectors import softplus_inverse as softplus_inverse
from gpugraph.library.bijectors.matrix_bijectors import (
    fill_triangular as fill_triangular, fill_triangular_inverse as fill_triangular_inverse,
)
from gpugraph.library.distributions import *
from gpugraph.library.distributions.multivariate_normal import (
    MultivariateNormalDiag as MultivariateNormalDiag,
    MultivariateNormalTriL as MultivariateNormalTriL,
)
from gpugraph.library.distributions.one_hot_categorical import (
    OneHotCategorical as OneHotCategorical,
)
from gpugraph.library.more_distributions.combined_distributions import (
    Independent as Independent, Mixture as Mixture, MixtureSameFamily as MixtureSameFamily,
)
from gpugraph.library.more_distributions.continuous_distributions import (
    Cauchy as Cauchy, Chi2 as Chi2, HalfNormal as HalfNormal, InverseGamma as InverseGamma,
    Kumaraswamy as Kumaraswamy, Logistic as Logistic,
)
from gpugraph.library.more_distributions.count_distributions import (
    Binomial as Binomial, Geometric as Geometric, NegativeBinomial as NegativeBinomial,
    Poisson as Poisson,
)
from gpugraph.library.more_distributions.deterministic_and_quantized import (
    Deterministic as Deterministic, QuantizedDistribution as QuantizedDistribution,
    VectorDeterministic as VectorDeterministic,
)
from gpugraph.library.more_distributions.distribution_functions import (
    SeedStream as SeedStream, assign_log_moving_mean_exp as assign_log_moving_mean_exp,
    assign_moving_mean_variance as assign_moving_mean_variance,
    matrix_diag_transform as matrix_diag_transform, moving_mean_variance as moving_mean_variance,
    normal_conjugates_known_scale_posterior as normal_conjugates_known_scale_posterior,
    normal_conjugates_known_scale_predictive as normal_conjugates_known_scale_predictive,
    percentile as percentile, reduce_weighted_logsumexp as reduce_weighted_logsumexp,
    tridiag as tridiag,
)
from gpugraph.library.more_distributions.relaxed_one_hot import (
    ExpRelaxedOneHotCategorical as ExpRelaxedOneHotCategorical,
)
from gpugraph.library.more_distributions.softplus_parameters import (
    BetaWithSoftplusConcentration as BetaWithSoftplusConcentration,
    Chi2WithAbsDf as Chi2WithAbsDf, ExponentialWithSoftplusRate as ExponentialWithSoftplusRate,
    GammaWithSoftplusConcentrationRate as GammaWithSoftplusConcentrationRate,
    InverseGammaWithSoftplusConcentrationRate as InverseGammaWithSoftplusConcentrationRate,
    LaplaceWithSoftplusScale as LaplaceWithSoftplusScale,
    MultivariateNormalDiagWithSoftplusScale as MultivariateNormalDiagWithSoftplusScale,
    NormalWithSoftplusScale as NormalWithSoftplusScale,
    StudentTWithAbsDfSoftplusScale as StudentTWithAbsDfSoftplusScale,
)
from gpugraph.library.more_distributions.transformed_distributions import (
    ConditionalDistribution as ConditionalDistribution,
    ConditionalTransformedDistribution as ConditionalTransformedDistribution,
    RelaxedBernoulli as RelaxedBernoulli, RelaxedOneHotCategorical as RelaxedOneHotCategorical,
    SinhArcsinh as SinhArcsinh, TransformedDistribution as TransformedDistribution,
)
from gpugraph.library.more_distributions.vector_distributions import (
    MultivariateNormalDiagPlusLowRank as MultivariateNormalDiagPlusLowRank,
    MultivariateNormalFullCovariance as MultivariateNormalFullCovariance,
    VectorExponentialDiag as VectorExponentialDiag, VectorLaplaceDiag as VectorLaplaceDiag,
    VectorSinhArcsinhDiag as VectorSinhArcsinhDiag,
)
from gpugraph.library.more_distributions.wishart_distributions import (
    WishartCholesky as WishartCholesky, WishartFull as WishartFull,
)
