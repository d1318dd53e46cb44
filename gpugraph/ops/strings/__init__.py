"""Ops on strings: joins, splits, numbers, regular expressions, hashes; and ops that print."""
