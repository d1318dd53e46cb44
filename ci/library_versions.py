"""The libraries of TensorFlow 1 that `libraries.py` reads, with their versions."""
VERSIONS = {}
