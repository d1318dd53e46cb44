"""Memory planning: the storage of every tensor, from lifetimes in the final order.

  variable   the memory of a session's variable, which references to it share
  constant   the array of a Const, one per device
  cell       a tensor whose size is known only during a run, or that holds strings: the run
             allocates it, and frees it after its last use
  object     a handle, through which ops find data that a kernel keeps for one run
  arena      everything else: an offset in the plan's block of memory on the device
  aside      memory outside of the arena: pinned host memory of tensors that a GPU swaps, a side
             buffer for a loop variable's next value while loop variables exchange their values, or
             a loop variable whose size differs between iterations

A view (Reshape, Identity) shares its input's storage and needs no step. The outputs of an op may
also be parts of its input, such as the rows of an Unpack (`parts_of_inputs`). A read of a variable
also shares the variable's memory. However, if an op writes the variable between the read and the
last use of the value, the read is a copy, which keeps the old value. If an op declares `alias` for
an output, the output takes the memory of an input that no later op uses. The initial value of a
large variable is computed in the variable's memory (`initial_values`). A loop variable has one
storage for the whole loop. The next value of the variable is computed in this storage if no later
op reads the current value.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence, Set
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np

from gpugraph.base.dtypes import OBJECTS, string
from gpugraph.base.shapes import equal_sizes
from gpugraph.base.sizes import hint, is_open, varies
from gpugraph.compile.analysis.counted_rows import INFERRED
from gpugraph.compile.analysis.variable_references import references
from gpugraph.compile.memory.arena_layout import lay_out
from gpugraph.compile.memory.fused_in_place import fused_in_place
from gpugraph.compile.memory.initial_values import initial_values, runs_once
from gpugraph.compile.memory.lifetimes import Lifetimes
from gpugraph.compile.memory.loop_variable_reuse import LoopVariables
from gpugraph.compile.memory.merge_in_place import merge_places
from gpugraph.compile.memory.parts_of_inputs import Parts, parts_of
from gpugraph.compile.memory.variable_writers import NO_KERNEL, variable_writers
from gpugraph.compile.placement.graph_partition import SWAPPED, memory_of_output
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Home, Storage, Unit, variable_key
from gpugraph.graph.nodes.loop_frames import is_loop_merge
from gpugraph.graph.nodes.node_and_edge import FORWARDING
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.kernel import Sized, reference
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.fusion.matmul_epilogue import FUSED_PRODUCTS, addend_input

_NONE: Mapping[int, int] = {}
_WHOLE = {NodeClass.IDENTITY, NodeClass.LOOP_COND, *FORWARDING}
StaticShape = tuple[int, ...] | None
"""The sizes of a tensor; None if some of them are known only during a run."""


@compile_pass()
def memory(unit: Unit) -> Outcome:
    """Set `unit.homes` (storages), `unit.modes` (views and in-place ops) and `unit.arena_sizes`."""
    planner = _Planner(unit)
    for node in unit.order:
        planner.visit(planner.times.position[node.id], node)
    cells = sum(home.storage.kind == "cell" for home in unit.homes.values())
    shared = sum(mode.startswith(("view", "in place")) for mode in unit.modes.values())
    unit.storages = planner.storages
    return f"{shared} tensors share memory, {cells} are sized at run time", lay_out(unit)


class _Output:
    """An output that needs a storage.

    Args:
      earlier: the storages of the node's outputs before this one.
    """

    def __init__(
        self, planner: _Planner, node: Node, slot: int, shape: StaticShape, earlier: Set[Storage]
    ) -> None:
        self.planner, self.node, self.slot, self.shape = planner, node, slot, shape
        self.earlier, self.key = earlier, (node.id, slot)
        self.start = 0  # the position in the storage

    @cached_property
    def is_cell(self) -> bool:
        """Whether the output is a cell because its size is known only during a run."""
        return self.planner._is_cell(self.node, self.slot)

    @property
    def is_declared_view(self) -> bool:
        """Whether the op's declaration states that this output is a view of an input."""
        decl = DECLARATIONS.get(self.node.type)
        return decl is not None and self.slot in decl.memory.view


class _Planner:
    """A traversal of the nodes in their order. It assigns a storage to each output.

    Attributes:
      position: the position of the current node.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._parts: dict[int, Parts | None] = {}
        self.position = 0
        self.storages: list[Storage] = []
        self.times = Lifetimes(unit, self._views)
        self.end, self.extent = self.times.end, self.times.extent
        self.references = references(unit.order)
        self.writers = variable_writers(unit, self.references)
        self.initial = initial_values(unit, self.references)
        unit.runs_once = runs_once(unit, self.initial)
        self.sends = {recv.id: send for send, recv in unit.send_recv_pairs}
        self.loops = LoopVariables(unit, self.times)
        self.merge_of = merge_places(unit)
        self.of_merge: dict[int, Storage] = {}
        self.with_kernels = {device.name for device in unit.target.devices if device.has_kernels}

    def _views(self, node: Node) -> Mapping[int, int]:
        """Return, for each output, the input whose bytes the output may share.

        The outputs may be parts of an input. Otherwise the op declares views, with two exceptions.
        If the size of a tensor is known only during a run, an output is a view only if the op
        forwards the tensor unchanged. An Exit that may be dead after its loop has run
        (`Flow.irregular`) is never a view.
        """
        parts = self._parts_of(node)
        if parts is not None:
            return dict.fromkeys(range(len(node.output_types)), parts.input)
        decl = DECLARATIONS.get(node.type)
        if decl is None or not decl.memory.view:
            return _NONE
        if self.unit.flow is not None and node.id in self.unit.flow.irregular:
            return _NONE
        if not passes_whole(node) and any(self._is_cell(node, slot) for slot in decl.memory.view):
            return _NONE
        return decl.memory.view

    def _parts_of(self, node: Node) -> Parts | None:
        if node.id not in self._parts:
            self._parts[node.id] = parts_of(self.unit, node)
        return self._parts[node.id]

    def _is_cell(self, node: Node, slot: int) -> bool:
        """Return whether output `slot` is a cell, which is allocated during the run."""
        sizes = self.unit.shapes[node.id][slot].sizes
        if sizes is not None and node.output_types[slot].base_dtype is string and is_open(sizes):
            return True  # the array of an object has one size
        return _static(sizes) is None or self._is_dynamic(node)

    def _is_dynamic(self, node: Node) -> bool:
        """Return whether the kernel determines the sizes of its outputs, even if they were
        inferred.

        This is false for dequeues (`gives_up`), because a queue's elements have the shapes with
        which the queue was created.
        """
        if node.node_class in NO_KERNEL or node.id in self.unit.reported:
            return False
        if node.type in INFERRED and node.assigned_device not in self.with_kernels:
            return False
        kernel = self.unit.kernel(node)
        if isinstance(kernel, Sized) and kernel.known and node.assigned_device in self.with_kernels:
            return False
        call = reference(kernel)
        return call.dynamic and not call.gives_up

    def visit(self, position: int, node: Node) -> None:
        """Assign a storage to each output of the node. Extend the lifetime of the storage to all
        uses of the output.
        """
        if not node.output_types:
            return
        self.position = position
        shapes = self.unit.shapes[node.id]
        reused: set[Storage] = set()
        for slot, dtype in enumerate(node.output_types):
            shape = _static(shapes[slot].sizes)
            output = _Output(self, node, slot, shape, reused)
            storage = self._storage(output)
            reused.add(storage)
            storage.last = max(storage.last, self.extent.get((node.id, slot), position))
            self.unit.homes[node.id, slot] = Home(storage, shape, dtype.base_dtype, output.start)

    def _storage(self, output: _Output) -> Storage:
        """Return the storage for an output. It is the result of the first rule in `_RULES` that
        applies and does not return None.
        """
        for rule in _RULES:
            if rule.applies(self, output):
                storage = rule.storage(self, output)
                if storage is not None:
                    return storage
        raise AssertionError("the last rule always yields a storage")

    def _variable(self, output: _Output) -> Storage:
        node = output.node
        kind = "variable" if output.shape is not None else "cell"
        self.unit.modes[node.id] = "variable"
        return Storage(kind, node.assigned_device, 0, 0, self.end, node.name, 0, node)

    def _constant(self, output: _Output) -> Storage:
        node, now = output.node, self.position
        return Storage("constant", node.assigned_device, 0, now, now, node.name, 0, node)

    def _referred(self, output: _Output) -> Storage:
        """Return the memory of the variable to which an output refers."""
        variable = self.references[output.key]
        if passes_whole(output.node):
            self.unit.modes[output.node.id] = f"view of {variable.name}"
        return self.unit.homes[variable.id, 0].storage

    def _initialized(self, output: _Output) -> Storage:
        """Return the variable's memory for an output that is the variable's initial value."""
        variable = self.initial[output.key]
        how = "view" if passes_whole(output.node) else "in place"
        self.unit.modes[output.node.id] = f"{how} of {variable.name}"
        return self.unit.homes[variable.id, 0].storage

    def _source(self, node: Node, index: int) -> Home:
        edge = node.input_edge(index)
        return self.unit.homes[edge.src.id, edge.src_output]

    def _shared(self, output: _Output) -> Storage | None:
        """Return the storage of the viewed input, or None if the output can't share it."""
        node, slot = output.node, output.slot
        home = self._source(node, DECLARATIONS[node.type].memory.view[slot])
        storage = home.storage
        if node.output_types[slot].is_ref_dtype:
            if passes_whole(node):
                self.unit.modes[node.id] = f"view of {storage.owner}"
            return storage
        if self.unit.flow is not None and node.id in self.unit.flow.irregular:
            return None
        if storage.device != memory_of_output(self.unit, node, slot):
            return None
        is_sized_at_run_time = output.is_cell or storage.kind == "cell" or home.shape is None
        is_cell_of_no_variable = storage.kind == "cell" and storage.node is None
        if is_sized_at_run_time and not (is_cell_of_no_variable and passes_whole(node)):
            return None
        if storage.kind == "variable" and self._is_written_after(node, slot, storage):
            self.unit.modes[node.id] = "copy: the variable is written before the last use"
            return None
        self.unit.modes[node.id] = f"view of {storage.owner}"
        output.start = home.start
        return storage

    def _part(self, output: _Output) -> Storage | None:
        """Return the storage of the input of which all outputs of the node are parts, or None."""
        node, slot = output.node, output.slot
        parts = self._parts_of(node)
        assert parts is not None
        home = self._source(node, parts.input)
        if slot == 0 and self._holds_parts(node, home):
            self.unit.modes[node.id] = f"view of {home.storage.owner}"
            self.unit.parts[node.id] = parts.input
        if node.id not in self.unit.parts:
            return None
        output.start = home.start + parts.starts[slot]
        return home.storage

    def _holds_parts(self, node: Node, home: Home) -> bool:
        """Return whether all outputs of a node may be parts of the tensor in `home`."""
        storage = home.storage
        return storage.kind in ("arena", "variable") and not any(
            memory_of_output(self.unit, node, slot) != storage.device
            or (node.id, slot) in self.references
            or (node.id, slot) in self.initial
            or (storage.kind == "variable" and self._is_written_after(node, slot, storage))
            for slot in range(len(node.output_types))
        )

    def _is_written_after(self, node: Node, slot: int, storage: Storage) -> bool:
        """Return whether a variable is written between this read and the last use of its value."""
        assert storage.node is not None
        writes = self.writers.get(variable_key(storage.node), ())
        following = bisect_right(writes, self.position)
        last_use = self.extent.get((node.id, slot), self.position)
        return following < len(writes) and writes[following] <= last_use

    def _merged(self, output: _Output) -> Storage | None:
        """Return the storage of the Merge that reads the output. The Merge's first input allocates
        that storage.
        """
        node, slot = output.node, output.slot
        is_made_merge = slot == 0 and node.id in self.of_merge  # computed by an input
        merge = node if is_made_merge else self.merge_of.get((node.id, slot))
        if merge is None:
            return None
        if merge.id not in self.of_merge:
            storage = self.of_merge[merge.id] = self._new(output)
            storage.last = max(storage.last, self.extent.get((merge.id, 0), self.position))
        if merge is not node:
            self.unit.modes[node.id] = f"in place of {merge.name}"
        return self.of_merge[merge.id]

    def _next_value(self, output: _Output) -> Storage | None:
        """If the output is the next value of a loop variable and the variable's storage is free,
        return this storage. Otherwise return None.
        """
        node, slot = output.node, output.slot
        merge = self.loops.free_at(self.position, node, slot)
        if merge is None:
            return None
        home = self.unit.homes[merge.id, 0]
        if (
            home.storage.kind != "arena"
            or not equal_sizes(home.shape, output.shape)
            or home.dtype is not node.output_types[slot].base_dtype
            or home.storage.device != memory_of_output(self.unit, node, slot)
        ):
            return None
        if self.loops.reads_at(self.position, merge) and not self._may_overwrite(node, slot, home):
            return None
        self.unit.modes[node.id] = f"in place of {home.storage.owner}"
        return home.storage

    def _may_overwrite(self, node: Node, slot: int, target: Home) -> bool:
        """Return whether the node may overwrite its inputs in the storage of `target`."""
        if node.node_class is NodeClass.MERGE:
            return True
        allowed = self._alias_inputs(node, slot)
        shape = _static(self.unit.shapes[node.id][slot].sizes)
        homes = [self._source(node, index) for index in range(len(node.input_types))]
        return all(
            index in allowed and equal_sizes(home.shape, shape) and home.start == target.start
            for index, home in enumerate(homes)
            if home.storage is target.storage
        )

    def _in_place(self, output: _Output) -> Storage | None:
        """Return the storage of an input with the same shape and item size whose last use is this
        node.
        """
        node, slot = output.node, output.slot
        for index in self._alias_inputs(node, slot):
            home = self._source(node, index)
            storage = home.storage
            if (
                storage.kind == "arena"
                and storage.last == self.position
                and storage not in output.earlier
                and equal_sizes(home.shape, output.shape)
                and home.dtype.itemsize == node.output_types[slot].itemsize
                and storage.device == memory_of_output(self.unit, node, slot)
                and self._may_overwrite(node, slot, home)
            ):
                self.unit.modes[node.id] = f"in place of {storage.owner}"
                output.start = home.start
                return storage
        return None

    def _alias_inputs(self, node: Node, slot: int) -> Sequence[int]:
        """Return the indices of the inputs that an output may overwrite, starting with the input
        that the op declares. If the kernel is a NumPy ufunc, which handles overlapping arrays, all
        other inputs follow.
        """
        decl = DECLARATIONS.get(node.type)
        if node.type == "_Fused" and node.assigned_device not in self.with_kernels:
            return fused_in_place(node, slot)
        if node.type in FUSED_PRODUCTS.values() and node.assigned_device not in self.with_kernels:
            return addend_input(node.attrs, self._source(node, 0).shape)
        if decl is None or slot not in decl.memory.alias:
            return ()
        declared = decl.memory.alias[slot]
        if not isinstance(reference(self.unit.kernel(node)).function, np.ufunc):
            return (declared,)
        return sorted(range(len(node.input_types)), key=lambda index: index != declared)

    def _new(self, output: _Output) -> Storage:
        node, slot = output.node, output.slot
        device = memory_of_output(self.unit, node, slot)
        name = node.name if slot == 0 else f"{node.name}:{slot}"
        if node.node_class is NodeClass.ARG:
            name = self.unit.feeds[node.attrs["index"]].name
        first, last = self._span(node)
        if output.is_cell:
            return Storage("cell", device, 0, first, last, name)
        if node.output_types[slot].base_dtype in OBJECTS:
            return Storage("object", device, 0, first, last, name)
        size = node.output_types[slot].itemsize * prod(output.shape or ())
        if SWAPPED in node.attrs and self.sends[node.id].assigned_device in self.with_kernels:
            return Storage("aside", device, size, first, last, name)  # pinned
        if self._grows(output):
            return Storage("aside", device, size, first, last, name)
        storage = Storage("arena", device, size, first, last, name)
        self.storages.append(storage)
        return storage

    def _grows(self, output: _Output) -> bool:
        """Return whether an output is a loop variable whose size differs between iterations."""
        is_variable = output.node.id in self.unit.growing and output.slot == 0
        return is_variable and any(map(varies, output.shape or ()))

    def _span(self, node: Node) -> tuple[int, int]:
        """Return the first and the last position where the node's outputs must exist, even if no op
        uses them.
        """
        if node.node_class is NodeClass.ARG:
            return 0, self.position
        if SWAPPED in node.attrs:
            return self.times.position[self.sends[node.id].id], self.position
        flow = self.unit.flow
        if flow is not None and (is_loop_merge(node) or node.id in flow.irregular):
            frame = flow.frames.of[node.id]
            if is_loop_merge(node):
                self.unit.modes[node.id] = "loop variable"
            return self.times.begins[frame], self.times.ends(frame)
        return self.position, self.position


def passes_whole(node: Node) -> bool:
    """Return whether an op returns its input unchanged, with the same dtype and shape."""
    return node.node_class in _WHOLE


def _is_one(shape: StaticShape) -> bool:
    """Return whether a tensor has one element. NumPy takes 0.4 us longer to write such a tensor in
    place.
    """
    return shape is not None and all(hint(size) == 1 for size in shape)


def _static(sizes: tuple[int | None, ...] | None) -> StaticShape:
    if sizes is None or None in sizes:
        return None
    return sizes  # type: ignore[return-value]


class _Rule(NamedTuple):
    """A rule for choosing a storage. It consists of a predicate that tells whether the rule applies
    to an output, and a function that returns a storage or None.
    """

    name: str
    applies: Callable[[_Planner, _Output], bool]
    storage: Callable[[_Planner, _Output], Storage | None]


def _is_fixed(_: _Planner, output: _Output) -> bool:
    return not output.is_cell


def _is_fixed_array(_: _Planner, output: _Output) -> bool:
    return not output.is_cell and not _is_one(output.shape)


_RULES = (
    _Rule(
        "a variable's memory",
        lambda _, output: output.node.node_class is NodeClass.VARIABLE,
        _Planner._variable,
    ),
    _Rule(
        "a constant's array",
        lambda _, output: output.node.node_class is NodeClass.CONSTANT,
        _Planner._constant,
    ),
    _Rule(
        "the variable that a reference names",
        lambda planner, output: output.key in planner.references,
        _Planner._referred,
    ),
    _Rule(
        "the variable that an initial value is assigned to",
        lambda planner, output: output.key in planner.initial,
        _Planner._initialized,
    ),
    _Rule("a view of an input", lambda _, output: output.is_declared_view, _Planner._shared),
    _Rule(
        "parts of an input",
        lambda planner, output: planner._parts_of(output.node) is not None,
        _Planner._part,
    ),
    _Rule("the Merge that takes it", _is_fixed, _Planner._merged),
    _Rule("the loop variable whose next value it is", _is_fixed_array, _Planner._next_value),
    _Rule("an input that dies here", _is_fixed_array, _Planner._in_place),
    _Rule("a new storage", lambda *_: True, _Planner._new),
)
"""The rules in the order in which they are tried: earlier rules share memory with more tensors."""
