"""The attrs of a node in a file. The attrs are read according to the op type's signature, checked,
and completed by defaults.

The errors are the same as in TensorFlow's node_def_util.cc.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.building.graph_files.op_def_text import signature_text, type_text, types_text
from gpugraph.formats.attr_value_messages import KINDS, as_text, read_attr_value
from gpugraph.formats.tensor_proto import proto_value_count
from gpugraph.graph.attr_values import quoted
from gpugraph.graph.client.node_messages import OWN_ATTRS
from gpugraph.graph.client.op_inference import arg_types
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.default_types import default_of
from gpugraph.graph.op_def import AttrDef, OpDef

_LATER: dict[str, list[Any] | None] = {
    "allow_missing_files": [False],
    "allowed_devices": [[]],
    "axis": [-1],
    "bad_indices_policy": [""],
    "blank_index": [-1],
    "debug_name": None,
    "force_synchronous": None,
    "dtype": ["float32"],
    "ensure_minimum_range": [0.009999999776482582],
    "explicit_paddings": [[]],
    "exponential_avg_factor": [1.0],
    "grad_a": None,
    "grad_b": None,
    "grad_x": None,
    "grad_y": None,
    "index_type": ["int32"],
    "metadata": [""],
    "method": ["bilinear"],
    "multiply_linear_by_lr": [False],
    "narrow_range": [False],
    "offset": [0],
    "perturb_singular": [False],
    "replicate_on_split": None,
    "sparse_gradient": [False],
    "timeout_seconds": [0.0],
    "T_threshold": ["float32"],
    "TInput": None,
    "Tk": ["int32"],
    "Tsegmentids": ["int32"],
    "Tshape": ["int32"],
    "use_unbounded_threadpool": None,
    "warm_start": None,
    "validate_shape": [False, True],  # of AssignVariableOp; shapes are checked here in any case
}
"""Attrs that later versions of TensorFlow add to op types, with the values for which the op is as
in 1.15.

None means any value. On import, attrs with such a value are dropped. Nodes with other values need a
later TensorFlow and are rejected.
"""


_MANY = 256
"""The limit on the inputs of one node is at least this number."""


def node_error(message: str, name: str, op_def: OpDef) -> ValueError:
    """Return an error that names the node and the signature that it violates."""
    return ValueError(f"{message}; NodeDef: {{{{node {name}}}}}; {signature_text(op_def)}")


def read_attrs(node: Any, op_def: OpDef, name: str) -> dict[str, Any]:
    """Return the attrs of a node by name, without attrs that exist only in later versions of
    TensorFlow.

    Raises ValueError if the op type does not have an attr, or if a value is of the wrong kind or
    not allowed.

    Args:
      name: the node's name in the graph, for errors.
    """
    attrs: dict[str, Any] = {}
    for key, message in node.attr.items():
        attr = op_def.attrs.get(key)
        if attr is not None:
            attrs[key] = _value(attr, message, name, op_def)
        elif key[:1] == "_":
            if key != "_output_shapes":
                attrs[key] = _unknown_value(key, message, name, op_def)
        elif not _may_be_dropped(key, message, op_def):
            raise ValueError(
                f"NodeDef mentions attr '{key}' not in {signature_text(op_def)}; NodeDef: "
                f"{{{{node {name}}}}}. (Check whether your GraphDef-interpreting binary is up to "
                "date with your GraphDef-generating binary.)."
            )
    return attrs


def _may_be_dropped(key: str, message: Any, op_def: OpDef) -> bool:
    if key not in _LATER:
        return False
    neutral = _LATER[key]
    if neutral is None:
        return True
    value = read_attr_value(message)
    return (value.name if isinstance(value, DType) else value) in neutral


def _unknown_value(key: str, message: Any, name: str, op_def: OpDef) -> Any:
    try:
        return read_attr_value(message)
    except (TypeError, ValueError) as error:
        raise node_error(f"Attr '{key}' {error}", name, op_def) from error


def _value(attr: AttrDef, message: Any, name: str, op_def: OpDef) -> Any:
    """Return the value of an attr from its AttrValue message. Raises ValueError if the value is not
    allowed.
    """
    field = message.WhichOneof("value")
    kind = "list" if field == "list" else KINDS.get(field, field)
    if kind != attr.kind and not (kind == "list" and attr.kind.startswith("list(")):
        why = f"AttrValue had value with type '{kind}' when '{attr.kind}' expected"
        if field is None:
            why = f"AttrValue missing value with expected type '{attr.kind}'"
        raise node_error(f"{why}\n\t for attr '{attr.name}'\n\t", name, op_def)
    if field == "type":
        return _dtype(attr, message.type, name, op_def)
    if field == "i" and attr.minimum is not None and message.i < attr.minimum:
        why = f"Value for attr '{attr.name}' of {message.i} must be at least minimum"
        raise node_error(f"{why} {attr.minimum}\n\t", name, op_def)
    if field == "list":
        return _list(attr, message, name, op_def)
    if attr.kind == "string" and attr.allowed:
        _check_text(attr, as_text(message.s), name, op_def)
    try:
        return read_attr_value(message)
    except (TypeError, ValueError) as error:
        raise node_error(f"{error}\n\t for attr '{attr.name}'\n\t", name, op_def) from error


def _dtype(attr: AttrDef, number: int, name: str, op_def: OpDef) -> DType:
    try:
        dtype = as_dtype(number)
    except TypeError:
        why = f"AttrValue has invalid DataType enum: {number}\n\t for attr '{attr.name}'\n\t"
        raise node_error(why, name, op_def) from None
    if attr.allowed and dtype not in attr.allowed:
        raise node_error(
            f"Value for attr '{attr.name}' of {types_text([dtype])} is not in the list of allowed "
            f"values: {types_text(attr.allowed)}\n\t",
            name,
            op_def,
        )
    return dtype


def _check_text(attr: AttrDef, text: str, name: str, op_def: OpDef) -> None:
    if text not in attr.allowed:
        raise node_error(
            f"Value for attr '{attr.name}' of \"{text}\" is not in the list of allowed values: "
            f"{quoted(attr.allowed)}\n\t",
            name,
            op_def,
        )


def _list(attr: AttrDef, message: Any, name: str, op_def: OpDef) -> list[Any]:
    wanted = attr.kind[len("list(") : -1]
    for descriptor, values in message.list.ListFields():
        kind = KINDS.get(descriptor.name, "")
        if kind != wanted:
            why = f"AttrValue had value with type 'list({kind})' when '{attr.kind}' expected"
            raise node_error(f"{why}\n\t for attr '{attr.name}'\n\t", name, op_def)
        if kind == "type":
            return [_dtype(attr, number, name, op_def) for number in values]
        if kind == "string":
            return [as_text(value) for value in values]
    result: list[Any] = read_attr_value(message)
    return result


def complete(attrs: dict[str, Any], op_def: OpDef, types: list[DType], name: str) -> None:
    """Add the default of each missing attr. Raises ValueError if a missing attr has no default.

    Args:
      types: the dtypes of the node's inputs.
      name: the node's name, for errors.
    """
    for key, attr in op_def.attrs.items():
        if key in attrs:
            continue
        default = default_of(op_def.name, attr)
        if default is not None:
            attrs[key] = default
        elif OWN_ATTRS.get(op_def.name) == key:
            attrs[key] = types[-1].base_dtype
        else:
            raise ValueError(
                f"NodeDef missing attr '{key}' from {signature_text(op_def)}; NodeDef: "
                f"{{{{node {name}}}}}"
            )


def check_inputs(
    op_def: OpDef, attrs: Mapping[str, Any], inputs: Sequence[Tensor], name: str
) -> None:
    """Raise ValueError unless the number and dtypes of the inputs match the attrs."""
    wanted = input_types(op_def, attrs, len(inputs))
    if wanted is None or len(wanted) != len(inputs):
        expected = "more inputs" if wanted is None else f"inputs '{types_text(wanted)}'"
        raise node_error(
            f"NodeDef expected {expected} do not match {len(inputs)} inputs specified", name, op_def
        )
    for slot, (tensor, dtype) in enumerate(zip(inputs, wanted)):
        check_type(name, slot, tensor, dtype)


def check_type(name: str, slot: int, tensor: Tensor, wanted: DType) -> None:
    """Raise ValueError unless `tensor`, which is input `slot` of the node `name`, has the dtype
    `wanted`.

    A reference is accepted where a value of its dtype is expected.
    """
    dtype = tensor._dtype
    if dtype is wanted or (dtype.base_dtype is wanted and not wanted.is_ref_dtype):
        return
    raise ValueError(
        f"Input {slot} of node {name} was passed {type_text(dtype)} from {tensor.name} "
        f"incompatible with expected {type_text(wanted)}."
    )


def input_types(op_def: OpDef, attrs: Mapping[str, Any], available: int) -> list[DType] | None:
    """Return the dtypes that the inputs of a node have according to its attrs. If the attrs declare
    too many inputs, return None.

    Args:
      available: the number of inputs that the node has.
    """
    try:
        return arg_types(op_def.inputs, attrs, op_def.name, max(available, _MANY))
    except ValueError:
        return None


def checked_value_count(op: Operation, tensor: Any) -> int | None:
    """Return the number of values in `tensor`, the TensorProto of the constant `op`.

    Returns None if the values are stored as raw bytes. Raises ValueError if the dtype of `tensor`
    is not the dtype of the constant.
    """
    dtype = op._attrs["dtype"]
    if tensor.dtype != dtype.as_datatype_enum:
        raise node_error(
            f"Attr 'value' has the DataType enum {tensor.dtype}, but attr 'dtype' is "
            f"{type_text(dtype)}",
            op.name,
            op._op_def,
        )
    return proto_value_count(tensor)
