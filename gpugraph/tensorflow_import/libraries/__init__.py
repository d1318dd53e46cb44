"""Installed libraries that programs import: the versions of the libraries, and the libraries that
need TensorFlow 2.
"""
