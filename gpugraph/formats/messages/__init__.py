"""TensorFlow's protocol messages: what they are made of, and how protobuf's classes come of it."""
