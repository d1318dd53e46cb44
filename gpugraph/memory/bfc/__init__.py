"""Best-fit with coalescing: TensorFlow's allocator, to the address."""
