"""Hooks, which take part in each run of a monitored session."""
