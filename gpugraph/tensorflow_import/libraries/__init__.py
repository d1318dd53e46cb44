"""Installed libraries that programs import: their versions, and those that need TensorFlow 2."""
