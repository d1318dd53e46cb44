"""Rows of the table of TensorFlow's modules, by their origin."""
