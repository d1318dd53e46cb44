"""`tensorflow.python.tools.strip_unused_lib`, which keeps only the nodes between given inputs and
outputs.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import as_dtype
from gpugraph.building.graph_files.graph_cutting import extract_sub_graph
from gpugraph.formats import messages_pb2
from gpugraph.tensorflow_import.graph_tools.message_files import (
    names_of,
    read_graph_def,
    write_message,
)


def strip_unused(
    input_graph_def: Any,
    input_node_names: list[str],
    output_node_names: list[str],
    placeholder_type_enum: Any,
) -> Any:
    """Return a GraphDef without unused nodes, in which placeholders replace the inputs.

    Raises ValueError if an input is the name of a tensor, and KeyError if an input does not exist.

    Args:
      placeholder_type_enum: the dtype of the placeholders, which is an enum value or a DType, or a
        list with a dtype for each input.
    """
    for name in input_node_names:
        if ":" in name:
            raise ValueError(f"Name '{name}' appears to refer to a Tensor, not a Operation.")
    missing = set(input_node_names) - {node.name for node in input_graph_def.node}
    if missing:
        raise KeyError(f"The following input nodes were not found: {missing}\n")
    inputs = messages_pb2.GraphDef()
    inputs.versions.CopyFrom(input_graph_def.versions)
    inputs.library.CopyFrom(input_graph_def.library)
    for node in input_graph_def.node:
        if node.name in input_node_names:
            position = input_node_names.index(node.name)
            inputs.node.append(_placeholder(node, placeholder_type_enum, position))
        else:
            inputs.node.append(node)
    return extract_sub_graph(inputs, output_node_names)


def _placeholder(node: Any, dtypes: Any, position: int) -> Any:
    """Return a placeholder that replaces an input."""
    dtype = dtypes[position] if isinstance(dtypes, (list, tuple)) else dtypes
    result = messages_pb2.NodeDef(name=node.name, op="Placeholder")
    result.attr["dtype"].type = as_dtype(dtype).as_datatype_enum
    for attr in ("_output_shapes", "shape"):
        if attr in node.attr:
            result.attr[attr].CopyFrom(node.attr[attr])
    return result


def strip_unused_from_files(
    input_graph: str,
    input_binary: bool,
    output_graph: str,
    output_binary: bool,
    input_node_names: str,
    output_node_names: str,
    placeholder_type_enum: Any,
) -> None:
    """Read a GraphDef from a file, remove unused nodes, and write the result to a file.

    Args:
      input_node_names: the names of the inputs, separated by commas.
      output_node_names: the names of the outputs, separated by commas.
    """
    if not output_node_names:
        print("You need to supply the name of a node to --output_node_names.")
        return
    stripped = strip_unused(
        read_graph_def(input_graph, input_binary),
        names_of(input_node_names),
        names_of(output_node_names),
        placeholder_type_enum,
    )
    write_message(stripped, output_graph, output_binary)
