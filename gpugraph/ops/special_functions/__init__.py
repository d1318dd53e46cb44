"""Special functions: gamma, zeta, Bessel, and incomplete gamma and beta functions."""
