"""TensorFlow's file formats and messages, converted to and from values, independent of graphs."""
