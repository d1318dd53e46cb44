"""Hooks: what takes part in each run of a monitored session."""
