"""Op types of older graphs, and of TensorFlow's own rewriters, beside those that functions add."""
