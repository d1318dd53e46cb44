"""Selection of elements by position, order or value: gather, scatter, slices, sorting, unique."""
