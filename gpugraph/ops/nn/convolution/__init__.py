"""Convolution in one to three dimensions, depthwise convolution and transposed convolution, with
the functions of `tf.nn`.
"""
