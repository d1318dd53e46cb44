"""Examples and tensors in messages: parsing to tensors, and tensors as messages."""
