"""Collections of a graph, and the keys that TensorFlow's programs use for them."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from typing import Any


class GraphKeys:
    """Standard names of collections."""

    GLOBAL_VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"
    VARIABLES = GLOBAL_VARIABLES  # its name before TensorFlow 1.0


class Collections:
    """Named lists of arbitrary items that belong to a graph."""

    _lock: threading.RLock

    def __init__(self) -> None:
        self._collections: dict[Any, list[Any]] = {}
        self._finalized = False

    def finalize(self) -> None:
        """Make the graph read-only: changes raise RuntimeError."""
        self._finalized = True

    @property
    def finalized(self) -> bool:
        """Whether the graph is read-only."""
        return self._finalized

    def _unsafe_unfinalize(self) -> None:
        self._finalized = False

    def _check_not_finalized(self) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    @property
    def collections(self) -> list[Any]:
        """The names of all collections, including names that are not strings."""
        return list(self._collections)

    def add_to_collection(self, name: Any, value: Any) -> None:
        """Append `value`. Raises RuntimeError if the graph is finalized."""
        self._check_not_finalized()
        with self._lock:
            self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Append `value` once to each of the collections in `names` (one name or several)."""
        keys: Iterable[Any] = (names,) if isinstance(names, str) else dict.fromkeys(names)
        for name in keys:
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """Return the list of the collection itself, not a copy. Changes to the list change the
        collection.

        The collection is created if it does not exist.
        """
        with self._lock:
            return self._collections.setdefault(name, [])

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """Return a copy of the collection.

        Raises ValueError if the regular expression is malformed.

        Args:
          scope: a regular expression. If `scope` is set, only items with a name that starts with a
            match are returned.
        """
        with self._lock:
            items = list(self._collections.get(name, ()))
        if scope is None:
            return items
        try:
            pattern = re.compile(scope)
        except re.error as error:
            raise ValueError(f"scope {scope!r} is not a regular expression: {error}") from error
        return [item for item in items if hasattr(item, "name") and pattern.match(item.name)]

    def get_all_collection_keys(self) -> list[str]:
        """Return the names of all collections whose name is a string."""
        with self._lock:
            return [name for name in self._collections if isinstance(name, str)]

    def clear_collection(self, name: Any) -> None:
        """Remove a collection."""
        self._check_not_finalized()
        with self._lock:
            self._collections.pop(name, None)
