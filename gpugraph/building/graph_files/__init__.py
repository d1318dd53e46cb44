"""GraphDefs and MetaGraphDefs: import, export, extraction of subgraphs, and writing of files."""

from gpugraph.building.graph_files import node_def_operation as node_def_operation
