"""TensorFlow's messages of ensembles of decision trees: `boosted_trees_pb2.TreeEnsemble`.

The messages are classes of protobuf, which is imported when a name is first accessed.
"""

from __future__ import annotations

from typing import Any

from gpugraph.formats import messages_pb2


def __getattr__(name: str) -> Any:
    """Return a message class, an enumeration, or the number of an enumeration's value.

    Raises AttributeError if the messages do not have the name.
    """
    if not name.startswith("_") and name in messages_pb2.TREE_MESSAGES:
        return messages_pb2.TREE_MESSAGES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
