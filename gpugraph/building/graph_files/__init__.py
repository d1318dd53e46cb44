"""Graphs and messages: GraphDefs and MetaGraphDefs imported, exported, cut and written."""

from gpugraph.building.graph_files import node_def_operation as node_def_operation
