"""`tensorflow.python.tools.optimize_for_inference_lib`, which rewrites graphs for inference."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.dtypes import as_dtype
from gpugraph.building.graph_files.graph_cutting import node_name, remove_training_nodes
from gpugraph.formats import messages_pb2
from gpugraph.formats.tensor_proto import make_ndarray
from gpugraph.ops.framework.make_tensor_proto import make_tensor_proto
from gpugraph.platform import logging
from gpugraph.tensorflow_import.graph_tools.stripped_graphs import strip_unused

_NORMALIZATIONS = {
    "BatchNormWithGlobalNormalization": (0, (4, 3, 1, 2)),
    "FusedBatchNorm": (0, (1, 2, 3, 4)),
    "FusedBatchNormV2": (0, (1, 2, 3, 4)),
    "FusedBatchNormV3": (0, (1, 2, 3, 4)),
}
"""Of each op type: the position of the convolution's output, and those of scale, offset, mean and
variance."""

_CONVOLUTIONS = ("Conv2D", "DepthwiseConv2dNative")


def optimize_for_inference(
    input_graph_def: Any,
    input_node_names: list[str],
    output_node_names: list[str],
    placeholder_type_enum: Any,
    toco_compatible: bool = False,
) -> Any:
    """Return a GraphDef for inference that computes the outputs from the inputs.

    Unused nodes, CheckNumerics and Identities are removed. If the arguments of a batch
    normalization are constants, it is folded into the weights of the preceding convolution.
    Sessions fuse other nodes when they run a graph.

    Args:
      placeholder_type_enum: the dtype of the placeholders, see `strip_unused`.
      toco_compatible: ignored.
    """
    ensure_graph_is_valid(input_graph_def)
    graph_def = strip_unused(
        input_graph_def, input_node_names, output_node_names, placeholder_type_enum
    )
    graph_def = remove_training_nodes(graph_def, output_node_names)
    graph_def = fold_batch_norms(graph_def)
    ensure_graph_is_valid(graph_def)
    return graph_def


def ensure_graph_is_valid(graph_def: Any) -> None:
    """Raise ValueError if two nodes have the same name, or if a node that is an input does not
    exist.
    """
    names: set[str] = set()
    for node in graph_def.node:
        if node.name in names:
            raise ValueError(f"Duplicate node names detected for {node.name}")
        names.add(node.name)
    for node in graph_def.node:
        for source in node.input:
            if node_name(source) not in names:
                raise ValueError(f"Input for {node.name} not found: {source}")


def node_name_from_input(node_name_text: str) -> str:
    """Return the name of the node in an input of a NodeDef. For "a:1" and "^a", it is "a"."""
    return node_name(node_name_text)


def node_from_map(node_map: dict[str, Any], name: str) -> Any:
    """Return the node that an input names. Raises ValueError if the node does not exist."""
    if node_name(name) not in node_map:
        raise ValueError(f"No node named '{name}' found in map.")
    return node_map[node_name(name)]


def values_from_const(node_def: Any) -> Any:
    """Return the value of a constant as an array. Raises ValueError if the node is not a
    constant.
    """
    if node_def.op != "Const":
        raise ValueError(
            f"Node named '{node_def.name}' should be a Const op for values_from_const."
        )
    return make_ndarray(node_def.attr["value"].tensor)


def fuse_resize_and_conv(input_graph_def: Any, output_node_names: list[str]) -> Any:
    """Return the GraphDef unchanged, because sessions fuse nodes when they run a graph."""
    del output_node_names
    return input_graph_def


def scale_after_normalization(node: Any) -> bool:
    """Return whether a normalization multiplies by its scale."""
    if node.op != "BatchNormWithGlobalNormalization":
        return True
    return bool(node.attr["scale_after_normalization"].b)


def fold_batch_norms(input_graph_def: Any) -> Any:
    """Return a GraphDef in which batch normalizations are folded into the weights of the preceding
    convolutions.

    A BiasAdd with the same name replaces the normalization. If a normalization does not follow a
    convolution, or if its other inputs or the weights are not constants, it remains and a warning
    is logged.
    """
    nodes = {node.name: node for node in input_graph_def.node}
    replaced: dict[str, list[Any]] = {}
    dropped: set[str] = set()
    for node in input_graph_def.node:
        if node.op not in _NORMALIZATIONS:
            continue
        folded = _folded(node, nodes)
        if folded is not None:
            replaced[node.name] = folded
            dropped.add(node_name(node.input[0]))
    uses = [node_name(text) for node in input_graph_def.node for text in node.input]
    result = messages_pb2.GraphDef()
    result.versions.CopyFrom(input_graph_def.versions)
    result.library.CopyFrom(input_graph_def.library)
    for node in input_graph_def.node:
        if node.name in replaced:
            result.node.extend(replaced[node.name])
        elif node.name not in dropped or uses.count(node.name) > 1:
            result.node.append(node)
    return result


def _folded(node: Any, nodes: dict[str, Any]) -> list[Any] | None:
    """Return the nodes that replace a normalization, or None if it cannot be folded."""
    position, others = _NORMALIZATIONS[node.op]
    convolution = nodes[node_name(node.input[position])]
    if convolution.op not in _CONVOLUTIONS or node.attr["is_training"].b:
        logging.warning("Didn't find expected Conv2D input to '%s'", node.name)
        return None
    weights = nodes[node_name(convolution.input[1])]
    parameters = [nodes[node_name(node.input[entry])] for entry in others]
    if any(entry.op != "Const" for entry in (weights, *parameters)):
        logging.warning("Didn't find expected constants as inputs of '%s'", node.name)
        return None
    scale, offset, mean, variance = map(values_from_const, parameters)
    attr = "variance_epsilon" if node.op.startswith("BatchNorm") else "epsilon"
    factor = 1.0 / np.sqrt(variance + node.attr[attr].f)
    if scale_after_normalization(node):
        factor = scale * factor
    kernel = values_from_const(weights)
    shape = kernel.shape[2:] if convolution.op == "DepthwiseConv2dNative" else kernel.shape[3:]
    dtype = weights.attr["dtype"]
    new_weights = _constant(f"{weights.name}_of_{node.name}", kernel * factor.reshape(shape), dtype)
    new_offset = _constant(f"{node.name}_offset", offset - mean * factor, dtype)
    copy = messages_pb2.NodeDef()
    copy.CopyFrom(convolution)
    copy.name = f"{convolution.name}_of_{node.name}"
    copy.input[1] = new_weights.name
    total = messages_pb2.NodeDef(name=node.name, op="BiasAdd", input=[copy.name, new_offset.name])
    total.attr["T"].CopyFrom(copy.attr["T"])
    if "data_format" in convolution.attr:
        total.attr["data_format"].CopyFrom(convolution.attr["data_format"])
    return [new_weights, new_offset, copy, total]


def _constant(name: str, value: Any, dtype: Any) -> Any:
    """Return a Const node with this name and value."""
    node = messages_pb2.NodeDef(name=name, op="Const")
    node.attr["dtype"].CopyFrom(dtype)
    node.attr["value"].tensor.CopyFrom(make_tensor_proto(value, as_dtype(dtype.type)))
    return node
