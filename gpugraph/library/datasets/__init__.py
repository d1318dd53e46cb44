"""Data sets that TensorFlow's tutorials read from files: the MNIST digits."""
