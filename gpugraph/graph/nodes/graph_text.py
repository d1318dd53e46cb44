"""Runtime graphs as text, one node per line: for dumps, and for tests that start from a graph.

    # comment
    op TwoOut(int32, float32) -> 2
    a = Const() {value=1.5, dtype=float32}
    b = TwoOut(n, a) @/device:GPU:0 @@/job:localhost/replica:0/task:0/device:GPU:0
    c = Add(a, b:1, ^d) {T=float32, _class=['loc:@a'], shape=shape(2,?)}

Inputs are written as in a NodeDef. `@` precedes the requested device and `@@` the assigned device.
The value of an attr is written as a dtype's name, `shape(2,?)` (`shape(*)` if even the rank is
unknown), a Python literal, or a list of such values. Any other value is written as `<...>` and
cannot be read back. A line may use nodes that are described by later lines.

The reader takes the dtypes of a node from the OpDef of its op type. If a line omits an attr, the
attr is derived from inputs that earlier lines define, or else has its default. An `op` line
declares the inputs and outputs of an op type, as a count of float32 tensors or as dtypes. An
undeclared op type has any number of float32 inputs and one float32 output.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gpugraph.base.dtypes import DType, as_dtype, float32
from gpugraph.base.errors import OpError
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.nodes.graph_walks import topological_order
from gpugraph.graph.nodes.node_and_edge import Node
from gpugraph.graph.nodes.runtime_graph import RuntimeGraph
from gpugraph.graph.op_def import ArgDef, OpDef

_NODE = re.compile(
    r"(?P<name>\S+) = (?P<type>\w+)(\((?P<inputs>[^()]*)\))?"
    r"( @(?P<device>[^@\s]\S*))?( @@(?P<assigned>\S+))?( \{(?P<attrs>.*)\})?"
)
_OP = re.compile(r"op (?P<type>\w+)\((?P<inputs>[^()]*)\)( -> (?P<outputs>.*))?")
_INPUT = re.compile(r"(?P<control>\^)?(?P<name>[^:^\s]+)(:(?P<slot>\d+))?")
_SHAPE = re.compile(r"shape\((?P<sizes>[^()]*)\)")
_OPENING, _CLOSING = "([{<", ")]}>"
_LONGEST_OPAQUE = 60


# Writing


def format_graph(graph: RuntimeGraph) -> str:
    """Return the graph as text, one line per op, in topological order.

    Raises InvalidArgumentError for a cycle.
    """
    return "".join(format_node(node) + "\n" for node in topological_order(graph))


def format_node(node: Node) -> str:
    """Return the line of one node: name, op type, inputs, devices, attrs."""
    text = f"{node.name} = {node.type}({', '.join(node.input_names())})"
    if node.requested_device:
        text += f" @{node.requested_device}"
    if node.assigned_device:
        text += f" @@{node.assigned_device}"
    attrs = ", ".join(f"{key}={_format(node.attrs[key])}" for key in sorted(node.attrs))
    return f"{text} {{{attrs}}}" if attrs else text


def _format(value: Any) -> str:
    if isinstance(value, DType):
        return value.name
    if isinstance(value, TensorShape):
        sizes = ["*"] if value.sizes is None else value.sizes
        return f"shape({','.join('?' if size is None else str(size) for size in sizes)})"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_format(item) for item in value)}]"
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        return repr(value)
    text = " ".join(repr(value).split())
    return f"<{text if len(text) <= _LONGEST_OPAQUE else text[: _LONGEST_OPAQUE - 3] + '...'}>"


# Reading


class _Input(NamedTuple):
    name: str
    slot: int
    is_control: bool


@dataclass(slots=True)
class _Line:
    """A parsed line that describes a node.

    Attributes:
      number: the line number.
    """

    number: int
    name: str
    type: str
    inputs: list[_Input]
    device: str
    assigned: str
    attrs: dict[str, Any]


def parse_graph(text: str, op_defs: Mapping[str, OpDef]) -> RuntimeGraph:
    """Return the graph that `text` describes.

    Raises ValueError, which names the line, if a line is malformed, if the graph rejects the line
    (the graph's error is then the cause), or if dtypes can't be determined.

    Args:
      op_defs: signatures by op type.
    """
    graph = RuntimeGraph()
    known = dict(op_defs)
    written: list[tuple[_Line, Node]] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        try:
            if declared := _OP.fullmatch(line):
                known[declared["type"]] = _declared(**declared.groupdict())
            else:
                parsed = _parse_line(number, line)
                written.append((parsed, _add_node(graph, parsed, known)))
        except (ValueError, TypeError, OpError) as error:
            raise ValueError(f"line {number}: {error}: {line}") from error
    for parsed, node in written:
        try:
            _add_edges(graph, parsed, node)
        except (ValueError, TypeError, OpError) as error:
            raise ValueError(f"line {parsed.number}: {error}") from error
    return graph


def _parse_line(number: int, line: str) -> _Line:
    match = _NODE.fullmatch(line)
    if match is None:
        raise ValueError("not a node, such as 'c = Add(a, b:1, ^d) @/gpu:0 {T=float32}'")
    attrs = {}
    for item in _split(match["attrs"] or ""):
        key, equals, value = item.partition("=")
        if not equals:
            raise ValueError(f"'{item}' is not an attr")
        attrs[key.strip()] = _parse_value(value.strip())
    return _Line(
        number,
        match["name"],
        match["type"],
        [_parse_input(item) for item in _split(match["inputs"] or "")],
        match["device"] or "",
        match["assigned"] or "",
        attrs,
    )


def _parse_input(text: str) -> _Input:
    match = _INPUT.fullmatch(text)
    if match is None or (match["control"] and match["slot"]):
        raise ValueError(f"'{text}' is not an input")
    return _Input(match["name"], int(match["slot"] or 0), bool(match["control"]))


def _parse_value(text: str) -> Any:
    if text.startswith("[") and text.endswith("]"):
        return [_parse_value(item) for item in _split(text[1:-1])]
    if shape := _SHAPE.fullmatch(text):
        sizes = _split(shape["sizes"])
        return TensorShape(None if sizes == ["*"] else [_size(size) for size in sizes])
    if text.startswith("<"):
        raise ValueError(f"the value {text} cannot be read back")
    for read in (ast.literal_eval, as_dtype, float):
        try:
            return read(text)
        except (ValueError, TypeError, SyntaxError):
            continue
    raise ValueError(f"'{text}' is not an attr value")


def _size(text: str) -> int | None:
    return None if text == "?" else int(text)


def _split(text: str) -> list[str]:
    """Split `text` at the commas that are outside of quotes and brackets."""
    parts, start, depth, quote, skip = [], 0, 0, "", False
    for index, char in enumerate(text):
        if skip:
            skip = False
        elif quote:
            skip = char == "\\"
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
        else:
            depth += (char in _OPENING) - (char in _CLOSING)
    parts.append(text[start:].strip())
    return [] if parts == [""] else parts


# Typing


def _declared(type: str, inputs: str, outputs: str | None) -> OpDef:
    """Return the OpDef that an `op` line declares."""
    return _op_def(type, _declared_types(inputs), _declared_types(outputs or ""))


def _declared_types(text: str) -> list[DType]:
    if text.strip().isdigit():
        return [float32] * int(text)
    try:
        return [as_dtype(item) for item in _split(text)]
    except TypeError as error:
        raise ValueError(f"{error}") from None


def _op_def(type: str, inputs: Sequence[DType], outputs: Sequence[DType]) -> OpDef:
    def args(prefix: str, dtypes: Sequence[DType]) -> tuple[ArgDef, ...]:
        return tuple(
            ArgDef(f"{prefix}{i}", type=d.base_dtype, is_ref=d.is_ref_dtype)
            for i, d in enumerate(dtypes)
        )

    return OpDef(type, args("in", inputs), args("out", outputs))


def _add_node(graph: RuntimeGraph, line: _Line, known: Mapping[str, OpDef]) -> Node:
    data = [item for item in line.inputs if not item.is_control]
    op_def = known.get(line.type)
    if op_def is None:
        op_def = _op_def(line.type, [float32] * len(data), [float32])
    _infer_attrs(op_def, line.attrs, [_type_of(graph, item) for item in data])
    input_types = _arg_types(op_def.inputs, line.attrs)
    if len(input_types) != len(data):
        raise ValueError(f"{line.type} takes {len(input_types)} inputs, not {len(data)}")
    node = graph.add_node(
        line.name,
        op_def,
        attrs=line.attrs,
        input_types=input_types,
        output_types=_arg_types(op_def.outputs, line.attrs),
        requested_device=line.device,
        origin=f"line {line.number}",
    )
    node.assigned_device = line.assigned
    return node


def _type_of(graph: RuntimeGraph, item: _Input) -> DType | None:
    """Return the dtype of an input. If a later line describes its node, or the node has no such
    output, return None.
    """
    src = graph.find(item.name)
    known = src is not None and item.slot < src.num_outputs
    return src.output_types[item.slot].base_dtype if src is not None and known else None


def _infer_attrs(op_def: OpDef, attrs: dict[str, Any], dtypes: list[DType | None]) -> None:
    """Add the attrs that the line omits to `attrs`. The values of these attrs follow from the
    dtypes of the inputs, or else are the defaults.
    """
    start = 0
    for place, arg in enumerate(op_def.inputs):
        count = 1
        if arg.is_list:
            left = len(dtypes) - start - (len(op_def.inputs) - place - 1)
            known = attrs.get(arg.number_attr, attrs.get(arg.type_list_attr))
            count = left if known is None else known if arg.number_attr else len(known)
        types = dtypes[start : start + count]
        start += count
        if arg.number_attr:
            attrs.setdefault(arg.number_attr, count)
        if arg.type_list_attr and None not in types:
            attrs.setdefault(arg.type_list_attr, types)
        if arg.type_attr and any(types):
            attrs.setdefault(arg.type_attr, next(dtype for dtype in types if dtype))
    for name, attr in op_def.attrs.items():
        if attr.has_default:
            attrs.setdefault(name, attr.default)


def _arg_types(args: Sequence[ArgDef], attrs: Mapping[str, Any]) -> list[DType]:
    """Return the dtypes of all input or output tensors: one dtype for each tensor of a list
    argument.
    """
    types: list[DType] = []
    for arg in args:
        for name in (arg.type_attr, arg.number_attr, arg.type_list_attr):
            if name and name not in attrs:
                raise ValueError(f"attr {name} must be written")
        if arg.type_list_attr:
            arg_types = [as_dtype(dtype) for dtype in attrs[arg.type_list_attr]]
        else:
            arg_types = [as_dtype(attrs[arg.type_attr] if arg.type_attr else arg.type)]
            arg_types *= int(attrs[arg.number_attr]) if arg.number_attr else 1
        types += [dtype._as_ref for dtype in arg_types] if arg.is_ref else arg_types
    return types


def _add_edges(graph: RuntimeGraph, line: _Line, node: Node) -> None:
    slot = 0
    for item in line.inputs:
        src = graph.find(item.name)
        if src is None:
            raise ValueError(f"no node is called '{item.name}'")
        if item.is_control:
            graph.add_control_edge(src, node)
        else:
            graph.add_edge(src, item.slot, node, slot)
            slot += 1
