"""Pictures of models: their layers by depth, as SVG, without Graphviz."""
