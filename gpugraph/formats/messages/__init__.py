"""TensorFlow's protocol messages: their declarations, and protobuf's classes built from them."""
