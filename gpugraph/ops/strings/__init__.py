"""Ops on strings: joining, splitting, conversion to numbers, regular expressions, hashes, and
printing.
"""
