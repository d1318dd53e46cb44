"""Tensors of other shapes and dtypes: reshape, cast, join, split, pad, constants."""
