"""Biases, moments, batch normalization, local response normalization."""
