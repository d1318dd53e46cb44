"""Losses: cross entropies, CTC, and losses over a sample of the classes, with the samplers."""
