"""Sessions of a training: made ready or recovered, run with hooks, closed with their threads."""
