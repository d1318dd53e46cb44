"""Sliding windows: the geometry, CUDA launches and native kernels that convolution and pooling have
in common.
"""
