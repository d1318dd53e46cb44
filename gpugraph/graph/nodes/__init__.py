"""The runtime graph: nodes and edges, walks, loops' frames, graphs as text."""

__all__: list[str] = []
