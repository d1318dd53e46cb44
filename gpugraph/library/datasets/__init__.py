"""Data that programs of TensorFlow's tutorials read from files: the digits of MNIST."""
