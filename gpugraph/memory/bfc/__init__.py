"""Best-fit with coalescing (BFC), an allocator that returns the same addresses as TensorFlow's."""
