"""TensorFlow's protocol messages: their declarations, and protobuf's classes that are built from
them.
"""
