"""The arrays of a plan's tensors: in arenas, constants, variables and cells.

The arena of a device is in a block of the device's allocator, and several plans may time-share this
block. A tensor of static size is a view of the arena. This module also records all resources that a
plan holds, so that they are released when the plan is released.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Iterable
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import string
from gpugraph.base.interruptions.signal_handlers import uninterrupted
from gpugraph.compile.memory.arena_refusal import arena_refused
from gpugraph.compile.memory.call_waves import may_wait
from gpugraph.compile.steps.kernel_context import Cell, KernelMemory
from gpugraph.compile.steps.shared_variables import check_dtype, check_shape
from gpugraph.compile.unit.compile_unit import (
    COPY,
    SHARED,
    Home,
    Storage,
    TensorId,
    Unit,
    variable_key,
)
from gpugraph.compile.unit.jit_settings import jit
from gpugraph.devices import ArenaBlock, Block, Device, Lease, RunAccess, RunMemory, VariableState
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.plan import Mailbox

_MANY = 64
"""The number of strings from which on an array is kept after a run. Few strings may be whole
files.
"""


class Holdings:
    """The resources of a live plan: its separate memory, its cells, and its references to
    variables.
    """

    def __init__(self, mailbox: Mailbox, run_memory: RunMemory) -> None:
        self.memory = KernelMemory([], [], run_memory.scratch)
        self.arenas: dict[str, Lease] = {}  # by device
        self.cells: dict[Storage, Cell] = {}
        self.objects: dict[Storage, Any] = {}  # arrays of handles
        self.strings: dict[Storage, Any] = {}  # arrays of strings
        self.swaps: list[Any] = []  # swaps that a failed run may leave unfinished
        self.mailbox = mailbox
        self.variables: list[tuple[VariableState, Block]] = []
        self.values: list[Any] = []  # constants, which keep their copies on devices alive

    def moved(self) -> bool:
        """Return whether the memory of a variable has changed since the plan was bound."""
        return any(state.block is not block for state, block in self.variables)

    def has_arena_in(self, block: ArenaBlock) -> bool:
        """Return whether the plan's arena on a device is in this block."""
        return any(lease.block is block for lease in self.arenas.values())

    def reset(self) -> None:
        """Free the memory that a run has left allocated, for example because of an error."""
        for cell in self.cells.values():
            cell.release()
        for handle in self.objects.values():
            handle[()] = None
        for array in self.strings.values():  # the next run overwrites many small strings in place
            if array.size < _MANY:
                array[()] = None
        while self.memory.kept:
            self.memory.kept.pop().release()
        for swap in self.swaps:
            swap.finish()
        self.mailbox.clear()

    def release(self) -> None:
        """Release all memory of the plan. Shared memory is freed when no other plan holds it.

        If a signal handler interrupts this method, the next call continues where it stopped.
        """
        self.reset()
        for parts in (list(self.arenas.values()), self.memory.owned):
            for part in parts:
                part.release()
        self.arenas.clear()
        self.strings.clear()
        self.memory.owned.clear()
        self.swaps.clear()
        self.variables.clear()
        self.values.clear()


class Arrays:
    """The arrays and resources of one plan, and the positions of its nodes in the order."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.jit = jit(unit.target.config)
        self.mailbox = unit.target.new_mailbox()
        self.run_memory = _run_memory(unit)
        self.holdings = Holdings(self.mailbox, self.run_memory)
        self.owned, self.cells = self.holdings.memory.owned, self.holdings.cells
        self.arrays: dict[Any, Any] = {}
        self.copies: dict[Callable[[], Any], tuple[Any, Any]] = {}  # (source, target)
        self.moves: dict[Callable[[], Any], Any] = {}  # by callable, its `tensor_moves.Move`
        self.variables: dict[int, VariableState] = {}
        self.reported: dict[str, int] = {}  # by node, the rows that its kernel has counted
        self.run_time_natives: dict[int, Any] = {}  # by node, of steps that are bound at each run
        self.access = RunAccess(unit.target.resources.access)
        self.devices = {device.name: device for device in unit.target.devices}
        self.sends = {recv.id: send for send, recv in unit.send_recv_pairs}
        self.recvs = {send.id: recv for send, recv in unit.send_recv_pairs}
        self.positions = unit.positions()
        self.refusals: dict[str, Any] = {}  # by device: errors that its kernels report

    def take_arenas(self) -> None:
        """Allocate the plan's memory on each device. Raises ResourceExhaustedError if a device does
        not have enough memory.
        """
        for name, size in self.unit.arena_sizes.items():
            if size:
                self._take_arena(self.devices[name], size)

    @uninterrupted
    def _take_arena(self, device: Device, size: int) -> None:
        wanted = [*self.unit.key.fetches, *self.unit.key.targets]
        lease = self.run_memory.lease(device, size, f"a run of {', '.join(wanted[:3])}")
        if lease is None:
            self.holdings.release()
            raise arena_refused(self.unit, device)
        self.holdings.arenas[device.name] = lease

    def sized_in_run(self) -> dict[str, tuple[int, int]]:
        """Return, for each device, the number of tensors whose size is known only in the run, and
        the device's memory limit in bytes.
        """
        homes = self.unit.homes.values()
        storages = {id(home.storage): home.storage for home in homes if is_cell(home.storage)}
        counts = Counter(storage.device for storage in storages.values())
        return {
            device: (count, self.devices[device].attributes.memory_limit_bytes)
            for device, count in counts.items()
        }

    def runner(self, node: Node) -> Device:
        """Return the device that runs a node's kernel. If all outputs are in host memory, the
        result is the host.
        """
        op_def = node.op_def
        on_host = op_def.host_outputs and len(op_def.host_outputs) == len(op_def.outputs)
        return self.devices[self.unit.host if on_host else node.assigned_device]

    def refusals_on(self, device: Device) -> Any:
        """Return the object that receives reports of bad input from the kernels of a device. If the
        kernels raise errors themselves, return None.
        """
        if device.has_kernels and device.name not in self.refusals:
            self.refusals[device.name] = device.refusals()
            self.owned.append(self.refusals[device.name])
        return self.refusals.get(device.name)

    def home(self, node: Node, slot: int) -> tuple[TensorId, Home]:
        """Return the key of the tensor at input `slot`, and its `Home` (storage, shape and
        dtype).
        """
        edge = node.input_edge(slot)
        key = (edge.src.id, edge.src_output)
        return key, self.unit.homes[key]

    def array(self, home: Home) -> Any:
        """Return the array of a tensor of static size. Tensors with the same memory share one
        array.
        """
        key = (id(home.storage), home.shape, home.dtype, home.start)
        if key not in self.arrays:
            self.arrays[key] = self._make_array(home)
        return self.arrays[key]

    def _make_array(self, home: Home) -> Any:
        storage, shape, dtype, start = home
        assert shape is not None
        device = self.devices[storage.device]
        if storage.kind == "arena":
            if storage.size == 0:
                return device.view(None, shape, dtype)
            arena = self.holdings.arenas[storage.device].block.address
            assert arena is not None
            return device.view(arena + storage.offset + start, shape, dtype)
        if storage.kind == "object":
            objects = self.holdings.strings if dtype is string else self.holdings.objects
            whole = objects.setdefault(storage, np.empty(shape, object))
            return whole.reshape(shape)  # another reshaped view may be the first
        if storage.kind == "aside" and storage.offset:  # the address of an open plan's memory
            count = prod(shape) * dtype.itemsize
            memory: Any = (ctypes.c_char * count).from_address(storage.offset)
            return np.ndarray(shape, dtype.as_numpy_dtype, memory)
        if storage.kind == "aside":
            block = device.allocate(shape, dtype, storage.owner)
            self.owned.append(block)
            return block.array
        assert storage.node is not None
        if storage.kind == "constant":
            value = storage.node.attrs["value"]
            self.holdings.values.append(value)
            whole = device.constant(value)
            if whole is None:
                whole = self.unit.target.resources.constant(device, value, dtype, storage.node.name)
        else:
            state = self.variable(storage.node)
            check_shape(state, storage.node)
            block = state.reserve(_whole(storage.node))
            self.holdings.variables.append((state, block))
            whole = block.array
            if prod(whole.shape) != prod(shape):  # part of the variable
                assert block.address is not None
                return block.device.view(block.address + start, shape, dtype)
        return whole if tuple(whole.shape) == shape else whole.reshape(shape)

    def is_plain(self, home: Home) -> bool:
        """Return whether a tensor is in a CPU's memory, at the same address in all runs of the
        plan.
        """
        is_on_cpu = self.unit.device_types[home.storage.device] == "CPU"
        return is_on_cpu and home.storage.kind not in ("cell", "object")

    def variable(self, node: Node) -> VariableState:
        """Return the session's variable of a VariableV2 node."""
        state = self.variables.get(node.id)
        if state is None:
            state = self.unit.target.resources.variable(
                *variable_key(node),
                self.devices[node.assigned_device],
                node.attrs["dtype"],
                COPY in node.attrs,
            )
            check_dtype(state, node)
            self.variables[node.id] = state
            by_handle = bool(node.attrs.get("_by_handle"))
            if by_handle:
                state.by_handle = True
                self.access.reads.add(id(state))
            self._note_copies(node, state, by_handle)
        return state

    def _note_copies(self, node: Node, state: VariableState, by_handle: bool) -> None:
        """Record whether several copies of a variable share its memory, or are about to be
        separated.
        """
        separation = state.separation
        if SHARED in node.attrs:
            self.access.shared.append(state)
        elif separation is not None and not separation.is_done:
            if by_handle:
                self.access.separations.append(separation)
                self.access.writes |= separation.ids()
            else:  # runs do not exclude each other
                separation.complete()

    def cell(self, storage: Storage) -> Cell:
        """Return the cell of a tensor whose size is known only in the run."""
        if storage not in self.cells:
            self.cells[storage] = Cell(storage.owner)
        return self.cells[storage]

    def dying_cells(self, node: Node, keys: Iterable[TensorId]) -> list[Cell]:
        """Return the cells among `keys` that no step uses after this node's step."""
        last = self.positions[node.id]
        storages = [self.unit.homes[key].storage for key in dict.fromkeys(keys)]
        return [self.cell(x) for x in storages if is_cell(x) and x.last == last]

    def source(self, key: TensorId, home: Home, on_host: bool = False) -> Callable[[], Any]:
        """Return a callable that returns the tensor's array during a run. If `on_host` and the
        tensor is a constant, the array is the constant on the host.
        """
        value = self.unit.values.get(key) if on_host else None
        if value is not None:
            return lambda: value
        if home.storage.kind == "cell":
            if home.storage.node is not None:
                state = self.variable(home.storage.node)
                return lambda: state.value
            cell = self.cell(home.storage)
            return lambda: cell.array
        array = self.array(home)
        return lambda: array


def _run_memory(unit: Unit) -> RunMemory:
    """Return the memory that the plan time-shares with other plans of the session.

    A plan that may wait for other runs or for user functions gets separate memory instead.
    """
    if may_wait(unit):
        return RunMemory("only this plan uses this memory, since a run may wait")
    return unit.target.run_memory or RunMemory("only this plan uses this memory")


def is_cell(storage: Storage) -> bool:
    """Return whether a storage is a cell of the plan rather than the value of a variable."""
    return storage.kind == "cell" and storage.node is None


def _whole(node: Node) -> tuple[int, ...]:
    return tuple(node.attrs["shape"].as_list())
