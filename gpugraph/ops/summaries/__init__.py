"""Summaries: numbers, histograms, images, recordings and tensors as messages for TensorBoard."""
