"""Random numbers: generator streams, distributions, choices, and initializers of variables."""
