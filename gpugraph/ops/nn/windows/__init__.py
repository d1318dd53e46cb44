"""Sliding windows: the geometry, CUDA launches and native kernels that convolution and pooling
share.
"""
