"""Rewriting of the graph: passes that have the names of Grappler's optimizers."""
