"""Import, export, cutting and writing of GraphDefs and MetaGraphDefs."""

from gpugraph.building.graph_files import node_def_operation as node_def_operation
