"""Summaries, which are messages for TensorBoard with numbers, histograms, images, audio or
tensors.
"""
