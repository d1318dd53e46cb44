"""Fusion of several ops into one step: the C expressions of ops, the members of a fused step,
execution by tiles, and matrix products with epilogues.
"""
