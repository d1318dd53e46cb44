"""Sliding windows: the geometry, CUDA launches and C functions that convolution and pooling
share.
"""
