"""Optimizers: one file per algorithm."""
