"""Data for TensorFlow's tutorials, read from files: the MNIST digits, and ids of words in texts."""
