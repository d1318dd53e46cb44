"""Functions for programs that support several versions of TensorFlow."""
