"""The fusion of several ops into one step: the C expressions of ops, the members of a fused step,
execution tile by tile, and matrix products with epilogues.
"""
