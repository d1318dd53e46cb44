"""Biases, moments, batch normalization and local response normalization."""
