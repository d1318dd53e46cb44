"""Training sessions: initialized or recovered, run with hooks, closed together with their threads."""
