"""Examples and tensors in messages: parsed to tensors, and tensors as messages."""
