"""Ops on matrices: products, factorizations, linear equations, diagonals, functions of matrices."""
