"""Programs for several versions of TensorFlow."""
