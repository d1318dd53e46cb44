"""Drawings of models as SVG, with the layers in rows by depth. Graphviz is not needed."""
