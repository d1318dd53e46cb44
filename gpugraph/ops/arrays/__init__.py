"""Ops that change shapes and dtypes: reshape, cast, concat, split, pad; and constants."""
