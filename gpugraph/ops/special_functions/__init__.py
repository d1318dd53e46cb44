"""Functions that have a name: gamma, zeta, Bessel, incomplete gamma and beta."""

from gpugraph.ops.special_functions import (
    bessel_functions,
    gamma_and_zeta,
    incomplete_gamma_and_beta,
    inverse_error_function,
    uniform_expansions,
)
