"""Elements picked by position, order or value: gather, scatter, slices, sort, top_k, unique."""
