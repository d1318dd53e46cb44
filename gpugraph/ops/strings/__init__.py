"""Ops on strings: joining, splitting, numbers, regular expressions, hashes; and ops that print."""
