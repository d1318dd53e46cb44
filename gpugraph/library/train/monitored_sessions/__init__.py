"""Training sessions: initialized or recovered, run with hooks, and closed with their threads."""
