"""Elementwise functions, reductions and sequences, under TensorFlow's names."""

from gpugraph.api.shared.shared_math import *
from gpugraph.ops.elementwise.unary_functions import softplus as softplus
from gpugraph.ops.elementwise.xlogy_and_nextafter import (
    multiply_no_nan as multiply_no_nan, nextafter as nextafter,
    reciprocal_no_nan as reciprocal_no_nan, xdivy as xdivy, xlog1py as xlog1py, xlogy as xlogy,
)
from gpugraph.ops.indexing.top_k import in_top_k as in_top_k, top_k as top_k
from gpugraph.ops.nn.activations.selu_softsign_swish import softsign as softsign
from gpugraph.ops.nn.activations.softmax import log_softmax as log_softmax, softmax as softmax
from gpugraph.ops.nn.normalization.l2_normalize import l2_normalize as l2_normalize
from gpugraph.ops.reductions.composed_reductions import (
    polyval as polyval, reduce_euclidean_norm as reduce_euclidean_norm, reduce_std as reduce_std,
    reduce_variance as reduce_variance, zero_fraction as zero_fraction,
)
from gpugraph.ops.reductions.ranges_and_running_sums import (
    cumulative_logsumexp as cumulative_logsumexp,
)
from gpugraph.ops.special_functions.bessel_functions import (
    bessel_i0 as bessel_i0, bessel_i0e as bessel_i0e, bessel_i1 as bessel_i1,
    bessel_i1e as bessel_i1e,
)
from gpugraph.ops.special_functions.inverse_error_function import (
    erfcinv as erfcinv, erfinv as erfinv, ndtri as ndtri,
)
from gpugraph.ops.elementwise import division as _division

divide_no_nan = _division.div_no_nan
