"""Summaries: numbers, histograms, images, audio and tensors as messages for TensorBoard."""
