"""`tf.import_graph_def`: the nodes of a GraphDef as operations of the default graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpugraph.base.version import GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_PRODUCER, VERSION
from gpugraph.building.graph_files.function_inlining import inline_calls
from gpugraph.building.graph_files.function_library import FunctionLibrary
from gpugraph.building.graph_files.graph_def_index import GraphDefIndex, Source
from gpugraph.building.graph_files.node_import import NodeImport
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph, name_scope
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.op_def import VersionDef
from gpugraph.graph.op_library import OP_DEFS, as_tensor


def import_graph_def(
    graph_def: Any,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Iterable[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Add the nodes of a GraphDef to the default graph. If any node can't be added, add none of the
    nodes.

    If the op type of a node is not declared, the node becomes an operation that raises an error
    with the reason when a run needs it. Calls of functions in the GraphDef's library are inlined.

    Args:
      graph_def: a GraphDef message.
      input_map: maps names in the GraphDef (`"a"`, `"a:1"` or `"^a"`) to tensors, values
        convertible to tensors, or operations of the graph that replace them as inputs.
      return_elements: names of operations and tensors in the GraphDef.
      name: the name scope of the added nodes, `"import"` by default. An empty string means no
        scope.
      op_dict: ignored.
      producer_op_list: the OpList of the program that wrote the GraphDef. An attr that this package
        does not have is dropped if its value is the default in this list.

    Returns: The operations and tensors that `return_elements` names, or None if `return_elements`
    is None.

    Raises:
      TypeError: an argument has the wrong type.
      ValueError: the GraphDef is malformed or of an unsupported version, or does not have a name in
        `input_map` or `return_elements`.

    >>> graph = tf.Graph()
    >>> with graph.as_default():
    ...     c = tf.constant(3, name="three")
    >>> (three,) = tf.import_graph_def(graph.as_graph_def(), return_elements=["three:0"])
    >>> three.name
    'import/three:0'
    """
    del op_dict
    graph_def = _checked_graph_def(graph_def)
    input_map = _checked_input_map(input_map)
    elements = _checked_elements(return_elements)
    if producer_op_list is not None:
        graph_def = _without_unknown_defaults(graph_def, producer_op_list)
    graph = get_default_graph()
    with name_scope(name, "import", input_map.values()) as scope:
        mapped = _mapped(name, input_map)
    graph._check_not_finalized()
    versions = readable_versions(graph_def.versions)
    index = GraphDefIndex(graph_def.node, mapped)
    library = FunctionLibrary(graph_def.library, producer_op_list)
    names = _names(graph, index, scope)
    nodes = NodeImport(graph, index, names, mapped, library, versions.producer)
    nodes.make()
    _check_all_used(nodes)
    found = None if elements is None else [_element(nodes, text) for text in elements]
    enter_nodes(nodes)
    merge_versions(graph, versions)
    return found


def enter_nodes(nodes: NodeImport, has_own_frames: bool = True) -> None:
    """Add finished operations, and the functions of their library, to the graph. Then inline calls.

    Raises ValueError if the graph has a different function of the same name.

    Args:
      nodes: the finished operations.
      has_own_frames: whether their frames are separate from the graph's frames of the same name.
    """
    functions = nodes.graph._functions
    for name, function in nodes.library.functions.items():
        if functions.get(name, function) != function:
            raise ValueError(
                f"Cannot add function '{name}' because a different function with the same name "
                "already exists."
            )
    for name, function in nodes.library.functions.items():
        if name not in functions:
            functions[name] = messages_pb2.FunctionDef()
            functions[name].CopyFrom(function)
    nodes.enter(has_own_frames)
    inline_calls(nodes)


# -- arguments


def _checked_graph_def(graph_def: Any) -> Any:
    descriptor = getattr(type(graph_def), "DESCRIPTOR", None)
    if getattr(descriptor, "full_name", "") != "tensorflow.GraphDef":
        raise TypeError("graph_def must be a GraphDef proto.")
    if isinstance(graph_def, messages_pb2.GraphDef):
        return graph_def
    # converts TensorFlow's message class to this package's
    return messages_pb2.GraphDef.FromString(graph_def.SerializeToString())


def _checked_input_map(input_map: Any) -> Mapping[str, Any]:
    if input_map is None:
        return {}
    if not (isinstance(input_map, dict) and all(isinstance(k, (str, bytes)) for k in input_map)):
        raise TypeError("input_map must be a dictionary mapping strings to Tensor objects.")
    return {key if isinstance(key, str) else key.decode(): item for key, item in input_map.items()}


def _checked_elements(return_elements: Any) -> list[str] | None:
    if return_elements is None:
        return None
    elements = list(return_elements)
    if not all(isinstance(item, (str, bytes)) for item in elements):
        raise TypeError("return_elements must be a list of strings.")
    return [item if isinstance(item, str) else item.decode() for item in elements]


def _parsed(text: str) -> Source:
    """Return the node's name and the output index in the name of a tensor. Raises ValueError if the
    name is malformed.
    """
    name, *numbers = text.split(":")
    if len(numbers) > 1 or (numbers and not (numbers[0].isascii() and numbers[0].isdigit())):
        raise ValueError(f"Cannot convert '{text}' to a tensor name.")
    return name, int(numbers[0]) if numbers else 0


def _mapped(name: str | None, input_map: Mapping[str, Any]) -> dict[Source, Any]:
    """Return `input_map` with (node name, output index) pairs as keys. Values are converted to
    tensors in the name scope `_inputs`.

    Args:
      name: the argument of `import_graph_def`. If the name is empty, a value that must be converted
        raises ValueError.
    """
    mapped: dict[Source, Any] = {}
    plain = {key: item for key, item in input_map.items() if not _is_element(key, item)}
    if plain and name == "":
        raise ValueError(
            "tf.import_graph_def() requires a non-empty `name` if `input_map` contains non-Tensor "
            "values. Try calling tf.convert_to_tensor() on `input_map` values before calling "
            "tf.import_graph_def()."
        )
    tensors = dict(input_map)
    if plain:
        with name_scope("_inputs"):
            tensors |= {key: as_tensor(item) for key, item in plain.items()}
    for key, element in tensors.items():
        if key.startswith("^"):
            mapped[key[1:], -1] = element.op if isinstance(element, Tensor) else element
        else:
            mapped[_parsed(key)] = element
    return mapped


def _is_element(key: str, item: Any) -> bool:
    return isinstance(item, Tensor) or (key.startswith("^") and isinstance(item, Operation))


def _without_unknown_defaults(graph_def: Any, producer_op_list: Any) -> Any:
    """Return a copy of a GraphDef. Attrs that this version of an op lacks are removed if they have
    the default values of the GraphDef's producer.
    """
    defaults = {
        (op.name, attr.name): attr.default_value
        for op in producer_op_list.op
        for attr in op.attr
        if attr.HasField("default_value")
    }
    result = messages_pb2.GraphDef()
    result.CopyFrom(graph_def)
    for node in result.node:
        op_def = OP_DEFS.get(node.op)
        for key in [] if op_def is None else [key for key in node.attr if key not in op_def.attrs]:
            default = defaults.get((node.op, key))
            if default is not None and _same(default, node.attr[key]):
                del node.attr[key]
    return result


def _same(message: Any, other: Any) -> bool:
    return bool(message.SerializeToString() == other.SerializeToString())


# -- versions


def readable_versions(versions: Any) -> VersionDef:
    """Return the versions of a GraphDef. Raises ValueError if this package is not allowed to read
    the GraphDef.
    """
    if versions.producer < GRAPH_DEF_VERSION_MIN_PRODUCER:
        raise ValueError(
            f"GraphDef producer version {versions.producer} below min producer "
            f"{GRAPH_DEF_VERSION_MIN_PRODUCER} supported by TensorFlow {VERSION}.  Please "
            "regenerate your graph."
        )
    if versions.min_consumer > GRAPH_DEF_VERSION:
        raise ValueError(
            f"GraphDef min consumer version {versions.min_consumer} above current version "
            f"{GRAPH_DEF_VERSION} for TensorFlow {VERSION}.  Please upgrade TensorFlow."
        )
    if GRAPH_DEF_VERSION in versions.bad_consumers:
        raise ValueError(
            f"GraphDef disallows consumer version {GRAPH_DEF_VERSION}.  Please upgrade "
            "TensorFlow: this version is likely buggy."
        )
    return VersionDef(versions.producer, versions.min_consumer, tuple(versions.bad_consumers))


def merge_versions(graph: Graph, versions: VersionDef) -> None:
    """Update the graph's versions so that they permit only consumers that can also read the added
    nodes.
    """
    old = graph._versions
    graph._versions = VersionDef(
        min(old.producer, versions.producer),
        max(old.min_consumer, versions.min_consumer),
        tuple(sorted({*old.bad_consumers, *versions.bad_consumers})),
    )


# -- names


def _names(graph: Graph, index: GraphDefIndex, scope: str) -> dict[str, str]:
    """Map the name of each node in the file to a unique name in the graph, in the name scope
    `scope`.
    """
    if not graph._ops:
        return {name: f"{scope}{name}" for name in index.names}
    taken = set(graph._by_name)
    for name in graph._by_name:
        while (slash := name.rfind("/")) > 0:
            name = name[:slash]
            if name in taken:
                break
            taken.add(name)
    future = {f"{scope}{name}" for name in index.names}
    return {name: _unique(f"{scope}{name}", taken, future) for name in index.names}


def _unique(name: str, taken: set[str], future: set[str]) -> str:
    """Return `name`, with a number appended if it is in `taken`. Add the result to `taken`.

    Args:
      future: names that other nodes will get. The result must not be one of these names.
    """
    unique, count = name, 0
    while unique in taken or (count and unique in future):
        count += 1
        unique = f"{name}_{count}"
    taken.add(unique)
    return unique


# -- results


def _check_all_used(nodes: NodeImport) -> None:
    """Raise ValueError if a key of `input_map` names nothing in the GraphDef."""
    missing = []
    for source in nodes.mapped:
        op = nodes.ops.get(source[0])
        if source not in nodes.used and (op is None or source[1] >= len(op._outputs)):
            missing.append(f"^{source[0]}" if source[1] < 0 else f"{source[0]}:{source[1]}")
    if missing:
        raise ValueError(
            f"Attempted to map inputs that were not found in graph_def: [{', '.join(missing)}]"
        )


def _element(nodes: NodeImport, text: str) -> Any:
    """Return the operation or tensor for a name in the GraphDef."""
    if ":" not in text:
        if text not in nodes.ops:
            raise ValueError(f"Requested return node '{text}' not found in graph def")
        return nodes.ops[text]
    source = _parsed(text)
    if source in nodes.mapped:
        return nodes.mapped[source]
    op = nodes.ops.get(source[0])
    if op is None:
        raise ValueError(f"Requested return tensor '{text}' not found in graph def")
    if source[1] >= len(op._outputs):
        raise ValueError(
            f"Invalid return output {source[1]} of node '{source[0]}', which has "
            f"{len(op._outputs)} output(s)"
        )
    return op._outputs[source[1]]
