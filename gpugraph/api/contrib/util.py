"""`tf.contrib.util`: the constant values of tensors, and the list of op types that a GraphDef
needs.
"""

from gpugraph.base import nest as nest
from gpugraph.formats.tensor_proto import make_ndarray as make_ndarray
from gpugraph.building.graph_files.meta_graph_export import (
    ops_used_by_graph_def as ops_used_by_graph_def,
    stripped_op_list_for_graph as stripped_op_list_for_graph,
)
from gpugraph.ops.framework.make_tensor_proto import make_tensor_proto as make_tensor_proto
from gpugraph.building.variables.static_value import constant_value as constant_value
