"""The restoration of a checkpoint of objects. The checkpoint's objects are matched with the
program's objects.

Each check and each run of a restore matches the objects that the program has at that time.
Variables that are created after `restore` therefore also get their values.
"""

from __future__ import annotations

import sys
from collections import deque
from itertools import count
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.building.trackable.tracked_containers import identity_of
from gpugraph.building.variables import Variable
from gpugraph.graph.client.default_graph_functions import device, get_default_graph
from gpugraph.library.train.object_checkpoints.object_graph import (
    has_slots,
    object_names,
    saveables_named,
    slot_of,
)
from gpugraph.library.train.object_checkpoints.python_state import STATE, PythonState
from gpugraph.library.train.savers.checkpoint_initializers import as_list
from gpugraph.library.train.savers.checkpoint_reading import NewCheckpointReader
from gpugraph.library.train.savers.saveable_objects import SaveableObject
from gpugraph.ops.files.checkpoint_ops import restore_v2
from gpugraph.platform import logging

_NUMBERS = count(1)


def next_restore() -> int:
    """Return a number for a new restore.

    If several restores assign a value to the same object, the restore with the highest number is
    used.
    """
    return next(_NUMBERS)


class ObjectRestore:
    """The restoration of one checkpoint into `root` and the objects that are reachable from it.

    Args:
      path: the path of the checkpoint.
      graph: the checkpoint's TrackableObjectGraph.
      prefix: the tensor to which the path is fed.
      cache: restore operations that earlier restores of the same root created, by key and object.
    """

    def __init__(
        self, path: str, graph: Any, root: Any, prefix: Any, cache: dict[Any, Any]
    ) -> None:
        self.path, self.graph, self.root = path, graph, root
        self.number = next_restore()
        self.objects: dict[int, Any] = {}
        self.unused: dict[int, list[str]] = {}
        self._prefix, self._cache = prefix, cache
        self.expects_partial = False
        self._matched: list[tuple[str, Any, Any]] = []
        self._operations: list[list[Any]] = []  # the restore operations of each match
        self._restored = 0

    # -- matching

    def match(self) -> None:
        """Match the program's present objects with the checkpoint's objects by name, starting at
        the root.

        Raises NotFoundError or InvalidArgumentError if values do not fit.
        """
        self._bind(0, self.root)
        waiting, seen = deque([0]), {0}
        while waiting:
            number = waiting.popleft()
            dependencies: Any = None
            for child in self.graph.nodes[number].children:
                if dependencies is None:
                    dependencies = dict(self.objects[number]._checkpoint_dependencies)
                item = dependencies.get(child.local_name)
                if item is None:  # programs may have dependencies that they don't list
                    item = self.objects[number]._lookup_dependency(child.local_name)
                if item is not None:
                    self._bind(child.node_id, item)
                    if child.node_id not in seen:
                        seen.add(child.node_id)
                        waiting.append(child.node_id)
        self._match_slots()

    def _match_slots(self) -> None:
        for number, node in enumerate(self.graph.nodes):
            optimizer = self.objects.get(number)
            if optimizer is None or not has_slots(optimizer):
                continue
            for reference in node.slot_variables:
                variable = self.objects.get(reference.original_variable_node_id)
                if isinstance(variable, Variable):
                    slot = slot_of(optimizer, variable, reference.slot_name)
                    if slot is not None:
                        self._bind(reference.slot_variable_node_id, slot)

    def _bind(self, number: int, item: Any) -> None:
        current = self.objects.get(number)
        if current is not None:
            if identity_of(current) != identity_of(item):
                logging.warning(
                    "Inconsistent references when loading the checkpoint into this object graph. "
                    "Either the Trackable object references in the Python program have changed in "
                    "an incompatible way, or the checkpoint was generated in an incompatible "
                    "program.\n\nTwo checkpoint references resolved to different objects (%s and "
                    "%s).",
                    current,
                    item,
                )
            return
        self.objects[number] = item
        if item._update_uid >= self.number:  # a later restore has set it
            return
        item._update_uid = self.number
        values = item._gather_saveables_for_checkpoint()
        for attribute in self.graph.nodes[number].attributes:
            if attribute.name == STATE and isinstance(item, PythonState):
                reader = NewCheckpointReader(self.path)
                item.deserialize(reader.get_tensor(attribute.checkpoint_key))
            elif attribute.name in values:
                self._matched.append((attribute.checkpoint_key, values[attribute.name], item))
            else:
                self.unused.setdefault(number, []).append(attribute.name)

    def unmatched(self) -> list[int]:
        """Return the numbers of the checkpoint's objects that have values but match no object."""
        nodes = enumerate(self.graph.nodes)
        return [number for number, node in nodes if node.attributes and number not in self.objects]

    def __del__(self) -> None:
        """Log a warning about values that no object received, unless a partial match is
        expected.
        """
        if sys.is_finalizing() or self.expects_partial:
            return
        names = object_names(self.graph)
        lost = [names[number] for number in self.unmatched()]
        lost += [f"{names[number]}: {attributes}" for number, attributes in self.unused.items()]
        for name in lost:
            logging.warning("Unresolved object in checkpoint: %s", name)
        if lost:
            logging.warning(
                "A checkpoint was restored (e.g. tf.train.Checkpoint.restore or "
                "tf.keras.Model.load_weights) but not all checkpointed values were used. See above "
                "for specific issues. Use expect_partial() on the load status object, e.g. "
                "tf.train.Checkpoint.restore(...).expect_partial(), to silence these warnings, or "
                "use assert_consumed() to make the check explicit."
            )

    # -- values

    def run(self, session: Any, only_new: bool = False) -> None:
        """Restore the matched values.

        Raises NotFoundError or InvalidArgumentError if values do not fit.

        Args:
          only_new: whether to skip values that an earlier run has restored.
        """
        begin = self._restored if only_new else 0
        if get_default_graph().finalized:
            self._load(session, self._matched[begin:])
        else:
            self._add_operations()
            operations = self._operations[begin:]
            if any(operations):
                session.run(operations, {self._prefix: self.path})
        self._restored = len(self._matched)

    def _add_operations(self) -> None:
        """Create the restore operations of new matches. A single op reads the values of all new
        matches.
        """
        fresh: list[tuple[list[Any], SaveableObject]] = []
        for key, value, item in self._matched[len(self._operations) :]:
            name = key, id(item)
            if name not in self._cache:
                self._cache[id(item)] = item  # kept alive, so that its id stays unique
                self._cache[name] = []
                fresh += [(self._cache[name], saveable) for saveable in saveables_named(value, key)]
            self._operations.append(self._cache[name])
        specs = [spec for _, saveable in fresh for spec in saveable.specs]
        if not specs:
            return
        with device("/cpu:0"):
            tensors = as_list(
                restore_v2(
                    self._prefix,
                    [spec.name for spec in specs],
                    [spec.slice_spec for spec in specs],
                    dtypes=[spec.dtype.base_dtype for spec in specs],
                )
            )
        position = 0
        for operations, saveable in fresh:
            size = len(saveable.specs)
            operation = saveable.restore(tensors[position : position + size], None)
            operations.append(getattr(operation, "op", operation))
            position += size

    def _load(self, session: Any, matched: list[tuple[str, Any, Any]]) -> None:
        """Restore variables without adding operations, since the graph is finalized.

        This runs their initializers, with the values of the checkpoint fed as the initial values.
        """
        initializers, feeds, reader = [], {}, NewCheckpointReader(self.path)
        for key, variable, _ in matched:
            if not isinstance(variable, Variable):
                raise RuntimeError(
                    f"Graph is finalized and cannot be modified: {key} is no variable, and must be "
                    "restored before"
                )
            value = reader.get_tensor(key)
            shapes = f"{variable.shape}, and {key} of {self.path} has {np.shape(value)}"
            if not variable.shape.is_compatible_with(np.shape(value)):
                raise invalid_argument(f"The variable {variable.name} has the shape {shapes}")
            initializers.append(variable.initializer)
            feeds[variable.initializer.inputs[1]] = value
        session.run(initializers, feeds)
