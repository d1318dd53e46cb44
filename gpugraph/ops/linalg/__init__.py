"""Matrices: products, factorizations, solutions, diagonals, functions of matrices."""
