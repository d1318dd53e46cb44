"""Strings, and what prints."""
