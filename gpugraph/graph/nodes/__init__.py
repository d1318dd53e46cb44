"""The runtime graph: nodes and edges, traversals, frames of loops, graphs as text."""
