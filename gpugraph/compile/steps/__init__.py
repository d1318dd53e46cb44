"""Steps of a plan: their arrays, their native code, their captures as CUDA graphs, and tensors
whose size is known only during a run.
"""
