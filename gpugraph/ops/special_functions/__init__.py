"""Special functions: gamma, zeta, Bessel, incomplete gamma and beta."""
