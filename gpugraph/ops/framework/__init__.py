"""The declaration and registration of ops, the functions that add operations, and helpers that all
op families share.
"""
