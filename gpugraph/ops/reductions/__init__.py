"""Sums, maxima and minima, their positions, running sums, histograms and norms."""
