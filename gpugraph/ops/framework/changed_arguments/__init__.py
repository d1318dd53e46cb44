"""Arguments that changed: names that TensorFlow 1 deprecates, and calls of before 1.0."""
