"""Fusion of several ops into one step: expressions, members, tiles, products with epilogues."""
