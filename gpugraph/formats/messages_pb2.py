"""TensorFlow's messages by their names: `messages_pb2.GraphDef`, `messages_pb2.DT_FLOAT`.

The messages are classes of protobuf, which is imported when a name is first accessed.
"""

from __future__ import annotations

import importlib
from typing import Any

from gpugraph.base.interruptions.signal_handlers import uninterrupted
from gpugraph.base.protobuf_fields import register_messages

_FUNCTIONS = (
    *("DESCRIPTOR", "parse_bytes", "DecodeError", "parse_message", "parse_text"),
    *("file_content", "json_of_message", "message_of_json", "SERVICE_MESSAGES", "TREE_MESSAGES"),
)


def __getattr__(name: str) -> Any:
    """Return a message class, an enumeration, the number of an enumeration's value, or a function
    of `message_classes`.

    Raises AttributeError if TensorFlow's messages do not have the name.
    """
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = _find(name)
    return value


@uninterrupted
def _find(name: str) -> Any:
    message_classes = importlib.import_module("gpugraph.formats.messages.message_classes")
    if name in _FUNCTIONS:
        return getattr(message_classes, name)
    if name in message_classes.NAMES:
        return message_classes.NAMES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


register_messages(__getattr__)
