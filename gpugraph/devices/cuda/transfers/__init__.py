"""Memory of a GPU, and the ways of values in and out."""
