"""Interruptions between any two instructions: signal handlers and forks."""
