"""Feeds and fetches: callables that copy fed values to a plan's memory, and fetched tensors from
it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.compile.control_flow.branch_binding import Branches
from gpugraph.compile.steps.guarded_regions import GuardedStep
from gpugraph.compile.steps.step_list import StepList
from gpugraph.compile.unit.guards import ALWAYS
from gpugraph.devices import Device
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.kernel.reused_memory import LARGE_ARRAY, is_from_empty_array
from gpugraph.plan import FeedSlot, FetchSlot, Step

_Read = Callable[[], Any]


class FeedsAndFetches:
    """An object that creates the slots of one plan's feeds and fetches, after the plan's steps are
    bound.
    """

    def __init__(self, step_list: StepList, branches: Branches | None) -> None:
        self.step_list = step_list
        self.unit = step_list.unit
        self.branches = branches
        self.waited: set[str] = set()  # names of GPUs for which some fetch waits in every run

    def feed(self, node: Node, index: int) -> FeedSlot:
        """Return the slot of the feed with this index.

        Args:
          node: the `_Arg` of the feed.
        """
        spec = self.unit.feeds[index]
        home = self.unit.homes[node.id, 0]
        device = self.step_list.devices[home.storage.device]
        load: Callable[[Any], Any]
        if home.storage.kind == "cell":
            cell = self.step_list.cell(home.storage)

            def load(value: Any) -> None:
                cell.fill(device.allocate(value.shape, home.dtype, spec.name))
                device.write(cell.array, value)

        else:
            load = device.writing(self.step_list.array(home))
        return FeedSlot(spec.name, spec.dtype, spec.shape, load)

    def fetch(self, node: Node) -> FetchSlot:
        """Return the slot of a fetch. If the tensor is dead in a run, reading the slot raises
        InvalidArgumentError.

        Args:
          node: the `_Retval` of the fetch.
        """
        source, branches = node.input_edge(0).src, self.branches
        if branches is not None:
            self.step_list.guard = branches.enter(node)
        read, array = self._reader(node, source)
        flag = branches.flag_of(self.step_list.guard) if branches is not None else None
        if branches is not None and flag is not None:
            read, array = reader_if_alive(branches.flags.values, flag, node, read), None
        return FetchSlot(self._name(node), read, source.origin, array)

    def _name(self, node: Node) -> str:
        return self.unit.key.fetches[node.attrs["index"]]

    def _reader(self, node: Node, source: Node) -> tuple[_Read, Any]:
        """Return a callable that reads a fetched tensor as a new array. Also return the host array
        that the callable copies, or None if the tensor is not a host array.

        A tensor of rank 0 is read as a NumPy scalar.
        """
        steps = self.step_list
        key, home = steps.home(node, 0)
        device = steps.devices[home.storage.device]
        if home.storage.node is not None and home.storage.kind != "constant":
            steps.refs(node)
        if home.storage.kind == "cell":
            read_array = steps.source(key, home)
            return partial(_unshared, device, read_array), None
        array = steps.array(home)
        if device.name == self.unit.host:
            is_scalar = home.shape == ()
            if array.nbytes >= LARGE_ARRAY:
                return partial(device.read, array), array
            return (partial(array.__getitem__, ()), None) if is_scalar else (array.copy, array)
        read = self._array_reader(node, device, array, source)
        return ((lambda: read()[()]) if home.shape == () else read), None

    def _array_reader(self, node: Node, device: Device, array: Any, source: Node) -> _Read:
        """Return a callable that reads an array from a device.

        If the device copies asynchronously, a step that starts the copy is added at the end of the
        plan.
        """
        steps = self.step_list
        fetch = device.fetching(array)
        if fetch is None:
            return partial(device.read, array)
        steps.owned.append(fetch)
        step = Step(
            self._name(node),
            "_Retval",
            device.name,
            self.unit.depth[source.id],
            fetch.begin,
            source.origin,
            "fetch",
            array.nbytes,
        )
        steps.entries.append(GuardedStep(steps.guard, step))
        if steps.guard == ALWAYS:
            self.waited.add(device.name)
        return fetch.read

    def end(self, device_name: str) -> FetchSlot:
        """Return a slot that is read at the end of a run, and raises the errors that kernels on
        this device have reported.

        The errors are raised even if no fetch waits for the device.
        """
        refusals = self.step_list.refusals[device_name]
        is_waited = device_name in self.waited or not self.unit.retvals
        return FetchSlot("the end of the run", refusals.check if is_waited else refusals.wait)


def _unshared(device: Device, read_array: _Read) -> Any:
    """Return a tensor as an array that nothing else may change, or as a NumPy scalar. A large array
    is returned without a copy if only the plan refers to it.
    """
    array = read_array()
    if is_from_empty_array(array) and sys.getrefcount(array) == _OF_TENSOR:
        return array
    copy = device.read(array)
    return copy if copy.ndim else copy[()]


def _references() -> int:
    arrays = [np.empty(1)]
    array = arrays[0]
    return sys.getrefcount(array)


_OF_TENSOR = _references()
"""The reference count in `_unshared` of an array to which only its tensor refers."""


def reader_if_alive(flags: bytearray, flag: int, node: Node, read: _Read) -> _Read:
    """Return a callable that calls `read` if the flag is set, and raises an error if it is not."""

    def read_if_alive() -> Any:
        if not flags[flag]:
            raise invalid_argument(
                f"Retval[{node.attrs['index']}] does not have value: "
                f"'{node.input_edge(0).src.name}' is of a branch that was not taken"
            )
        return read()

    return read_if_alive
