"""Branches and loops of a graph, as steps of a plan."""
