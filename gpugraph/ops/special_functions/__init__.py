"""Functions that have a name: gamma, zeta, Bessel, incomplete gamma and beta."""
