"""Activation functions, softmax, dropout and attention."""
