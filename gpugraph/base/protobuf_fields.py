"""Conversion between this package's messages (`base/proto_messages.py`) and protobuf's.

The package `formats` has protobuf's classes. It registers a function that finds them here, so that
`base` need not import `formats`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_finders: list[Callable[[str], Any]] = []


def register_messages(find: Callable[[str], Any]) -> None:
    """Register the function that returns protobuf's class for the name of a message.
    `message_class` calls it.
    """
    _finders[:] = [find]


def message_class(name: str) -> Any:
    """Return protobuf's class of the TensorFlow message `name`."""
    return _finders[0](name)


def protobuf_class(name: str) -> Any:
    """Return protobuf's class of a message.

    A nested message is named by its path, such as `GPUOptions.Experimental`.
    """
    outer, *inner = name.split(".")
    message_type = message_class(outer)
    for part in inner:
        message_type = getattr(message_type, part)
    return message_type


def _is_message(value: Any) -> bool:
    return hasattr(value, "_fields")


def _is_list_of_messages(value: Any) -> bool:
    return isinstance(value, list) and hasattr(value, "add")


def set_protobuf(message: Any, target: Any) -> None:
    """Copy the set fields of a message to protobuf's message `target`.

    Fields that `target` lacks are skipped.
    """
    known = target.DESCRIPTOR.fields_by_name
    for name, value in message._set_fields():
        if name not in known:
            continue
        if _is_message(value):
            getattr(target, name).SetInParent()
            set_protobuf(value, getattr(target, name))
        elif _is_list_of_messages(value):
            for item in value:
                set_protobuf(item, getattr(target, name).add())
        elif isinstance(value, dict):
            _fill_map(getattr(target, name), value)
        elif isinstance(value, list):
            getattr(target, name).extend(value)
        elif known[name].message_type:  # a protobuf message, such as step_stats
            getattr(target, name).CopyFrom(value)
        else:
            setattr(target, name, value)


def _fill_map(target: Any, values: dict[Any, Any]) -> None:
    for key, value in values.items():
        if hasattr(value, "DESCRIPTOR"):
            target[key].CopyFrom(value)
        else:
            target[key] = value


def take_protobuf(message: Any, source: Any) -> None:
    """Copy the set fields of protobuf's message `source` to `message`.

    Fields that `message` lacks are skipped.
    """
    for field, value in source.ListFields():
        name = field.name
        if name not in message._fields:
            continue
        current = getattr(message, name)
        if _is_message(current):
            current.SetInParent()
            take_protobuf(current, value)
        elif _is_list_of_messages(current):
            for item in value:
                take_protobuf(current.add(), item)
        elif isinstance(current, dict):
            setattr(message, name, dict(value))
        else:
            setattr(message, name, list(value) if isinstance(current, list) else value)
