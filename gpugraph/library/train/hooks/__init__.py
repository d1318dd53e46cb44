"""Hooks: objects whose methods a monitored session calls before and after each run."""
