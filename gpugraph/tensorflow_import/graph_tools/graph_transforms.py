"""`tensorflow.tools.graph_transforms`, which rewrites GraphDefs with named transforms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import as_dtype, float32
from gpugraph.base.errors import InvalidArgumentError
from gpugraph.base.shapes import TensorShape
from gpugraph.building.graph_files.graph_cutting import (
    colocated_names,
    extract_sub_graph,
    node_name,
)
from gpugraph.building.graph_files.graph_def_index import GraphDefIndex
from gpugraph.building.graph_files.import_graph_def import import_graph_def
from gpugraph.formats import messages_pb2
from gpugraph.formats.tensor_proto import make_ndarray
from gpugraph.graph.client.client_graph import Graph
from gpugraph.ops.framework.make_tensor_proto import make_tensor_proto
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.session import Session
from gpugraph.tensorflow_import.graph_tools.inference_graphs import fold_batch_norms
from gpugraph.tensorflow_import.graph_tools.stripped_graphs import strip_unused

_TRANSFORM = re.compile(r"\s*(\w+)\s*(?:\(([^)]*)\))?\s*,?")


class _Options(NamedTuple):
    """The arguments of one transform, in order, and the names of the inputs and outputs of the
    graph.
    """

    arguments: list[tuple[str, str]]
    inputs: list[str]
    outputs: list[str]

    def all(self, name: str) -> list[str]:
        """Return all values of an argument."""
        return [value for key, value in self.arguments if key == name]

    def one(self, name: str, default: str = "") -> str:
        """Return the first value of an argument. Return the default if the argument is not
        given.
        """
        return (self.all(name) or [default])[0]


def TransformGraph(
    input_graph_def: Any, inputs: list[str], outputs: list[str], transforms: list[str]
) -> Any:
    """Return a GraphDef that is rewritten by the transforms, in the order of `transforms`.

    Raises InvalidArgumentError if a transform does not exist, and NotImplementedError for
    transforms that quantize numbers or insert logging.

    Args:
      inputs: names of the nodes or tensors that are fed.
      outputs: names of the nodes or tensors that are fetched.
      transforms: texts such as `'remove_nodes(op=Identity, op=CheckNumerics)'`.
    """
    result = messages_pb2.GraphDef.FromString(input_graph_def.SerializeToString())
    for text in transforms:
        for name, arguments in _parsed(text):
            if name.startswith(("quantize_", "freeze_requantization", "insert_logging")):
                raise NotImplementedError(
                    f"tensorflow.tools.graph_transforms has no {name} here: no kernel computes in "
                    "quantized numbers, and values are printed by tf.Print"
                )
            if name not in _TRANSFORMS:
                raise InvalidArgumentError(
                    None, None, f"Transform '{name}' not recognized: there are {list(_TRANSFORMS)}"
                )
            names = [[node_name(entry) for entry in group] for group in (inputs, outputs)]
            result = _TRANSFORMS[name](result, _Options(arguments, *names))
    return result


def _parsed(text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the name and the arguments of each transform in a text."""
    position = 0
    while text[position:].strip():
        match = _TRANSFORM.match(text, position)
        if match is None:
            raise InvalidArgumentError(None, None, f"Bad transform specification: {text!r}")
        position = match.end()
        pairs = re.findall(r'(\w+)\s*=\s*("[^"]*"|[^,"]+)', match.group(2) or "")
        yield match.group(1), [(key, value.strip().strip('"')) for key, value in pairs]


def _with_nodes(graph_def: Any, nodes: Any) -> Any:
    """Return a GraphDef with these nodes, and with the functions and versions of the given
    GraphDef.
    """
    result = messages_pb2.GraphDef()
    result.versions.CopyFrom(graph_def.versions)
    result.library.CopyFrom(graph_def.library)
    result.node.extend(nodes)
    return result


def _unchanged(graph_def: Any, options: _Options) -> Any:
    """Return the GraphDef unchanged, because sessions do this work when they run a graph."""
    del options
    return graph_def


def _strip_unused_nodes(graph_def: Any, options: _Options) -> Any:
    dtype = as_dtype(options.one("type", "float32"))
    shape = [int(entry) for entry in options.one("shape").split(",") if entry.strip()]
    present = {node.name for node in graph_def.node}
    names = [name for name in options.inputs if name in present]
    for node in graph_def.node:
        if node.name in names and node.op != "Placeholder" and shape:
            node.attr["shape"].shape.CopyFrom(TensorShape(shape).as_proto())
    placeholders = {node.name: node for node in graph_def.node if node.op == "Placeholder"}
    dtypes = [
        placeholders[name].attr["dtype"].type if name in placeholders else dtype for name in names
    ]
    return strip_unused(graph_def, names, options.outputs, dtypes)


def _remove_nodes(graph_def: Any, options: _Options) -> Any:
    """Remove nodes of the given op types. A removed node has at most `max_inputs` inputs (by
    default one), and the first of them replaces it. Inputs and outputs of the graph are kept.
    """
    kept = {*options.inputs, *options.outputs}
    kinds = options.all("op")
    most = int(options.one("max_inputs", "1"))
    passes = {}
    for node in graph_def.node:
        data = [text for text in node.input if not text.startswith("^")]
        if node.op in kinds and node.name not in kept and 0 < len(data) <= most:
            passes[node.name] = data[0]
    nodes = [node for node in graph_def.node if node.name not in passes]
    for node in nodes:
        for position, text in enumerate(node.input):
            while node_name(text) in passes:
                source = passes[node_name(text)]
                text = f"^{node_name(source)}" if text.startswith("^") else source
            node.input[position] = text
    return _with_nodes(graph_def, nodes)


def _fold_constants(graph_def: Any, options: _Options) -> Any:
    """Compute the nodes that depend only on constants. If such a node is an output, or an input of
    a node that depends on other values, replace it by a constant. Then remove unused nodes.
    """
    index = GraphDefIndex(graph_def.node, {})
    constant: set[str] = set()
    for position in index.in_order({}):
        node = index.nodes[position]
        names = {node_name(text) for text in node.input}
        if node.op == "Const" or (_is_pure(node.op) and names and names <= constant):
            constant.add(node.name)
    used = {node_name(text) for node in graph_def.node if node.name not in constant
            for text in node.input}  # fmt: skip
    used.update(options.outputs)
    folded = [node.name for node in graph_def.node if node.name in constant & used]
    with Graph().as_default() as graph, Session() as session:
        import_graph_def(graph_def, name="")
        operations = [graph.get_operation_by_name(name) for name in folded]
        tensors = {entry.name: entry.outputs[0] for entry in operations if len(entry.outputs) == 1}
        values = session.run(tensors)
    nodes = [_constant(node, values[node.name]) if node.name in values else node
             for node in graph_def.node]  # fmt: skip
    present = {node.name for node in nodes}
    roots = [name for name in (*options.outputs, *options.inputs) if name in present]
    return extract_sub_graph(_with_nodes(graph_def, nodes), roots)


def _is_pure(op_type: str) -> bool:
    """Return whether an op's results depend only on its inputs."""
    declaration = DECLARATIONS.get(op_type)
    is_known = declaration is not None and "Placeholder" not in op_type
    return is_known and not declaration.op_def.is_stateful


def _constant(node: Any, value: Any) -> Any:
    """Return a Const node that replaces a node and has this value."""
    if node.op == "Const":
        return node
    result = messages_pb2.NodeDef(name=node.name, op="Const", device=node.device)
    result.attr["value"].tensor.CopyFrom(make_tensor_proto(value))
    result.attr["dtype"].type = result.attr["value"].tensor.dtype
    return result


def _fold_products(graph_def: Any, options: _Options) -> Any:
    """Remove multiplications of convolutions and matrix products by constants. Multiply the weights
    instead.
    """
    nodes = {node.name: node for node in graph_def.node}
    uses = [node_name(text) for node in graph_def.node for text in node.input]
    replaced: dict[str, list[Any]] = {}
    for node in graph_def.node:
        pair = [nodes.get(node_name(text)) for text in node.input[:2]]
        if node.op != "Mul" or None in pair or pair[1].op != "Const":  # type: ignore[union-attr]
            continue
        product: Any = pair[0]
        if product.op not in ("Conv2D", "MatMul", "DepthwiseConv2dNative"):
            continue
        weights = nodes[node_name(product.input[1])]
        if weights.op != "Const" or uses.count(product.name) > 1 or uses.count(weights.name) > 1:
            continue
        scale = make_ndarray(pair[1].attr["value"].tensor)  # type: ignore[union-attr]
        old = make_ndarray(weights.attr["value"].tensor)
        if scale.size != np.prod(old.shape[2:] if product.op[0] == "D" else old.shape[-1:]):
            continue
        shape = old.shape[2:] if product.op[0] == "D" else old.shape[-1:]
        new = messages_pb2.NodeDef()
        new.CopyFrom(product)
        new.name = node.name
        scaled = messages_pb2.NodeDef()
        scaled.CopyFrom(weights)
        scaled.attr["value"].tensor.CopyFrom(
            make_tensor_proto((old * scale.reshape(shape)).astype(old.dtype))
        )
        replaced |= {node.name: [new], weights.name: [scaled], product.name: []}
    result = [entry for node in graph_def.node for entry in replaced.get(node.name, [node])]
    return _with_nodes(graph_def, result)


def _merge_duplicate_nodes(graph_def: Any, options: _Options) -> Any:
    """Keep only the first of several equal nodes, and make its outputs the inputs of all
    consumers.
    """
    kept = {*options.inputs, *options.outputs}
    same: dict[str, str] = {}
    first: dict[bytes, str] = {}
    result = []
    index = GraphDefIndex(graph_def.node, {})
    for position in index.in_order({}):
        node = index.nodes[position]
        for place, text in enumerate(node.input):
            old = node_name(text)
            node.input[place] = text.replace(old, same.get(old, old), 1)
        text = messages_pb2.NodeDef()
        text.CopyFrom(node)
        text.name = ""
        key = text.SerializeToString(deterministic=True)
        if node.name not in kept and _is_pure(node.op):
            if key in first:
                same[node.name] = first[key]
                continue
            first[key] = node.name
        result.append(node)
    return _with_nodes(graph_def, result)


def _sorted_nodes(graph_def: Any, options: _Options) -> Any:
    index = GraphDefIndex(graph_def.node, {})
    return _with_nodes(graph_def, [index.nodes[entry] for entry in index.in_order({})])


def _round_weights(graph_def: Any, options: _Options) -> Any:
    """Round large float32 constants to a small number of different values, so that files can be
    compressed better.
    """
    steps = int(options.one("num_steps", "256"))
    for node in graph_def.node:
        if node.op == "Const" and node.attr["dtype"].type == float32.as_datatype_enum:
            value = make_ndarray(node.attr["value"].tensor)
            low, high = (value.min(), value.max()) if value.size else (0.0, 0.0)
            if value.size >= int(options.one("minimum_size", "16")) and high > low:
                step = (high - low) / steps
                rounded = low + np.minimum(np.floor((value - low) / step), steps - 1) * step
                proto = make_tensor_proto(rounded.astype(np.float32))
                node.attr["value"].tensor.CopyFrom(proto)
    return graph_def


def _nodes_of(graph_def: Any, options: _Options) -> list[Any]:
    """Return the nodes with the op type in the argument `op_name`. Without this argument, return
    all nodes.
    """
    kind = options.one("op_name", "*")
    return [node for node in graph_def.node if kind in ("*", node.op)]


def _remove_device(graph_def: Any, options: _Options) -> Any:
    for node in graph_def.node:
        node.device = ""
    return graph_def


def _remove_attribute(graph_def: Any, options: _Options) -> Any:
    for node in _nodes_of(graph_def, options):
        node.attr.pop(options.one("attribute_name"), None)
    return graph_def


def _rename_attribute(graph_def: Any, options: _Options) -> Any:
    old, new = options.one("old_attribute_name"), options.one("new_attribute_name")
    for node in _nodes_of(graph_def, options):
        if old in node.attr:
            node.attr[new].CopyFrom(node.attr[old])
            node.attr.pop(old)
    return graph_def


def _rename_op(graph_def: Any, options: _Options) -> Any:
    for node in graph_def.node:
        if node.op == options.one("old_op_name"):
            node.op = options.one("new_op_name")
    return graph_def


def _renamed(graph_def: Any, names: dict[str, str]) -> Any:
    """Rename nodes, also in the inputs of their consumers. `names` is a dict from old names to new
    names.
    """
    for node in graph_def.node:
        node.name = names.get(node.name, node.name)
        for position, text in enumerate(node.input):
            old = node_name(text)
            node.input[position] = text.replace(old, names.get(old, old), 1)
        groups = colocated_names(node)
        if groups:
            new = [f"loc:@{names.get(group, group)}".encode() for group in groups]
            node.attr["_class"].list.s[:] = new
    return graph_def


def _rename_node(graph_def: Any, options: _Options) -> Any:
    return _renamed(graph_def, {options.one("old_node_name"): options.one("new_node_name")})


def _obfuscate_names(graph_def: Any, options: _Options) -> Any:
    kept = {*options.inputs, *options.outputs}
    names = [node.name for node in graph_def.node if node.name not in kept]
    return _renamed(graph_def, {name: f"n{number}" for number, name in enumerate(names)})


_TRANSFORMS: dict[str, Callable[[Any, _Options], Any]] = {
    **dict.fromkeys(
        [
            "add_default_attributes",
            "backports",
            "flatten_atrous_conv",
            "fuse_convolutions",
            "fuse_pad_and_conv",
            "fuse_remote_graph",
            "fuse_resize_and_conv",
            "fuse_resize_pad_and_conv",
            "hoist_fake_quants",
            "set_device",
            "sparsify_gather",
        ],
        _unchanged,
    ),
    "fold_batch_norms": _fold_products,
    "fold_constants": _fold_constants,
    "fold_old_batch_norms": lambda graph_def, options: fold_batch_norms(graph_def),
    "merge_duplicate_nodes": _merge_duplicate_nodes,
    "obfuscate_names": _obfuscate_names,
    "remove_attribute": _remove_attribute,
    "remove_device": _remove_device,
    "remove_nodes": _remove_nodes,
    "rename_attribute": _rename_attribute,
    "rename_node": _rename_node,
    "rename_op": _rename_op,
    "round_weights": _round_weights,
    "sort_by_execution_order": _sorted_nodes,
    "strip_unused_nodes": _strip_unused_nodes,
}
"""The transforms, by name."""
