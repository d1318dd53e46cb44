"""Arguments that changed: names that TensorFlow 1 deprecates, and arguments of calls before
TensorFlow 1.0.
"""
