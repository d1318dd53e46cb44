"""Ops on strings, and ops that print."""
