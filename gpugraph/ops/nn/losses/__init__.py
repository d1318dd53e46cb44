"""Losses: cross entropies, CTC, losses over sampled classes, and the samplers of candidate
classes.
"""
