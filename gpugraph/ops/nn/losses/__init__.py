"""Losses: cross entropies, CTC, and losses over sampled classes, with the candidate samplers."""
