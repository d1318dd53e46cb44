"""The list of a plan's steps during binding.

The bindings of nodes, branches and loops share this state: the list to which steps are added, the
guard and the loop of the node that is being bound, and the checks that variables are initialized.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.errors import UnimplementedError
from gpugraph.compile.memory.memory_planning import passes_whole
from gpugraph.compile.memory.side_by_side import parallel_lanes
from gpugraph.compile.steps.concurrent_calls import with_concurrent_calls
from gpugraph.compile.steps.cuda_graph_capture import Check, with_captures
from gpugraph.compile.steps.guarded_regions import GuardedStep
from gpugraph.compile.steps.kernel_context import Cell
from gpugraph.compile.steps.native_node_code import Candidate
from gpugraph.compile.steps.native_stretches import with_native_stretches
from gpugraph.compile.steps.parallel_steps import with_parallel_steps
from gpugraph.compile.steps.plan_arrays import Arrays, is_cell
from gpugraph.compile.unit.compile_unit import Storage, Unit
from gpugraph.compile.unit.guards import ALWAYS
from gpugraph.devices import VariableState
from gpugraph.graph.nodes.loop_frames import Frame
from gpugraph.graph.nodes.node_and_edge import FORWARDING, Edge, origins
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.plan import Clock, Run, Step, StepCode, StepKind, plain_code


class StepList(Arrays):
    """The steps that have been added so far.

    Attributes:
      entries: the steps of `frame`, which is the innermost open loop, or None for the root.
    """

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self.entries: list[GuardedStep] = []
        self.frame: Frame | None = None
        self.guard = ALWAYS  # guard of the node that is being bound
        self.guarded: set[Any] = set()
        self.checked: set[int] = set()  # variables that have a value in every run from here on
        self.groups = {
            node.id: number for number, nodes in enumerate(unit.parallel) for node in nodes
        }
        self.clock = Clock()
        self.report_lines: list[str] = []
        self._cells_by_end: dict[int, dict[Storage, None]] | None = None

    def add(
        self,
        node: Node,
        run: Run,
        kind: StepKind = "kernel",
        native: Candidate | None = None,
        assigns: bool = False,
        code: Callable[[], StepCode] = plain_code,
        part: str = "",
    ) -> None:
        """Add a step of a node, under the node's guard.

        Args:
          code: a function that returns the `StepCode` of the step. It is called only if the step
            does not belong to a run of steps.
        """
        step = self.step(node, run, kind, part, code)
        group = self.groups.get(node.id)
        lane = self.unit.lanes.get(node.id)
        self.entries.append(GuardedStep(self.guard, step, (), (), native, assigns, group, lane))

    def with_stretches(
        self, entries: Sequence[GuardedStep], in_loop: bool = False
    ) -> list[GuardedStep]:
        """Merge adjacent steps that become native calls or one CUDA graph. Also merge independent
        calls of user functions, and large products that run at the same time. Return the resulting
        list of steps.
        """
        entries = with_concurrent_calls(entries)
        if self.groups:
            lanes, _ = parallel_lanes(self.unit)
            entries = with_parallel_steps(entries, lanes, self.clock)
        stretches = with_captures(entries, self.devices, self.report_lines)
        if not self.jit.is_on:
            return stretches
        is_open = self.unit.programs is not None  # several plans share the code
        return with_native_stretches(
            stretches, self.jit.waits, in_loop, self.unit.target.verify, is_open
        )

    def step(
        self,
        node: Node,
        run: Run,
        kind: StepKind = "kernel",
        part: str = "",
        code: Callable[[], StepCode] = plain_code,
    ) -> Step:
        """Return a step of a node. `part` distinguishes it from the node's other steps."""
        device, depth = node.assigned_device, self.unit.depth[node.id]
        slots = range(len(node.output_types))
        size = sum(self.unit.homes[node.id, slot].storage.size for slot in slots)
        return Step(
            node.name, node.type, device, depth, run, node.origin, kind, size, code=code, part=part
        )

    def refs(self, node: Node) -> dict[int, VariableState]:
        """Return the variables that a node uses, by input index. For each variable that the node
        reads, add a check that the variable is initialized, unless there is one already.
        """
        states: dict[int, VariableState] = {}
        for edge in node._in:
            if edge.is_control or not edge.src.output_types[edge.src_output].is_ref_dtype:
                continue
            storage = self.unit.homes[edge.src.id, edge.src_output].storage
            if storage.node is None:
                _check_no_reference(node, edge)
                continue
            state = self.variable(storage.node)
            states[edge.dst_input] = state
            if not (node.op_def.allows_uninitialized_input or _moves_reference(node)):
                self._guard(node, storage.node, edge.src, state)
        return states

    def _guard(self, node: Node, variable: Node, source: Node, state: VariableState) -> None:
        """Add a check that a variable is initialized. There is one check for all nodes of one frame
        and guard.
        """
        key = (variable.id, self.frame, self.guard)
        if key in self.guarded or (variable.id, None, ALWAYS) in self.guarded:
            return
        self.guarded.add(key)
        if key == (variable.id, None, ALWAYS):
            self.checked.add(id(state))
        named = source if node.node_class is NodeClass.RETVAL else node
        self.add(named, Check(state), "guard")

    def cells_until(self, end: int) -> list[Cell]:
        """Return the cells whose last use is at position `end`, which is the end of a loop."""
        if self._cells_by_end is None:
            self._cells_by_end = defaultdict(dict)
            for storage, *_ in self.unit.homes.values():
                if is_cell(storage):
                    self._cells_by_end[storage.last][storage] = None
        return [self.cell(storage) for storage in self._cells_by_end.get(end, ())]


def _moves_reference(node: Node) -> bool:
    """Return whether a node only passes a reference into or out of a branch or loop."""
    moves = node.node_class in FORWARDING or node.node_class is NodeClass.MERGE
    return moves and node.output_types[0].is_ref_dtype


def _check_no_reference(node: Node, edge: Edge) -> None:
    """Raise an error if a node needs a reference to a single variable, but its input may refer to
    several variables.
    """
    if node.input_types[edge.dst_input].is_ref_dtype and not passes_whole(node):
        raise UnimplementedError(
            node.node_def,
            None,
            f"'{node.name}' requires a reference to one variable, but "
            f"'{edge.src.name}' may refer to one of several{origins(node)}",
        )
