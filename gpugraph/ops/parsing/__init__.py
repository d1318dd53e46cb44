"""The parsing of Examples to tensors, and the conversion between tensors and protobuf messages."""
