"""Conversion of the values of attrs to AttrValue messages and back.

A value is plain Python: a number, a string, a `DType`, a `TensorShape`, an array, or a list of one
of these. A function is a NameAttrList message, or an object that creates one. The attr's kind, such
as `"list(int)"`, determines the field of the AttrValue. If the kind is unknown, because the attr is
in no signature (such as `_class`), the kind is derived from the value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.formats.tensor_proto import tensor_array, tensor_proto_of

_FIELDS = {"string": "s", "int": "i", "float": "f", "bool": "b"}
_FIELDS |= {name: name for name in ("type", "shape", "tensor", "func")}
"""By kind of attr, the field of an AttrValue that holds the value."""

KINDS = {field: kind for kind, field in _FIELDS.items()}
"""By field of an AttrValue, the kind of attr."""


def as_bytes(text: str | bytes) -> bytes:
    """Return the bytes from which `as_text` has decoded a string."""
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")


def as_text(content: bytes) -> str:
    """Return bytes as a string. Invalid UTF-8 is escaped as surrogates, which is reversible."""
    return content.decode("utf-8", "surrogateescape")


def kind_of(value: Any) -> str:
    """Return the kind of attr that can hold a value. For an empty list, return `"list()"`."""
    if isinstance(value, (list, tuple)):
        return f"list({kind_of(value[0]) if value else ''})"
    for types, kind in (
        ((str, bytes), "string"),
        ((bool, np.bool_), "bool"),
        ((int, np.integer), "int"),
        ((float, np.floating), "float"),
        (DType, "type"),
        (TensorShape, "shape"),
        (np.ndarray, "tensor"),
    ):
        if isinstance(value, types):
            return kind
    if getattr(getattr(value, "DESCRIPTOR", None), "name", "") == "NameAttrList" or hasattr(
        value, "as_name_attr_list"
    ):
        return "func"
    raise TypeError(f"An attr can't hold {value!r}")


_PLAIN: dict[str, Callable[[Any], Any]] = {
    "string": as_bytes,
    "int": int,
    "float": float,
    "bool": bool,
    "type": lambda dtype: dtype.as_datatype_enum,
}
_MESSAGES: dict[str, Callable[[Any], Any]] = {
    "shape": lambda shape: as_shape(shape).as_proto(),
    "tensor": lambda array: tensor_proto_of(array, as_dtype(array.dtype), array.shape),
    "func": lambda function: getattr(function, "as_name_attr_list", lambda: function)(),
}


def write_attr(message: Any, value: Any, kind: str = "") -> None:
    """Store a value in the AttrValue `message`. Raises TypeError if no attr can hold the value.

    Args:
      kind: the attr's kind. If the kind is empty, the kind is derived from the value.
    """
    kind = kind or kind_of(value)
    if kind in _PLAIN:
        setattr(message, _FIELDS[kind], _PLAIN[kind](value))
    elif kind in _MESSAGES:
        getattr(message, _FIELDS[kind]).CopyFrom(_MESSAGES[kind](value))
    else:
        message.list.SetInParent()
        element = kind[len("list(") : -1]
        if value:
            convert = _PLAIN.get(element) or _MESSAGES[element]
            getattr(message.list, _FIELDS[element]).extend([convert(item) for item in value])


_READERS: dict[str, Callable[[Any], Any]] = {
    "s": as_text,
    "type": as_dtype,
    "shape": as_shape,
    "tensor": tensor_array,
}


def read_attr_value(message: Any) -> Any:
    """Return the value in an AttrValue. If the message is empty, return None.

    Strings in lists are returned as bytes.

    Raises ValueError or TypeError if a dtype, shape or tensor is invalid. Also raises ValueError
    for a placeholder, which may only occur in a function's body.
    """
    field = message.WhichOneof("value")
    if field is None:
        return None
    if field == "placeholder":
        raise ValueError(f"holds the placeholder '{message.placeholder}' of a function's body")
    if field != "list":
        value = getattr(message, field)
        return _READERS[field](value) if field in _READERS else value
    for descriptor, values in message.list.ListFields():
        read = None if descriptor.name == "s" else _READERS.get(descriptor.name)
        return list(values) if read is None else [read(item) for item in values]
    return []


def plain_attr(value: Any) -> Any:
    """Return the value in an AttrValue. If the value is a string, return the string as `str`.

    A value that is not a message is returned unchanged.
    """
    plain = read_attr_value(value) if hasattr(value, "WhichOneof") else value
    return as_text(plain) if isinstance(plain, bytes) else plain
