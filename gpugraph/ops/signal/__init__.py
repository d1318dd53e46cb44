"""Fourier and cosine transforms, and the division of signals into frames."""
