"""Signatures from OpDef messages, for functions and for op types that are declared only in a
file.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.formats.attr_value_messages import read_attr_value
from gpugraph.graph.op_def import ArgDef, AttrDef, OpDef


def op_def_of_message(message: Any) -> OpDef:
    """Return the signature in an OpDef message, without shape inference.

    Raises ValueError or TypeError if a dtype or default is invalid.
    """
    return OpDef(
        message.name,
        tuple(map(_arg, message.input_arg)),
        tuple(map(_arg, message.output_arg)),
        {attr.name: _attr(attr) for attr in message.attr},
        is_stateful=message.is_stateful,
        is_commutative=message.is_commutative,
        allows_uninitialized_input=message.allows_uninitialized_input,
    )


def _arg(message: Any) -> ArgDef:
    return ArgDef(
        message.name,
        as_dtype(message.type) if message.type else None,
        message.type_attr,
        message.number_attr,
        message.type_list_attr,
        message.is_ref,
    )


def _attr(message: Any) -> AttrDef:
    allowed: list[DType] = []
    if message.type in ("type", "list(type)"):
        allowed = [as_dtype(number) for number in message.allowed_values.list.type]
    has_default = message.HasField("default_value")
    return AttrDef(
        message.name,
        message.type,
        read_attr_value(message.default_value) if has_default else None,
        has_default,
        tuple(allowed),
        message.minimum if message.has_minimum else None,
    )
