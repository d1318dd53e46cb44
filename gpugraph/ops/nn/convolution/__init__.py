"""Convolution of one to three dimensions, by channel, transposed, and as functions."""
