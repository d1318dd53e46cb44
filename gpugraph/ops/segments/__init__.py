"""Sums, maxima and minima by segment. A segment consists of the slices of a tensor with the same
segment id.
"""
