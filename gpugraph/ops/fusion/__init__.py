"""The fusion of several ops into one step: the ops' C expressions, the members of a fused step,
execution tile by tile, and matrix products with epilogues.
"""
