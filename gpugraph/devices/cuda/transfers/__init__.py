"""A GPU's memory, and transfers to and from it."""
