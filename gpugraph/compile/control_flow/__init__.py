"""Branches and loops as steps of a plan."""
