"""Saves the positions of iterators in checkpoints. The module also has MultiDeviceIterator, for
several devices.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from gpugraph.graph.client.default_graph_functions import (
    colocate_with,
    device as device_scope,
    get_default_graph,
)
from gpugraph.library.data.element_structure import flat_attrs, from_tensor_list
from gpugraph.library.data.iterators import GLOBAL_ITERATORS, Iterator
from gpugraph.library.train.global_step import global_step_for
from gpugraph.library.train.hooks.checkpoint_saver_hook import (
    CheckpointSaverListener,
    HookBesideCheckpoints,
)
from gpugraph.library.train.hooks.session_run_hook import SessionRunArgs
from gpugraph.library.train.hooks.step_timer import SecondOrStepTimer
from gpugraph.library.train.savers.checkpoint_files import (
    checkpoint_exists,
    get_checkpoint_state,
    latest_checkpoint,
)
from gpugraph.library.train.savers.saveable_objects import SaveableObject, SaveSpec
from gpugraph.library.train.savers.saver import Saver
from gpugraph.ops.framework.op_declaration import raw_ops


class IteratorSaveable(SaveableObject):
    """The position of an iterator, as a SaveableObject that a Saver can save."""

    def __init__(self, iterator_resource: Any) -> None:
        position = raw_ops._IteratorPosition(iterator_resource, name="IteratorPosition")
        name = iterator_resource.name
        spec = SaveSpec(position, "", f"{name}_STATE", dtype=position.dtype)
        super().__init__(iterator_resource, [spec], name)

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Any) -> Any:
        """Return the op that moves the iterator to a saved position."""
        with colocate_with(self.op):
            return raw_ops._SetIteratorPosition(
                self.op, restored_tensors[0], name="SetIteratorPosition"
            )


def make_saveable_from_iterator(iterator: Any) -> IteratorSaveable:
    """Return a SaveableObject with which a `Saver` can save and restore the position of an
    iterator.
    """
    if not isinstance(iterator, Iterator):
        raise TypeError(f"`iterator` must be a `tf.data.Iterator`, not {iterator!r}")
    return IteratorSaveable(iterator._iterator_resource)


class CheckpointInputPipelineHook(HookBesideCheckpoints):
    """A hook that saves the positions of all iterators when an estimator saves its model.

    The positions are in checkpoints named "input" in the model's folder, with the state file
    `checkpoint_input`. If the session has a CheckpointSaverHook for this folder, the positions are
    saved just before each checkpoint of the model. Otherwise the positions are saved at the
    intervals of the estimator's configuration. The hook restores the positions before the first run
    of a session, because other hooks may initialize the iterators until then. The hook restores the
    positions that were saved at the same global step as the model. If no positions were saved at
    that step, the hook restores the latest positions.
    """

    def __init__(self, estimator: Any) -> None:
        config = estimator.config
        self.folder = os.fspath(estimator.model_dir)
        self._max_to_keep = config.keep_checkpoint_max
        self._timer = SecondOrStepTimer(
            every_secs=config.save_checkpoints_secs, every_steps=config.save_checkpoints_steps
        )
        self._listener: _PositionListener | None = None
        self._saver: Saver | None = None
        self._step: Any = None
        self._is_first_run = True

    def listener(self) -> CheckpointSaverListener:
        """Return the listener that is called before each checkpoint of the model, and then saves
        the positions.
        """
        self._listener = self._listener or _PositionListener(self)
        return self._listener

    def begin(self) -> None:
        """Create the saver of the iterators' positions."""
        resources = get_default_graph().get_collection(GLOBAL_ITERATORS)
        saveables = [IteratorSaveable(resource) for resource in resources]
        self._saver = Saver(saveables, sharded=False, max_to_keep=self._max_to_keep)
        self._step = global_step_for("CheckpointInputPipelineHook")

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Make the next run restore the saved positions."""
        self._is_first_run = True

    def before_run(self, run_context: Any) -> Any:
        """Before the first run, restore the saved positions. Fetch the global step."""
        if self._is_first_run:
            self._restore_or_save(run_context.session)
            self._is_first_run = False
        return SessionRunArgs(self._step)

    def _restore_or_save(self, session: Any) -> None:
        """Restore the positions that were saved at the same global step as the model, or else the
        latest positions. If no positions were saved, save the current positions.
        """
        assert self._saver is not None
        step = int(session.run(self._step))
        state = get_checkpoint_state(self.folder, _STATE_FILE)
        path = f"{self._prefix()}-{step}"
        if not checkpoint_exists(path):
            path = latest_checkpoint(self.folder, _STATE_FILE) or ""
        if state is not None:
            self._saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        self._timer.update_last_triggered_step(step)
        if path:
            self._saver.restore(session, path)
        else:
            self.save(session, step)

    def save(self, session: Any, step: int) -> None:
        """Save the positions of the iterators."""
        assert self._saver is not None
        self._saver.save(session, self._prefix(), step, _STATE_FILE, write_meta_graph=False)

    def save_before_model(self, session: Any, step: int) -> None:
        """Save the positions. Before the first run of the session, do nothing, because the
        positions of the previous session are restored only then.
        """
        if not self._is_first_run:
            self.save(session, step)

    def _prefix(self) -> str:
        return os.path.join(self.folder, "input")

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Save the positions if it is time. If the session has a CheckpointSaverHook, do nothing,
        because that hook's listener saves the positions.
        """
        if self._listener is None and self._timer.should_trigger_for_step(run_values.results + 1):
            step = int(run_context.session.run(self._step))
            if self._timer.should_trigger_for_step(step):
                self._timer.update_last_triggered_step(step)
                self.save(run_context.session, step)

    def end(self, session: Any) -> None:
        """Save the positions at the end of the session."""
        step = int(session.run(self._step))
        if self._listener is None and step != self._timer.last_triggered_step():
            self.save(session, step)


_STATE_FILE = "checkpoint_input"


class _PositionListener(CheckpointSaverListener):
    """A listener that is called before each checkpoint of the model, and then saves the positions
    of a hook's iterators.
    """

    def __init__(self, hook: CheckpointInputPipelineHook) -> None:
        self._hook = hook

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Save the positions of the iterators."""
        self._hook.save_before_model(session, global_step_value)


class MultiDeviceIterator:
    """An iterator that distributes elements to several devices alternately.

    `get_next()` returns a list with one element for each device. A run of the op `initializer`
    moves the iterator to the first element.

    Args:
      devices: the names of the devices.
    """

    def __init__(
        self, dataset: Any, devices: Sequence[str], max_buffer_size: int = 1,
        prefetch_buffer_size: int = 1, source_device: str = "/cpu:0",
    ) -> None:  # fmt: skip
        del prefetch_buffer_size
        self._devices, self._spec = list(devices), dataset.element_spec
        with device_scope(source_device):
            self._resource = raw_ops.MultiDeviceIterator(
                devices=self._devices, shared_name="", container="", **flat_attrs(self._spec)
            )
            self._incarnation = raw_ops.MultiDeviceIteratorInit(
                dataset._variant_tensor, self._resource, max_buffer_size
            )

    @property
    def initializer(self) -> Any:
        """The op that moves the iterator to the first element of the dataset."""
        return self._incarnation.op

    def get_next(self, device: str | None = None) -> Any:
        """Return the next element for `device`. If `device` is None, return a list with the next
        element for each device.
        """
        if device is not None:
            return self._next_of(self._devices.index(device))
        return [self._next_of(shard) for shard in range(len(self._devices))]

    def _next_of(self, shard: int) -> Any:
        results = raw_ops.MultiDeviceIteratorGetNextFromShard(
            self._resource, shard, 0, **flat_attrs(self._spec)
        )
        return from_tensor_list(self._spec, results)

    @property
    def element_spec(self) -> Any:
        """The specs of the components of an element, in the structure of the element."""
        return self._spec
