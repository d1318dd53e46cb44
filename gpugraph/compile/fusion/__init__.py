"""Groups of ops as one node."""
