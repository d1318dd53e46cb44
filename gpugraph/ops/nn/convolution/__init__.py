"""Convolution in one to three dimensions, also depthwise and transposed, and `tf.nn`'s
functions.
"""
