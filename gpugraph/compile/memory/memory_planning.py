"""Memory: the storage of every tensor, from lifetimes in the final order.

  variable   the memory of a session's variable, which references to it share
  constant   the array of a Const, one per device
  cell       a tensor whose size is known only during a run (or that holds strings): it is
             allocated then, and freed after its last use
  object     a handle, which leads to data that a kernel keeps for the time of a run
  arena      everything else: offsets into one block per device and plan
  aside      memory that binding takes: pinned host memory of tensors that a GPU swaps; or a side
             buffer for a loop variable's next value while others are exchanged

A view (Reshape, Identity) shares its input's storage and needs no step. A read of a variable
shares the variable's memory too, unless an op writes the variable between the read and the
read's last use: then the read is a copy, so that its value does not change. An op
declared with `alias` takes the memory of an input that dies with it. The first value of a large
variable is computed in the variable's memory (`initial_values`). A loop variable has one
storage for the whole loop, and its next value is computed there if no op needs the last any more.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from gpugraph.base.dtypes import HANDLES, string
from gpugraph.compile.analysis.variable_references import references
from gpugraph.compile.memory.fused_in_place import fused_in_place
from gpugraph.compile.memory.initial_values import initial_values, runs_once
from gpugraph.compile.memory.lifetimes import Lifetimes
from gpugraph.compile.memory.loop_variable_reuse import LoopVariables
from gpugraph.compile.memory.merge_in_place import merge_places
from gpugraph.compile.placement.graph_partition import SWAPPED, memory_of_output
from gpugraph.compile.unit.compile_pass import Outcome, compile_pass
from gpugraph.compile.unit.compile_unit import Home, Storage, Unit, variable_key
from gpugraph.graph.nodes.loop_frames import is_loop_merge
from gpugraph.graph.nodes.node_and_edge import FORWARDING
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.kernel import Sized, reference
from gpugraph.memory import Lifetime, human_readable_bytes, plan_offsets
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.fusion.matmul_epilogue import FUSED_PRODUCTS, addend_input

_NONE: Mapping[int, int] = {}
_WHOLE = {NodeClass.IDENTITY, NodeClass.LOOP_COND, *FORWARDING}
StaticShape = tuple[int, ...] | None
"""The sizes of a tensor, or None if some are known only during a run."""

_NO_KERNEL = {NodeClass.ARG, NodeClass.RETVAL, NodeClass.SEND, NodeClass.RECV}


@compile_pass()
def memory(unit: Unit) -> Outcome:
    """Set `unit.homes`, `unit.modes` and `unit.arena_sizes`."""
    planner = _Planner(unit)
    for node in unit.order:
        planner.visit(planner.times.position[node.id], node)
    cells = sum(home.storage.kind == "cell" for home in unit.homes.values())
    shared = sum(mode.startswith(("view", "in place")) for mode in unit.modes.values())
    lines = _lay_out(unit, planner.storages)
    return f"{shared} tensors share memory, {cells} are sized at run time", lines


class _Planner:
    """One walk over the order; `position` is the current one."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.position = 0
        self.storages: list[Storage] = []
        self.times = Lifetimes(unit, self._views)
        self.end, self.extent = self.times.end, self.times.extent
        self.references = references(unit.order)
        self.writers = self._writers()
        self.initial = initial_values(unit, self.references)
        unit.runs_once = runs_once(unit, self.initial)
        self.sends = {recv.id: send for send, recv in unit.send_recv_pairs}
        self.loops = LoopVariables(unit, self.times)
        self.merge_of = merge_places(unit)
        self.of_merge: dict[int, Storage] = {}
        self.with_kernels = {device.name for device in unit.target.devices if device.has_kernels}

    def _views(self, node: Node) -> Mapping[int, int]:
        """Return, by output, the input whose bytes it may share.

        A tensor sized at run time is passed on whole or not at all; a value that exits a loop
        conditionally is not its final value.
        """
        decl = DECLARATIONS.get(node.type)
        if decl is None or not decl.view:
            return _NONE
        if self.unit.flow is not None and node.id in self.unit.flow.irregular:
            return _NONE
        if not passes_whole(node) and any(self._is_cell(node, slot) for slot in decl.view):
            return _NONE
        return decl.view

    def _is_cell(self, node: Node, slot: int) -> bool:
        """Return whether output `slot` is a cell."""
        dtype = node.output_types[slot].base_dtype
        return (
            _static(self.unit.shapes[node.id][slot].sizes) is None
            or dtype is string
            or self._is_dynamic(node)
        )

    def _is_dynamic(self, node: Node) -> bool:
        """Return whether the kernel sets its outputs' sizes when it runs, even if they are
        inferred.

        A queue's elements have the shapes that it was created with.
        """
        if node.node_class in _NO_KERNEL:
            return False
        kernel = self.unit.kernel(node)
        if isinstance(kernel, Sized) and kernel.known and node.assigned_device in self.with_kernels:
            return False
        call = reference(kernel)
        return call.dynamic and not call.gives_up

    def _writers(self) -> dict[tuple[str, str], list[int]]:
        """Return the ascending positions of the steps that write each variable."""
        writers: dict[tuple[str, str], list[int]] = {}
        by_handle = {
            variable_key(variable)
            for variable in self.references.values()
            if variable.attrs.get("_by_handle")
        }
        for position, node in enumerate(self.unit.order if self.references else ()):
            if by_handle and node.node_class not in _NO_KERNEL and self._waits(node):
                for key in by_handle:  # other runs may write them meanwhile
                    writers.setdefault(key, []).append(position)
            decl = DECLARATIONS.get(node.type)
            for slot in decl.writes if decl is not None else ():
                edge = node.input_edge(slot)
                variable = self.references.get((edge.src.id, edge.src_output))
                if variable is not None:
                    writers.setdefault(variable_key(variable), []).append(position)
        return writers

    def _waits(self, node: Node) -> bool:
        return reference(self.unit.kernel(node)).waits

    def visit(self, position: int, node: Node) -> None:
        """Assign a home to each output of the node."""
        if not node.output_types:
            return
        self.position = position
        shapes = self.unit.shapes[node.id]
        reused: set[Storage] = set()
        for slot, dtype in enumerate(node.output_types):
            shape = _static(shapes[slot].sizes)
            storage = self._storage(node, slot, shape, reused)
            reused.add(storage)
            storage.last = max(storage.last, self.extent.get((node.id, slot), position))
            self.unit.homes[node.id, slot] = Home(storage, shape, dtype.base_dtype)

    def _storage(self, node: Node, slot: int, shape: StaticShape, reused: set[Storage]) -> Storage:
        """Return an output's storage; `reused` is that of the outputs before it."""
        if node.node_class is NodeClass.VARIABLE:
            return self._variable(node, shape)
        if node.node_class is NodeClass.CONSTANT:
            device = node.assigned_device
            return Storage("constant", device, 0, self.position, self.position, node.name, 0, node)
        if (variable := self.references.get((node.id, slot))) is not None:
            return self._referred(node, slot, variable)
        if (variable := self.initial.get((node.id, slot))) is not None:
            how = "view" if passes_whole(node) else "in place"
            self.unit.modes[node.id] = f"{how} of {variable.name}"
            return self.unit.homes[variable.id, 0].storage
        decl = DECLARATIONS.get(node.type)
        is_cell = self._is_cell(node, slot)
        storage = None
        if decl is not None and slot in decl.view:
            storage = self._shared(node, slot, decl.view[slot], is_cell)
        if storage is None and not is_cell:
            storage = self._merged(node, slot, shape)
        if storage is None and not is_cell and not _is_one(shape):
            storage = self._next_value(node, slot, shape)
            if storage is None:
                storage = self._in_place(node, slot, shape, reused)
        if storage is None:
            storage = self._new(node, slot, shape, is_cell)
        return storage

    def _variable(self, node: Node, shape: StaticShape) -> Storage:
        kind = "variable" if shape is not None else "cell"
        self.unit.modes[node.id] = "variable"
        return Storage(kind, node.assigned_device, 0, 0, self.end, node.name, 0, node)

    def _referred(self, node: Node, slot: int, variable: Node) -> Storage:
        """Return the memory of the variable that an output refers to."""
        if passes_whole(node):
            self.unit.modes[node.id] = f"view of {variable.name}"
        return self.unit.homes[variable.id, 0].storage

    def _source(self, node: Node, index: int) -> Home:
        edge = node.input_edge(index)
        return self.unit.homes[edge.src.id, edge.src_output]

    def _shared(self, node: Node, slot: int, index: int, is_cell: bool) -> Storage | None:
        """Return the input's storage if the output may share its bytes."""
        home = self._source(node, index)
        storage = home.storage
        if node.output_types[slot].is_ref_dtype:
            if passes_whole(node):
                self.unit.modes[node.id] = f"view of {storage.owner}"
            return storage
        if self.unit.flow is not None and node.id in self.unit.flow.irregular:
            return None
        if storage.device != memory_of_output(self.unit, node, slot):
            return None
        is_sized_at_run_time = is_cell or storage.kind == "cell" or home.shape is None
        is_cell_of_no_variable = storage.kind == "cell" and storage.node is None
        if is_sized_at_run_time and not (is_cell_of_no_variable and passes_whole(node)):
            return None
        if storage.kind == "variable" and self._is_written_after(node, slot, storage):
            self.unit.modes[node.id] = "copy: the variable is written before the last use"
            return None
        self.unit.modes[node.id] = f"view of {storage.owner}"
        return storage

    def _is_written_after(self, node: Node, slot: int, storage: Storage) -> bool:
        """Return whether a variable is written between its read there and the read's last use."""
        assert storage.node is not None
        writes = self.writers.get(variable_key(storage.node), ())
        following = bisect_right(writes, self.position)
        last_use = self.extent.get((node.id, slot), self.position)
        return following < len(writes) and writes[following] <= last_use

    def _merged(self, node: Node, slot: int, shape: StaticShape) -> Storage | None:
        """Return the storage of the tensor's Merge, allocated for its first input."""
        is_made_merge = slot == 0 and node.id in self.of_merge  # by one of its inputs
        merge = node if is_made_merge else self.merge_of.get((node.id, slot))
        if merge is None:
            return None
        if merge.id not in self.of_merge:
            storage = self.of_merge[merge.id] = self._new(node, slot, shape, False)
            storage.last = max(storage.last, self.extent.get((merge.id, 0), self.position))
        if merge is not node:
            self.unit.modes[node.id] = f"in place of {merge.name}"
        return self.of_merge[merge.id]

    def _next_value(self, node: Node, slot: int, shape: object) -> Storage | None:
        """Return the storage of a loop variable whose next value this is, if it is free by now."""
        merge = self.loops.free_at(self.position, node, slot)
        if merge is None:
            return None
        home = self.unit.homes[merge.id, 0]
        if (
            home.storage.kind != "arena"
            or home.shape != shape
            or home.dtype is not node.output_types[slot].base_dtype
            or home.storage.device != memory_of_output(self.unit, node, slot)
        ):
            return None
        if self.loops.reads_at(self.position, merge) and not self._may_overwrite(
            node, slot, home.storage
        ):
            return None
        self.unit.modes[node.id] = f"in place of {home.storage.owner}"
        return home.storage

    def _may_overwrite(self, node: Node, slot: int, storage: Storage) -> bool:
        """Return whether the node can write an output over this input, even if it has several
        views.
        """
        if node.node_class is NodeClass.MERGE:
            return True
        allowed = self._alias_inputs(node, slot)
        shape = _static(self.unit.shapes[node.id][slot].sizes)
        homes = [self._source(node, index) for index in range(len(node.input_types))]
        return all(
            index in allowed and home.shape == shape
            for index, home in enumerate(homes)
            if home.storage is storage
        )

    def _in_place(
        self, node: Node, slot: int, shape: object, reused: set[Storage]
    ) -> Storage | None:
        """Return the storage of an input that dies here and has the output's shape and element
        size.
        """
        for index in self._alias_inputs(node, slot):
            home = self._source(node, index)
            storage = home.storage
            if (
                storage.kind == "arena"
                and storage.last == self.position
                and storage not in reused
                and home.shape == shape
                and home.dtype.itemsize == node.output_types[slot].itemsize
                and storage.device == memory_of_output(self.unit, node, slot)
                and self._may_overwrite(node, slot, storage)
            ):
                self.unit.modes[node.id] = f"in place of {storage.owner}"
                return storage
        return None

    def _alias_inputs(self, node: Node, slot: int) -> Sequence[int]:
        """Return the declared input; for a NumPy ufunc, which handles overlaps, the others too."""
        decl = DECLARATIONS.get(node.type)
        if node.type == "_Fused" and node.assigned_device not in self.with_kernels:
            return fused_in_place(node, slot)
        if node.type in FUSED_PRODUCTS.values() and node.assigned_device not in self.with_kernels:
            return addend_input(node.attrs, self._source(node, 0).shape)
        if decl is None or slot not in decl.alias:
            return ()
        declared = decl.alias[slot]
        if not isinstance(reference(self.unit.kernel(node)).function, np.ufunc):
            return (declared,)
        return sorted(range(len(node.input_types)), key=lambda index: index != declared)

    def _new(self, node: Node, slot: int, shape: StaticShape, is_cell: bool) -> Storage:
        device = memory_of_output(self.unit, node, slot)
        name = node.name if slot == 0 else f"{node.name}:{slot}"
        if node.node_class is NodeClass.ARG:
            name = self.unit.feeds[node.attrs["index"]].name
        first, last = self._span(node)
        if is_cell:
            return Storage("cell", device, 0, first, last, name)
        if node.output_types[slot].base_dtype in HANDLES:
            return Storage("object", device, 0, first, last, name)
        size = node.output_types[slot].itemsize * prod(shape or ())
        if SWAPPED in node.attrs and self.sends[node.id].assigned_device in self.with_kernels:
            return Storage("aside", device, size, first, last, name)  # pinned
        storage = Storage("arena", device, size, first, last, name)
        self.storages.append(storage)
        return storage

    def _span(self, node: Node) -> tuple[int, int]:
        """Return the positions between which a new tensor must exist, whatever uses it."""
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
    """Return whether an op only passes on its input, with dtype and shape unchanged."""
    return node.node_class in _WHOLE


def _is_one(shape: StaticShape) -> bool:
    """Return whether a tensor has one element, which NumPy writes in place 0.4 us slower."""
    return shape is not None and all(size == 1 for size in shape)


def _static(sizes: tuple[int | None, ...] | None) -> StaticShape:
    if sizes is None or None in sizes:
        return None
    return sizes  # type: ignore[return-value]


def _lay_out(unit: Unit, storages: list[Storage]) -> list[str]:
    """Set the offsets and sizes of the arenas; return a line about each."""
    by_device: dict[str, list[Storage]] = {}
    for storage in storages:
        by_device.setdefault(storage.device, []).append(storage)
    lines = []
    for device, group in by_device.items():
        plan = plan_offsets(
            [Lifetime(storage.size, storage.first, storage.last) for storage in group]
        )
        for storage, offset in zip(group, plan.offsets):
            storage.offset = offset
        unit.arena_sizes[device] = plan.size
        lines.append(
            f"arena on {device}: {human_readable_bytes(plan.size)} for {len(group)} buffers, which "
            f"hold {human_readable_bytes(sum(storage.size for storage in group))} in turn"
        )
    return lines
