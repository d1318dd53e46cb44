"""The variables of a network and its optimizer in object checkpoints.

A variable's value is found by the path of attributes from the network to the variable, as in
`tf.train.Checkpoint`. If variables, or slots of the optimizer, are created after `load`, they get
their values from the checkpoint at that time.
"""

from __future__ import annotations

import os
from typing import Any

from gpugraph.building.trackable.trackable import Trackable
from gpugraph.library.keras.backend.keras_session import get_session, restore_later
from gpugraph.library.train.object_checkpoints.load_status import (
    CheckpointLoadStatus,
    LoadStatus,
    NameBasedSaverStatus,
)
from gpugraph.library.train.object_checkpoints.object_saver import ObjectSaver
from gpugraph.library.train.savers.checkpoint_files import write_checkpoint_state
from gpugraph.platform import logging


class CheckpointedWeights:
    """Saves and loads the variables of a network, including variables that are created after
    `load`.
    """

    def __init__(self, network: Any) -> None:
        self._network = network
        self._saver = ObjectSaver(network)
        self._later: _LaterRestore | None = None

    def __deepcopy__(self, memo: Any) -> None:
        """Return None, so that a copy of the network creates its own checkpoint object on first
        use.
        """

    def save(self, path: str) -> None:
        """Write a checkpoint with this path prefix. Record the checkpoint as the latest checkpoint
        of its folder.
        """
        optimizer = getattr(self._network, "optimizer", None)
        if optimizer is not None and not isinstance(optimizer, Trackable):
            logging.warning(
                f"This model was compiled with a Keras optimizer ({optimizer}) but is being saved "
                "in TensorFlow format with `save_weights`. The model's weights will be saved, but "
                "unlike with TensorFlow optimizers in the TensorFlow format the optimizer's state "
                "will not be saved.\n\nConsider using a TensorFlow optimizer from `tf.train`."
            )
        session = self._session()
        with session.graph.as_default():
            self._saver.save(path, session)
        write_checkpoint_state(os.path.dirname(path), path, [path], save_relative_paths=True)

    def load(self, path: str) -> LoadStatus:
        """Set the existing variables from a checkpoint, and each later variable when it is created.

        Raises NotImplementedError for a checkpoint of a `tf.train.Saver`, and AssertionError if no
        variable matches. For other errors, see `NewCheckpointReader`.
        """
        session = self._session()
        with session.graph.as_default():
            status = self._saver.restore(path)
        if isinstance(status, NameBasedSaverStatus):
            raise NotImplementedError(
                "Streaming restore not supported from name-based checkpoints when graph building: "
                f"{path} is a checkpoint of `tf.train.Saver`. Restore it by `tf.train.Saver("
                "model.weights).restore(tf.keras.backend.get_session(), path)`, or by "
                "`tf.train.Checkpoint`."
            )
        assert isinstance(status, CheckpointLoadStatus)
        with session.graph.as_default():
            status.run_restore_ops(session)
        self._later = _LaterRestore(status, session)
        restore_later(session, self._later)
        status.assert_nontrivial_match()
        return status

    def _session(self) -> Any:
        """Return Keras's session for the network's graph. If the network is not built yet, use the
        default graph.
        """
        network = self._network
        return get_session(network.outputs or (network.weights if network.built else ()))


class _LaterRestore:
    """A callable that restores the variables that were created since its last call, from a loaded
    checkpoint.

    The call does nothing if the session's graph has not changed since the last call.
    """

    def __init__(self, status: CheckpointLoadStatus, session: Any) -> None:
        self._status, self._session = status, session
        self._version = session.graph.version

    def __call__(self) -> None:
        graph = self._session.graph
        if graph.version != self._version:
            self._status.restore_new(self._session)
            self._version = graph.version
