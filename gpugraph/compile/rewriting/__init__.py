"""Rewriting of the graph: passes with the names of Grappler's optimizers."""
