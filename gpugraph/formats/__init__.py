"""Files and messages of TensorFlow's formats as bytes and values; they do not depend on graphs."""
