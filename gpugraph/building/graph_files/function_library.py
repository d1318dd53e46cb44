"""The functions of a GraphDef, and their bodies as importable nodes.

A FunctionDef names a tensor `argument`, `argument:1` (for an argument that is a list), or
`node:output:1`. A GraphDef names a tensor `node:3`. The attrs of a FunctionDef's nodes may be
placeholders that each call replaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from gpugraph.base.errors import NotFoundError
from gpugraph.building.graph_files.call_op_types import CALL_OP_DEFS
from gpugraph.building.graph_files.graph_def_index import Source
from gpugraph.building.graph_files.op_def_import import op_def_of_message
from gpugraph.formats import messages_pb2
from gpugraph.graph.op_def import ArgDef, OpDef
from gpugraph.graph.op_library import OP_DEFS


class FunctionBody(NamedTuple):
    """The body of a function for one call.

    A source is a node's name and an output index. An argument is treated as a node.

    Args:
      nodes: NodeDef messages.
      arguments: the sources of the arguments' tensors.
      returns: the source of each result.
      controls: the names of the nodes that a call runs even if no result depends on them.
    """

    nodes: list[Any]
    arguments: list[Source]
    returns: list[Source]
    controls: list[str]


class FunctionLibrary:
    """The functions of a GraphDef by name, and the op types that the GraphDef's producer declared.

    Attributes:
      active: the functions that are being inlined, outermost first.
    """

    def __init__(self, messages: Any = None, producer_op_list: Any = None) -> None:
        functions = () if messages is None else messages.function
        self.functions = {function.signature.name: function for function in functions}
        self.gradients = {
            pair.function_name: pair.gradient_func
            for pair in (() if messages is None else messages.gradient)
        }
        declared = () if producer_op_list is None else producer_op_list.op
        self._declared = {message.name: message for message in declared}
        self.active: list[str] = []

    def op_def(self, op_type: str) -> OpDef | None:
        """Return the signature of an op type or of a function. Return None if neither is
        declared.
        """
        known: OpDef | None = OP_DEFS.get(op_type) or CALL_OP_DEFS.get(op_type)
        if known is None and op_type in self.functions:
            known = op_def_of_message(self.functions[op_type].signature)
        if known is None and op_type in self._declared:
            known = op_def_of_message(self._declared[op_type])
        return known

    def body(self, name: str, attrs: Mapping[str, Any]) -> FunctionBody:
        """Return the body of a function. The attrs of the call replace the placeholders.

        Raises NotFoundError if the function is not in the library. Raises ValueError if an input or
        result in its body names no tensor.
        """
        function = self.functions.get(name)
        if function is None:
            raise NotFoundError.of_no_node(f"Function {name} is not defined.")
        nodes = [_with_attrs(node, attrs) for node in function.node_def]
        outputs = {node.name: node for node in nodes}
        arguments = _arguments(function, attrs)
        argument_sources = set(arguments)

        def source(text: str) -> Source:
            return self._source(text, outputs, argument_sources, name)

        for node in nodes:
            inputs = [
                text if text.startswith("^") else "{}:{}".format(*source(text))
                for text in node.input
            ]
            del node.input[:]
            node.input.extend(inputs)
        returns = [
            source(text)
            for arg in function.signature.output_arg
            for text in _list_of(function, arg, attrs)
        ]
        controls = [*function.control_ret.values()]
        if function.signature.is_stateful and not controls:
            controls = [node.name for node in nodes if self._is_stateful(node.op)]
        return FunctionBody(nodes, arguments, returns, controls)

    def _is_stateful(self, op_type: str) -> bool:
        op_def = self.op_def(op_type)
        return op_def is None or op_def.is_stateful

    def _source(
        self, text: str, nodes: Mapping[str, Any], arguments: set[Source], function: str
    ) -> Source:
        """Return the node's name and the output index that a tensor's name denotes in a function's
        body.

        Args:
          text: `argument`, `node:output:1` or `node:1`.
          nodes: the nodes of the body, by name.
        """
        name, *parts = text.split(":")
        number = int(parts[-1]) if parts and parts[-1].isdigit() else 0
        if (name, number) in arguments:
            return name, number
        node = nodes.get(name)
        if node is None:
            raise ValueError(f"Function {function}: input {text} is not found")
        op_def = self.op_def(node.op)
        if op_def is None or not parts or parts[0].isdigit():
            return name, number
        start = 0
        for arg in op_def.outputs:
            if arg.name == parts[0]:
                return name, start + number
            start += _count(arg, node.attr)
        raise ValueError(f"Function {function}: node '{name}' has no output '{parts[0]}'")


def _arguments(function: Any, attrs: Mapping[str, Any]) -> list[Source]:
    return [
        (arg.name, number)
        for arg in function.signature.input_arg
        for number in range(_count(arg, attrs))
    ]


def _list_of(function: Any, arg: Any, attrs: Mapping[str, Any]) -> Iterable[str]:
    """Yield the names of all tensors of one result of the function. The result may be a list."""
    text = function.ret.get(arg.name, "")
    if not (arg.number_attr or arg.type_list_attr):
        yield text
        return
    stem, _, number = text.rpartition(":")
    for index in range(_count(arg, attrs)):
        yield f"{stem}:{int(number) + index}" if number.isdigit() else f"{text}:{index}"


def _count(arg: ArgDef | Any, attrs: Mapping[str, Any]) -> int:
    """Return the number of tensors in an argument. The argument is a list if it has a number attr
    or a type list attr.

    Args:
      attrs: AttrValue messages by name.
    """
    if arg.number_attr:
        return int(attrs[arg.number_attr].i)
    return len(attrs[arg.type_list_attr].list.type) if arg.type_list_attr else 1


def _with_attrs(node: Any, attrs: Mapping[str, Any]) -> Any:
    """Return a copy of a node of a body, with the attrs of the call in place of placeholders."""
    copy = messages_pb2.NodeDef()
    copy.CopyFrom(node)
    for value in copy.attr.values():
        _fill(value, attrs)
    return copy


def _fill(value: Any, attrs: Mapping[str, Any]) -> None:
    field = value.WhichOneof("value")
    if field == "placeholder":
        if value.placeholder not in attrs:
            raise ValueError(f"The call gives no value for the attr '{value.placeholder}'")
        value.CopyFrom(attrs[value.placeholder])
    elif field == "func":
        for inner in value.func.attr.values():
            _fill(inner, attrs)
    elif field == "list":
        for function in value.list.func:
            for inner in function.attr.values():
                _fill(inner, attrs)
