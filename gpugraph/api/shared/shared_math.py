"""The functions that are in `tf` and in `tf.math`."""

from gpugraph.building.checks import (
    is_non_decreasing as is_non_decreasing, is_strictly_increasing as is_strictly_increasing,
)
from gpugraph.ops.arrays.reshape_and_transpose import invert_permutation as invert_permutation
from gpugraph.ops.elementwise.arithmetic_functions import (
    add as add, add_n as add_n, maximum as maximum, minimum as minimum, multiply as multiply,
    pow as pow, squared_difference as squared_difference, subtract as subtract,
)
from gpugraph.ops.elementwise.division import (
    divide as divide, floordiv as floordiv, floormod as floormod, mod as mod, truediv as truediv,
)
from gpugraph.ops.elementwise.comparison_and_select import (
    equal as equal, greater as greater, greater_equal as greater_equal, less as less,
    less_equal as less_equal, logical_and as logical_and, logical_not as logical_not,
    logical_or as logical_or, logical_xor as logical_xor, not_equal as not_equal,
)
from gpugraph.ops.elementwise.complex_conjugate import conj as conj
from gpugraph.ops.elementwise.complex_parts import angle as angle, imag as imag, real as real
from gpugraph.ops.elementwise.trigonometry import (
    acos as acos, acosh as acosh, asin as asin, asinh as asinh, atan as atan, atan2 as atan2,
    atanh as atanh, cosh as cosh, sinh as sinh,
)
from gpugraph.ops.elementwise.unary_functions import (
    abs as abs, ceil as ceil, cos as cos, erf as erf, exp as exp, expm1 as expm1, floor as floor,
    is_finite as is_finite, is_inf as is_inf, is_nan as is_nan, log as log, log1p as log1p,
    log_sigmoid as log_sigmoid, negative as negative, reciprocal as reciprocal, rint as rint,
    round as round, rsqrt as rsqrt, sigmoid as sigmoid, sign as sign, sin as sin, sqrt as sqrt,
    square as square, tan as tan, tanh as tanh,
)
from gpugraph.ops.reductions.argmax_and_argmin import argmax as argmax, argmin as argmin
from gpugraph.ops.reductions.composed_reductions import (
    accumulate_n as accumulate_n, count_nonzero as count_nonzero, lbeta as lbeta,
    scalar_mul as scalar_mul,
)
from gpugraph.ops.reductions.histograms import (
    bincount as bincount, confusion_matrix as confusion_matrix,
)
from gpugraph.ops.reductions.ranges_and_running_sums import cumprod as cumprod, cumsum as cumsum
from gpugraph.ops.reductions.reduction_functions import (
    reduce_all as reduce_all, reduce_any as reduce_any, reduce_logsumexp as reduce_logsumexp,
    reduce_max as reduce_max, reduce_mean as reduce_mean, reduce_min as reduce_min,
    reduce_prod as reduce_prod, reduce_sum as reduce_sum,
)
from gpugraph.ops.segments.segment_functions import (
    segment_max as segment_max, segment_mean as segment_mean, segment_min as segment_min,
    segment_prod as segment_prod, segment_sum as segment_sum,
    unsorted_segment_max as unsorted_segment_max, unsorted_segment_mean as unsorted_segment_mean,
    unsorted_segment_min as unsorted_segment_min, unsorted_segment_prod as unsorted_segment_prod,
    unsorted_segment_sqrt_n as unsorted_segment_sqrt_n,
    unsorted_segment_sum as unsorted_segment_sum,
)
from gpugraph.ops.special_functions.gamma_and_zeta import (
    digamma as digamma, erfc as erfc, lgamma as lgamma, polygamma as polygamma, zeta as zeta,
)
from gpugraph.ops.special_functions.incomplete_gamma_and_beta import (
    betainc as betainc, igamma as igamma, igammac as igammac,
)
