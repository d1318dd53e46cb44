"""Fusion: each group of ops that one kernel can compute becomes one node."""
