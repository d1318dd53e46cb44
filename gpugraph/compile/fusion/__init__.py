"""Fusion: groups of ops become one node."""
