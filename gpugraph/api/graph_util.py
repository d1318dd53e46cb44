"""`tf.graph_util`: import of GraphDefs, extraction of subgraphs, freezing of variables."""

from gpugraph.building.graph_files.freezing import (
    convert_variables_to_constants as convert_variables_to_constants,
)
from gpugraph.building.graph_files.graph_cutting import (
    extract_sub_graph as extract_sub_graph, must_run_on_cpu as must_run_on_cpu,
    remove_training_nodes as remove_training_nodes,
    tensor_shape_from_node_def_name as tensor_shape_from_node_def_name,
)
from gpugraph.building.graph_files.import_graph_def import import_graph_def as import_graph_def
