"""The feeds and fetches of an open plan. They access the arena with the shapes and addresses of the
current run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.sizes import is_open
from gpugraph.compile.binding.feeds_and_fetches import reader_if_alive
from gpugraph.compile.binding.open_binding import OpenBinder
from gpugraph.compile.binding.open_words import OpenWords
from gpugraph.compile.unit.compile_unit import Home
from gpugraph.compile.unit.guards import ALWAYS
from gpugraph.devices.native import NotNativeError, OpenView, SizeStages
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.plan import FeedSlot, FetchSlot, Plan


class OpenEnds:
    """The slots of the feeds and fetches of an open plan. If a tensor is not in the arena, its slot
    is that of the original plan.
    """

    def __init__(self, plan: Plan, binder: OpenBinder, words: OpenWords, flags: bytearray) -> None:
        """Create the slots. `attach` must be called before they are used.

        Args:
          flags: the flags that hold the values of branch conditions.
        """
        self._binder, self._words, self._flags = binder, words, flags
        self._start = 0
        self._memory: Any = np.empty(0, np.uint8)
        unit = binder.unit
        self.feeds = tuple(map(self._feed, plan.feeds, unit.args))
        self.fetches = tuple(map(self._fetch, plan.fetches, unit.retvals))

    def attach(self, stages: SizeStages) -> None:
        """Set the stages that compute the sizes and addresses."""
        self._registers, self._bases = stages.registers, stages.bases

    def set_memory(self, start: int, size: int) -> None:
        """Set the memory of the arena."""
        self._start = start
        memory: Any = (ctypes.c_char * size).from_address(start) if size else b""
        self._memory = np.frombuffer(memory, np.uint8)

    def _feed(self, slot: FeedSlot, node: Node) -> FeedSlot:
        home = self._binder.unit.homes[node.id, 0]
        if home.storage.kind != "arena":
            is_cell = home.storage.kind == "cell"  # allocated in each run
            if not is_cell and (home.shape is None or is_open(home.shape)):
                raise NotNativeError("a feed of open size outside the arena, such as strings")
            return slot
        base, dtype = self._words.base_of(home.storage), np.dtype(home.dtype.as_numpy_dtype)

        def load(value: Any) -> None:
            self._array(value.shape, dtype, base)[()] = value

        return slot._replace(load=load)

    def _fetch(self, slot: FetchSlot, node: Node) -> FetchSlot:
        edge = node.input_edge(0)
        home = self._binder.unit.homes[edge.src.id, edge.src_output]
        read = self._reader(home, slot)
        if read is None:
            return slot
        branches = self._binder.plain.branches
        guard = ALWAYS if branches is None else branches.flow.guards.get(node.id, ALWAYS)
        if branches is not None and guard != ALWAYS:
            read = reader_if_alive(self._flags, branches.flags.guard(guard), node, read)
        return slot._replace(read=read, array=None)

    def _reader(self, home: Home, slot: FetchSlot) -> Callable[[], Any] | None:
        """Return a callable that reads a fetched tensor. If the plan's own slot can be used for all
        sizes, return None.
        """
        storage, shape, dtype, start = home
        if storage.kind == "constant":
            view = self._binder.array(home)
            kept = self._binder.constants.get(storage.node.id) if storage.node else None
            if kept is None or not isinstance(view, OpenView):
                return None
            return (lambda: kept[()]) if shape == () else kept.copy
        if storage.kind not in ("arena", "aside"):
            return None
        if shape is None:
            raise NotNativeError("a fetch of unknown shape")
        numbers = np.array([self._words.registers.number(size) for size in shape], np.intp)
        base, numpy_type = self._words.base_of(storage), np.dtype(dtype.as_numpy_dtype)
        if storage.kind == "aside":  # a loop variable outside of the arena
            return lambda: self._aside(self._registers[numbers].tolist(), numpy_type, base).copy()
        if shape == ():
            return lambda: self._array((), numpy_type, base, start)[()]

        def read() -> Any:
            return self._array(self._registers[numbers].tolist(), numpy_type, base, start).copy()

        return read

    def _aside(self, shape: Any, dtype: Any, base: int) -> Any:
        """Return the array at the start of a buffer outside of the arena."""
        num_bytes = prod(shape) * dtype.itemsize
        memory: Any = (ctypes.c_char * num_bytes).from_address(int(self._bases[base]))
        return np.ndarray(shape, dtype, memory)

    def _array(self, shape: Any, dtype: Any, base: int, start: int = 0) -> Any:
        """Return the array at position `start` of a buffer."""
        if not self._memory.nbytes:
            return np.empty(shape, dtype)
        offset = int(self._bases[base]) - self._start + start
        return np.ndarray(shape, dtype, self._memory, offset)
