"""Steps of a plan: their arrays, sizes that are known only in a run, native code, and captures as
CUDA graphs.
"""
