"""Convolution in one to three dimensions, depthwise convolution and transposed convolution, and the
public functions in `tf.nn`.
"""
