"""Fourier and cosine transforms, and frames of signals."""
