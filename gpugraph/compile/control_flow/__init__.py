"""Branches and loops as steps."""
