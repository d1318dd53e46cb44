"""Signatures and dtypes in the notation of TensorFlow's runtime, for the errors of an import."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpugraph.base.dtypes import DType, runtime_name
from gpugraph.formats import messages_pb2
from gpugraph.graph.client.node_messages import op_def_message
from gpugraph.graph.op_def import OpDef


def type_text(dtype: DType) -> str:
    """Return a dtype's name in the runtime: `float`, `float_ref`, `half`."""
    return runtime_name(dtype) + ("_ref" if dtype.is_ref_dtype else "")


def types_text(types: Iterable[DType]) -> str:
    """Return the names of several dtypes, separated by commas."""
    return ", ".join(map(type_text, types))


def signature_text(op_def: OpDef) -> str:
    """Return `Op<name=Neg; signature=x:T -> y:T; attr=T:type,allowed=[DT_HALF, ...]>`."""
    message = op_def_message(op_def)
    inputs = ", ".join(map(_arg_text, message.input_arg))
    outputs = ", ".join(map(_arg_text, message.output_arg))
    attrs = "".join(f"; attr={_attr_text(attr)}" for attr in message.attr)
    stateful = "; is_stateful=true" if message.is_stateful else ""
    return f"Op<name={op_def.name}; signature={inputs} -> {outputs}{attrs}{stateful}>"


def _arg_text(arg: Any) -> str:
    element = arg.type_attr or arg.type_list_attr
    if not element:
        element = messages_pb2.DataType.Name(arg.type).removeprefix("DT_").lower()
        element = {"half": "half", "float": "float"}.get(element, element)
    count = f"{arg.number_attr}*" if arg.number_attr else ""
    return f"{arg.name}:{f'Ref({count}{element})' if arg.is_ref else count + element}"


def _attr_text(attr: Any) -> str:
    text = f"{attr.name}:{attr.type}"
    if attr.HasField("default_value"):
        text += f",default={_value_text(attr.default_value)}"
    if attr.has_minimum:
        text += f",min={attr.minimum}"
    if attr.HasField("allowed_values"):
        text += f",allowed={_value_text(attr.allowed_values)}"
    return text


def _value_text(value: Any) -> str:
    field = value.WhichOneof("value")
    if field == "list":
        items = [_item_text(key.name, item) for key, items in value.list.ListFields()
                 for item in items]  # fmt: skip
        return f"[{', '.join(items)}]"
    return _item_text(field, getattr(value, field))


def _item_text(field: str, item: Any) -> str:
    if field == "type":
        return str(messages_pb2.DataType.Name(item))
    if field == "s":
        return '"' + item.decode("utf-8", "replace") + '"'
    return str(item).lower() if field == "b" else str(item).strip().replace("\n", " ")
