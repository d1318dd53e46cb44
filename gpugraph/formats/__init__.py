"""TensorFlow's file formats and messages, and conversions between them and values. This package
does not depend on graphs.
"""
