"""Conversion of collection items to messages for a MetaGraphDef: `register_proto_function`.

If a collection has no registered conversion, its items are written as names, strings or numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from gpugraph.formats import messages_pb2


class CollectionProtos(NamedTuple):
    """The functions that convert the items of one collection to messages and back.

    Args:
      proto_type: the class of the messages, or its name in `messages_pb2`.
      to_proto: `to_proto(item, export_scope)` returns a message, or None if the item is outside
        the scope.
      from_proto: `from_proto(message, import_scope)` returns the item in the default graph.
    """

    proto_type: Any = None
    to_proto: Callable[..., Any] | None = None
    from_proto: Callable[..., Any] | None = None

    @property
    def message_class(self) -> Any:
        """The class of the messages."""
        is_name = isinstance(self.proto_type, str)
        return getattr(messages_pb2, self.proto_type) if is_name else self.proto_type


_REGISTERED: dict[str, CollectionProtos] = {}

_OWNERS = {
    "cond_context": "gpugraph.building.control_flow.context_protos",
    "queue_runners": "gpugraph.library.train.coordination.queue_runner",
    "savers": "gpugraph.library.train.savers.saver",
    "while_context": "gpugraph.building.control_flow.context_protos",
}
"""For each collection: the module that registers its conversion when it is imported."""


def register_proto_function(
    collection_name: str,
    proto_type: Any = None,
    to_proto: Callable[..., Any] | None = None,
    from_proto: Callable[..., Any] | None = None,
) -> None:
    """Register the conversion of a collection's items to messages of `proto_type`, and back.

    Raises TypeError for functions that are not callable, and KeyError for a collection that already
    has a registered conversion.
    """
    if to_proto is not None and not callable(to_proto):
        raise TypeError("to_proto must be callable.")
    if from_proto is not None and not callable(from_proto):
        raise TypeError("from_proto must be callable.")
    if collection_name in _REGISTERED:
        raise KeyError(f"Registering two proto_functions with name '{collection_name}'!")
    _REGISTERED[collection_name] = CollectionProtos(proto_type, to_proto, from_proto)


def collection_protos(collection_name: str) -> CollectionProtos:
    """Return the conversion that is registered for a collection. If no conversion is registered,
    return a `CollectionProtos` without functions.
    """
    if collection_name not in _REGISTERED and collection_name in _OWNERS:
        import_module(_OWNERS[collection_name])
    return _REGISTERED.get(collection_name, CollectionProtos())
