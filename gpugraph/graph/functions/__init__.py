"""Functions: graphs that ops call, traced from Python functions or imported from a file."""
