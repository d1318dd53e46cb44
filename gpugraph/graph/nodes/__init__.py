"""The runtime graph: nodes and edges, walks, loops' frames, graphs as text."""
