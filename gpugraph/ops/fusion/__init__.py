"""Several ops as one step: expressions, members, tiles, products with epilogues."""
