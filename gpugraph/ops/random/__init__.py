"""Random numbers: streams, distributions, choices, initializers."""
