"""Sums, extremes, positions of extremes, running sums, histograms and norms."""
