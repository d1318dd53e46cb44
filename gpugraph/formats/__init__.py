"""Files and messages of TensorFlow's formats as bytes and values; they know no graph."""
