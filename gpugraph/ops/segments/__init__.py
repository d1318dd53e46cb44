"""Sums and extremes of the parts of a tensor that share a number."""
