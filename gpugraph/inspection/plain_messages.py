"""Plain Python records with the fields of TensorFlow's protobuf messages.

A run collects its statistics in these records, because they are faster than protobuf messages. The
records are converted to messages when a program reads them.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

from gpugraph.formats import messages_pb2
from gpugraph.formats.messages.declaration_text import (
    FieldDeclaration,
    MessageDeclaration,
    read_declarations,
)
from gpugraph.formats.messages.graph_messages import TENSORS
from gpugraph.formats.messages.session_messages import STEP_STATISTICS

_PLAIN = {"string": "", "bool": False, "bytes": b"", "float": 0.0, "double": 0.0}


class PlainMessage(SimpleNamespace):
    """A record that has the fields of a message as attributes.

    Args:
      type_name: the name of TensorFlow's message.
    """

    type_name: str


@cache
def _fields() -> dict[str, tuple[FieldDeclaration, ...]]:
    return {
        declaration.path: tuple(declaration.fields)
        for table in (TENSORS, STEP_STATISTICS)
        for declaration in read_declarations(table)
        if isinstance(declaration, MessageDeclaration)
    }


def plain_message(type_name: str, **values: Any) -> PlainMessage:
    """Return a record with the fields of TensorFlow's message `type_name`. Omitted fields have
    their defaults.

    Raises TypeError for an unknown field.
    """
    fields = {field.name: _default(field) for field in _fields()[type_name]}
    if values.keys() - fields.keys():
        raise TypeError(f"{type_name} has no field {sorted(values.keys() - fields.keys())}")
    message = PlainMessage(**fields | values)
    message.type_name = type_name
    return message


def _default(field: FieldDeclaration) -> Any:
    if field.key_type:
        return {}
    if field.repeated:
        return []
    return None if field.type in _fields() else _PLAIN.get(field.type, 0)


def as_message(plain: PlainMessage) -> Any:
    """Return the record as a protobuf message."""
    message = getattr(messages_pb2, plain.type_name)()
    _fill(message, plain)
    return message


def _fill(message: Any, plain: PlainMessage) -> None:
    for name, value in vars(plain).items():
        if name == "type_name" or not value:
            continue
        target = getattr(message, name)
        if isinstance(value, PlainMessage):
            target.SetInParent()
            _fill(target, value)
        elif isinstance(value, dict):
            target.update(value)
        elif isinstance(value, list) and isinstance(value[0], PlainMessage):
            for item in value:
                _fill(target.add(), item)
        elif isinstance(value, list):
            target.extend(value)
        else:
            setattr(message, name, value)
