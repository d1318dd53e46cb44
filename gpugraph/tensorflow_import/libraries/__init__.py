"""The versions of installed libraries that programs import. Some versions need TensorFlow 2."""
