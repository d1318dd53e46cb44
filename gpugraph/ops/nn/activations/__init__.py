"""Activations, softmax, dropout, attention."""
