"""A saver that saves and restores a root object and all objects that are reachable from this
root.
"""

from __future__ import annotations

import os
from typing import Any
from weakref import WeakSet

from gpugraph.base.errors import NotFoundError
from gpugraph.graph.client.default_graph_functions import control_dependencies, device
from gpugraph.library.train.object_checkpoints.load_status import (
    CheckpointLoadStatus,
    InitializationOnlyStatus,
    LoadStatus,
    NameBasedSaverStatus,
    session_or_default,
)
from gpugraph.library.train.object_checkpoints.object_graph import ObjectGraph
from gpugraph.library.train.object_checkpoints.object_restore import ObjectRestore
from gpugraph.library.train.savers.checkpoint_reading import NewCheckpointReader
from gpugraph.library.train.savers.object_graph_keys import (
    OBJECT_GRAPH_PROTO_KEY,
    read_object_graph,
)
from gpugraph.ops.files.checkpoint_ops import save_v2
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.platform import files


class ObjectSaver:
    """Saves and restores `root` and all objects that are reachable from it.

    The first save creates the operations. A later save creates new operations if the set of objects
    has changed.
    """

    def __init__(self, root: Any) -> None:
        self._root = root
        self._path: Any = None
        self._graph_text: Any = None
        self._saved: tuple[Any, Any] | None = None
        self._restore_path: Any = None
        self._restore_cache: dict[Any, Any] = {}
        self._restores: WeakSet[ObjectRestore] = WeakSet()

    def save(self, file_prefix: str, session: Any) -> str:
        """Save the objects as the checkpoint `file_prefix`, and return that path."""
        session = session_or_default(session, f'save checkpoint to "{file_prefix}"')
        graph = ObjectGraph(self._root)
        message = graph.message()
        if self._saved is None or self._saved[0] != message:
            self._saved = message, self._add_save(graph)
        folder = os.path.dirname(file_prefix)
        if folder:
            files.MakeDirs(folder)
        feeds = {self._path: file_prefix, self._graph_text: message.SerializeToString()}
        path = session.run(self._saved[1], feeds)
        return os.fsdecode(path)

    def _add_save(self, graph: ObjectGraph) -> Any:
        """Create the operation that saves these objects. Return its output, which is the path. A
        run that fetches the output saves the objects.
        """
        with device("/cpu:0"):
            if self._path is None:
                self._graph_text, self._path = constant(""), constant("")
        saveables = graph.saveables()
        specs = [spec for saveable in saveables for spec in saveable.specs]
        tensors = [spec.tensor for spec in specs]
        with device("/cpu:0"):
            operation = save_v2(
                self._path,
                [*(spec.name for spec in specs), OBJECT_GRAPH_PROTO_KEY],
                [*(spec.slice_spec for spec in specs), ""],
                [*tensors, self._graph_text],
            )
            with control_dependencies([operation]):
                return identity(self._path)

    def restore(self, save_path: Any) -> LoadStatus:
        """Match the program's objects with the objects of a checkpoint. Return the status object,
        whose methods restore the values.
        """
        if save_path is None:
            return InitializationOnlyStatus(self._root)
        path = os.fspath(save_path)
        reader = NewCheckpointReader(path)
        try:
            message = read_object_graph(path, reader)
        except NotFoundError:
            return NameBasedSaverStatus(self._root, path)
        if self._restore_path is None:
            with device("/cpu:0"):
                self._restore_path = constant("model")
        restore = ObjectRestore(path, message, self._root, self._restore_path, self._restore_cache)
        self._restores.add(restore)
        restore.match()
        return CheckpointLoadStatus(restore, self._restores)
