"""Functions: graphs that ops run as a unit, traced from Python or imported from a file."""
