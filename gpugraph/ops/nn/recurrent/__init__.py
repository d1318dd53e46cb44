"""Cells of recurrent networks, and sequences of them, as single ops."""
