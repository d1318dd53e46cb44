"""Operations, signatures and graphs as protobuf messages: the serialization behind `as_graph_def`.

Attrs that an op type has only in this package, and not in TensorFlow, are not written. Op types
that exist only in this package are written as equivalent nodes of TensorFlow's op types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from gpugraph.base.dtypes import as_dtype, bool as bool_type
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.formats import messages_pb2
from gpugraph.formats.attr_value_messages import as_bytes, write_attr
from gpugraph.formats.tensor_proto import write_tensor
from gpugraph.graph.client.inlined_call import InlinedCall, LongerCalls, written_calls
from gpugraph.graph.default_types import default_of
from gpugraph.graph.op_def import ArgDef, AttrDef, OpDef, VersionDef

_LARGEST = (2 << 30) - 1
"""The maximum size of a message in bytes, by protobuf."""

OWN_ATTRS = {
    **dict.fromkeys((f"Batch{name}FFT{axes}" for name in ("", "I") for axes in ("", "2D", "3D")),
                    "Tcomplex"),
    "BatchMatrixBandPart": "Tindex",
    "BiasAddV1": "data_format",
    "FixedLengthRecordReader": "encoding",
}  # fmt: skip
"""By op type, the attr that it has in this package but not in TensorFlow."""

_OWN_OP_TYPES = frozenset({"InitializedValue"})
"""Op types that exist only in this package."""

_AGGREGATES = frozenset({"AccumulateNV2", "AddN", "AddV2"})

_STATEFUL_HERE = frozenset(
    ("EnsureShape", "FractionalAvgPool", "FractionalMaxPool", "MatchingFiles", "Placeholder")
    + ("PlaceholderV2", "ReadFile", "TensorSummary")
)
"""Op types that are stateful in this package (neither folded nor merged), but not in TensorFlow."""

_TRANSFORMS = {f"{name}FFT{axes}" for name in ("R", "IR") for axes in ("", "2D", "3D")}
LATER_ATTRS = frozenset(
    {
        ("CollectiveReduce", "timeout_seconds"),
        ("ConcatOffset", "shape_type"),
        *((f"DepthwiseConv2dNative{suffix}", "explicit_paddings")
          for suffix in ("", "BackpropFilter", "BackpropInput")),
        *((name, attr) for name in _TRANSFORMS for attr in ("Treal", "Tcomplex")),
    }
)  # fmt: skip
"""Attrs that TensorFlow has only after 1.15, as (op type, attr).

TensorFlow 1.15 rejects nodes that have them, so messages omit such an attr if it has its default.
"""


def node_def_of(op: Any, call: InlinedCall | None = None) -> Any:
    """Return the operation as a NodeDef.

    Args:
      call: the function call to write in place of its inlined body.
    """
    node = messages_pb2.NodeDef()
    _write_node(node, op, call)
    return node


def _write_node(node: Any, op: Any, call: InlinedCall | None = None) -> None:
    """Fill an empty NodeDef in place, because a copy would double the memory for constant values.

    Args:
      call: the function call to write in place of its inlined body.
    """
    op_def, attrs = (op._op_def, op._attrs) if call is None else (call.op_def, call.attrs)
    inputs, controls = (
        (op._inputs, op._control_inputs) if call is None else (call.inputs, call.control_inputs)
    )
    node.name, node.op, node.device = op.name, op_def.name, op._device
    node.input.extend(
        [
            tensor.op.name if tensor.value_index == 0 else f"{tensor.op.name}:{tensor.value_index}"
            for tensor in inputs
        ]
    )
    node.input.extend([f"^{control.name}" for control in controls])
    local_attr, attr_defs = OWN_ATTRS.get(op_def.name), op_def.attrs
    for key, value in attrs.items():
        if key == local_attr:
            continue
        attr = attr_defs.get(key)
        if (op.type, key) in LATER_ATTRS and value == default_of(op.type, attr_defs[key]):
            continue
        if attr is not None and attr.kind == "tensor":
            _write_constant(node.attr[key].tensor, op, key)
        else:
            write_attr(node.attr[key], value, "" if attr is None else attr.kind)


def _write_constant(proto: Any, op: Any, key: str) -> None:
    """Fill a TensorProto with the value of a tensor attr.

    A constant may have been created from fewer values than its shape has elements. Then only these
    values are written. Readers of the message repeat the last value.
    """
    array = op._attrs[key]
    dtype = op._attrs["dtype"] if op.type == "Const" else as_dtype(array.dtype)
    count = op.graph._value_counts.get(op)
    if count is None:
        write_tensor(proto, array, dtype, array.shape)
    else:
        write_tensor(proto, array.reshape(-1)[:count], dtype, array.shape, as_values=True)


def public_attr(op: Any, name: str) -> Any:
    """Return the value of an attr in the form that `Operation.get_attr` returns."""
    value = op._attrs[name]
    if isinstance(value, str):
        return as_bytes(value)
    if isinstance(value, TensorShape):
        return value.as_proto()
    if isinstance(value, (list, tuple)):
        attr = op._op_def.attrs.get(name)
        if attr is not None and attr.kind == "list(shape)":
            return [as_shape(shape).as_proto() for shape in value]
        return [as_bytes(item) if isinstance(item, str) else item for item in value]
    if not hasattr(value, "dtype"):
        return value.as_name_attr_list() if hasattr(value, "as_name_attr_list") else value
    proto = messages_pb2.TensorProto()
    _write_constant(proto, op, name)
    return proto


def op_def_message(op_def: OpDef) -> Any:
    """Return a signature as an OpDef message, without descriptions."""
    message = messages_pb2.OpDef(
        name=op_def.name,
        is_commutative=op_def.is_commutative,
        is_aggregate=op_def.name in _AGGREGATES,
        is_stateful=is_stateful_in_tensorflow(op_def),
        allows_uninitialized_input=op_def.allows_uninitialized_input,
    )
    local_attr = op_def.attrs.get(OWN_ATTRS.get(op_def.name, ""))
    message.input_arg.extend([_arg_message(arg, op_def.name, local_attr) for arg in op_def.inputs])
    message.output_arg.extend(
        [_arg_message(arg, op_def.name, local_attr) for arg in op_def.outputs]
    )
    if op_def.deprecation is not None:
        version, explanation = op_def.deprecation
        message.deprecation.version, message.deprecation.explanation = version, explanation
    for attr in op_def.attrs.values():
        if attr is local_attr:
            continue
        attr_message = message.attr.add(name=attr.name, type=attr.kind)
        default = default_of(op_def.name, attr)
        if default is not None:
            write_attr(attr_message.default_value, default, attr.kind)
        if attr.minimum is not None:
            attr_message.has_minimum, attr_message.minimum = True, attr.minimum
        if attr.allowed:
            kind = "list(string)" if attr.kind == "string" else "list(type)"
            write_attr(attr_message.allowed_values, attr.allowed, kind)
    return message


def is_stateful_in_tensorflow(op_def: OpDef) -> bool:
    """Return whether TensorFlow declares the op type of `op_def` as stateful."""
    is_exempt = op_def.name in _STATEFUL_HERE or any(arg.is_ref for arg in op_def.inputs)
    return op_def.is_stateful and not is_exempt


def _arg_message(arg: ArgDef, op_type: str, local_attr: AttrDef | None) -> Any:
    if local_attr is not None and arg.type_attr == local_attr.name:
        arg = arg._replace(type=default_of(op_type, local_attr), type_attr="")
    message = messages_pb2.OpDef.ArgDef(
        name=arg.name,
        type_attr=arg.type_attr,
        number_attr=arg.number_attr,
        type_list_attr=arg.type_list_attr,
        is_ref=arg.is_ref,
    )
    if arg.type is not None:
        message.type = arg.type.as_datatype_enum
    return message


def graph_def_of(
    ops: Iterable[Any],
    versions: VersionDef,
    add_shapes: bool,
    functions: Mapping[str, Any] = MappingProxyType({}),
    sort_controls: bool = True,
) -> Any:
    """Return a GraphDef of the operations.

    Raises ValueError if the message would exceed 2 GiB, protobuf's limit.

    Args:
      add_shapes: whether nodes get the static shapes of their outputs, as `_output_shapes`.
      functions: FunctionDef messages or GraphFunctions by name, for the library. If there are none,
        inlined function bodies are written instead of calls.
      sort_controls: whether control inputs are sorted by name. Otherwise control inputs keep the
        order in which they were added.
    """
    ops = list(ops)
    if sum(map(_min_bytes, ops)) > _LARGEST:
        raise ValueError("GraphDef cannot be larger than 2GB.")
    graph_def = messages_pb2.GraphDef(versions=version_message(versions))
    if functions:
        _write_library(graph_def.library, functions)
    longer, added = LongerCalls(), dict[str, Any]()
    calls, unwritten = written_calls(ops, (), longer) if functions else ({}, set())
    for op in ops:
        if op in unwritten:
            continue
        node = graph_def.node.add()
        call = calls.get(op)
        if call is not None and op in longer.results:
            call = call._replace(attrs=longer.attrs_of(op, call))
            added[call.attrs["f"].name] = call.attrs["f"]
        _write_node(node, op, call)
        controls = len(op._control_inputs if call is None else call.control_inputs)
        if controls > 1 and sort_controls:
            node.input[-controls:] = sorted(node.input[-controls:])
        if add_shapes and op._outputs:
            shapes: list[TensorShape] = [tensor._shape for tensor in op._outputs]
            write_attr(node.attr["_output_shapes"], shapes, "list(shape)")
        if node.op in _OWN_OP_TYPES:
            graph_def.node.extend(_as_tensorflow_s(graph_def.node.pop()))
    if longer.results:
        known = {function.signature.name for function in graph_def.library.function}
        new = {name: function for name, function in added.items() if name not in known}
        _write_library(graph_def.library, new)
        _rename_inputs(graph_def, longer)
    return graph_def


def _rename_inputs(graph_def: Any, longer: LongerCalls) -> None:
    """Change the inputs of nodes from omitted tensors inside calls to the results of these
    calls.
    """
    names = longer.names()
    callers = {member.name: op.name for op in longer.results for member in op._call.body}
    for node in graph_def.node:
        for place, name in enumerate(node.input):
            if name.startswith("^") and name[1:] in callers:
                node.input[place] = f"^{callers[name[1:]]}"
            elif name in names:
                node.input[place] = names[name]
        for place, text in enumerate(node.attr["_class"].list.s if "_class" in node.attr else ()):
            member = text.decode().removeprefix("loc:@")
            if member in callers:
                node.attr["_class"].list.s[place] = f"loc:@{callers[member]}".encode()


def _write_library(library: Any, functions: Mapping[str, Any]) -> None:
    """Add functions, and the names of their gradient functions, to a FunctionDefLibrary."""
    for name, function in functions.items():
        is_message = not hasattr(function, "definition")
        library.function.append(function if is_message else function.definition())
        if gradient := getattr(function, "gradient_name", ""):
            library.gradient.add(function_name=name, gradient_func=gradient)


def _as_tensorflow_s(node: Any) -> list[Any]:
    """Return nodes of TensorFlow's op types that are equivalent to an InitializedValue node.

    The last node has the name and the outputs of `node`.
    """
    name, dtype = node.name, node.attr["T"]
    variable, initial, *controls = node.input

    def part(suffix: str, op: str, inputs: list[str], key: str = "T", is_bool: bool = False) -> Any:
        message = messages_pb2.NodeDef(
            name=f"{name}{suffix}", op=op, input=inputs, device=node.device
        )
        if is_bool:
            write_attr(message.attr[key], bool_type, "type")
        else:
            message.attr[key].CopyFrom(dtype)
        return message

    pred = f"{name}/pred_id"
    merge = part("", "Merge", [f"{name}/Switch", f"{name}/read", *controls])
    write_attr(merge.attr["N"], 2, "int")
    return [
        part("/IsVariableInitialized", "IsVariableInitialized", [variable, *controls], "dtype"),
        part("/pred_id", "Identity", [f"{name}/IsVariableInitialized"], is_bool=True),
        part("/Switch", "Switch", [initial, pred]),
        part("/read/Switch", "RefSwitch", [variable, pred]),
        part("/read", "Identity", [f"{name}/read/Switch:1"]),
        merge,
    ]


def version_message(versions: VersionDef) -> Any:
    """Return versions as a VersionDef message."""
    return messages_pb2.VersionDef(
        producer=versions.producer,
        min_consumer=versions.min_consumer,
        bad_consumers=versions.bad_consumers,
    )


def _min_bytes(op: Any) -> int:
    """Return a lower bound of the size of the operation's message: the bytes of names and constant
    values.
    """
    num_bytes = len(op.name) + sum(len(tensor.op.name) for tensor in op._inputs)
    if op.type != "Const":
        return num_bytes
    array = op._attrs["value"]
    count = op.graph._value_counts.get(op, array.size)
    if array.dtype.hasobject:
        return num_bytes + sum(map(len, array.reshape(-1)[:count].tolist()))
    return num_bytes + int(array.itemsize * count)
