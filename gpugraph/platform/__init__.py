"""TensorFlow's modules that support programs: app, flags, logging and files."""
