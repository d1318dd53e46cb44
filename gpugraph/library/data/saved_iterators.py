"""Saves the positions of iterators in checkpoints; also has MultiDeviceIterator, for several
devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.graph.client.default_graph_functions import (
    colocate_with,
    device as device_scope,
    get_default_graph,
)
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.library.data.element_structure import flat_attrs, from_tensor_list
from gpugraph.library.data.iterators import GLOBAL_ITERATORS, Iterator
from gpugraph.library.train.hooks.checkpoint_saver_hook import CheckpointSaverHook
from gpugraph.library.train.hooks.session_run_hook import SessionRunHook
from gpugraph.library.train.savers.checkpoint_files import get_checkpoint_state
from gpugraph.library.train.savers.saveable_objects import SaveableObject, SaveSpec
from gpugraph.library.train.savers.saver import Saver
from gpugraph.ops.framework.op_declaration import raw_ops


class IteratorSaveable(SaveableObject):
    """The position of an iterator, as a SaveableObject for a Saver."""

    def __init__(self, iterator_resource: Any) -> None:
        position = raw_ops._IteratorPosition(iterator_resource, name="IteratorPosition")
        name = iterator_resource.name
        spec = SaveSpec(position, "", f"{name}_STATE", dtype=position.dtype)
        super().__init__(iterator_resource, [spec], name)

    def restore(self, restored_tensors: Sequence[Any], restored_shapes: Any) -> Any:
        """Return the op that sets the iterator to a saved position."""
        with colocate_with(self.op):
            return raw_ops._SetIteratorPosition(
                self.op, restored_tensors[0], name="SetIteratorPosition"
            )


def make_saveable_from_iterator(iterator: Any) -> IteratorSaveable:
    """Return a SaveableObject with which a `Saver` saves and restores the position of an
    iterator.
    """
    if not isinstance(iterator, Iterator):
        raise TypeError(f"`iterator` must be a `tf.data.Iterator`, not {iterator!r}")
    return IteratorSaveable(iterator._iterator_resource)


class CheckpointInputPipelineHook(SessionRunHook):
    """A hook that saves the positions of all iterators when an estimator saves its model.

    They are saved in checkpoints named "input" in the model's folder, in addition to the model's
    own checkpoints.
    """

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator
        self._hook: CheckpointSaverHook | None = None
        self._saver: Saver | None = None

    def begin(self) -> None:
        """Create the Saver of the iterators' positions."""
        graph = get_default_graph()
        resources = graph.get_collection(GLOBAL_ITERATORS)
        saveables = [IteratorSaveable(resource) for resource in resources]
        config = self._estimator.config
        self._saver = Saver(saveables, sharded=False, max_to_keep=config.keep_checkpoint_max)
        self._hook = CheckpointSaverHook(
            self._estimator.model_dir,
            save_secs=config.save_checkpoints_secs,
            save_steps=config.save_checkpoints_steps,
            saver=self._saver,
            checkpoint_basename="input",
        )
        self._hook.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Restore the positions from the latest checkpoint, if there is one."""
        assert self._saver is not None
        assert self._hook is not None
        state = get_checkpoint_state(self._estimator.model_dir, "checkpoint_input")
        if state is not None and state.model_checkpoint_path:
            initializers = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
            session.run(initializers)
            self._saver.restore(session, state.model_checkpoint_path)
        self._hook.after_create_session(session, coord)

    def before_run(self, run_context: Any) -> Any:
        """Fetch the global step."""
        return None if self._hook is None else self._hook.before_run(run_context)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Save the positions if a checkpoint is due."""
        if self._hook is not None:
            self._hook.after_run(run_context, run_values)

    def end(self, session: Any) -> None:
        """Save the positions at the end of the training."""
        if self._hook is not None:
            self._hook.end(session)


class MultiDeviceIterator:
    """An iterator that distributes its elements to several devices in turn.

    devices: the names of the devices. `get_next()` returns a list with one element for each device.
    A run of the op `initializer` sets the iterator to the first element.
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
        """The op whose run sets the iterator to the first element of the dataset."""
        return self._incarnation.op

    def get_next(self, device: str | None = None) -> Any:
        """Return the next element of `device`; without it, a list with the next element of each
        device.
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
