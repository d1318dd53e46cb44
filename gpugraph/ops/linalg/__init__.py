"""Matrices: products, factorizations, linear equations, diagonals, functions of matrices."""
