"""Best-fit with coalescing: TensorFlow's allocator, address for address."""
