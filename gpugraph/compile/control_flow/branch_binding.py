"""Branches and loops, bound: nodes of control flow become flags, merges, regions and loops.

Follows the order, one list of entries for each frame that is open. When a loop's end comes, its
list becomes one step of the frame around it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gpugraph.compile.control_flow.condition_flags import Conditions
from gpugraph.compile.control_flow.merge_step import merger
from gpugraph.compile.control_flow.while_frame_binding import WhileFrameBinding
from gpugraph.compile.memory.memory_planning import passes_whole
from gpugraph.compile.steps.dynamic_steps import dying_cells
from gpugraph.compile.steps.guarded_regions import Entry, with_regions
from gpugraph.compile.steps.step_list import StepList
from gpugraph.compile.steps.tensor_moves import move
from gpugraph.compile.unit.guards import ALWAYS, Flow, Found, Guard, Is
from gpugraph.devices import VariableState
from gpugraph.graph.nodes.loop_frames import is_loop_merge
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.plan import Step


class Branches:
    """The control flow of one plan in the step_list."""

    def __init__(self, step_list: StepList, flow: Flow) -> None:
        self.step_list = step_list
        self.flow = flow
        self.conditions = Conditions(step_list, flow)
        self.flags = self.conditions.flags
        self.flag_of = self.conditions.flag_of
        self.open: list[WhileFrameBinding] = []

    # -- following the order

    def enter(self, node: Node) -> Guard:
        """Opens the loops that a node is in, and sees that its guard has a flag."""
        frame = self.flow.frames.at(node)
        inner = [each for each in frame.up() if each.parent is not None][::-1]
        for each in inner[len(self.open) :]:
            self.open.append(WhileFrameBinding(self.conditions, each, self.step_list.entries))
            self.step_list.entries = self.open[-1].entries
            self.step_list.frame = each
            self.conditions.open()
        guard = self.flow.guards.get(node.id, ALWAYS)
        self.conditions.need(guard)
        return guard

    def visit(self, node: Node) -> bool:
        """Adds what a node of control flow needs; False for all other nodes."""
        if node.type == "_LoopEnd":
            self._close()
        elif node.node_class is NodeClass.MERGE:
            if not is_loop_merge(node):
                self._merge(node)
        elif passes_whole(node) and node.node_class is not NodeClass.IDENTITY:
            if node.id in self.flow.pred_of:
                self.conditions.need_literal(Is(self.flow.pred_of[node.id], True))
            self._pass(node)
        elif node.node_class is not NodeClass.CONTROL_TRIGGER:
            return False
        return True

    def _close(self) -> None:
        loop = self.open[-1]
        step = loop.made()
        self.open.pop()
        self.step_list.frame = self.open[-1].frame if self.open else None
        self.conditions.close()
        self.step_list.entries = loop.around
        guard = self.flow.outer[loop.frame]
        self.conditions.need(guard)
        reset = loop.reset()
        for node in loop.frame.enters:
            self.conditions.need(self.flow.entered.get(node.id, ALWAYS))
        if reset is not None:
            self.step_list.entries.append(Entry(ALWAYS, reset))
        self.step_list.entries.append(Entry(guard, step))

    def steps(self) -> list[Step]:
        """The steps of the plan."""
        entries = self.step_list.with_stretches(self.step_list.entries)
        return [entry.step for entry in with_regions(self.flags, entries)]

    # -- nodes

    def _pass(self, node: Node) -> None:
        """A Switch, Enter, Exit, NextIteration or LoopCond, where it is no view."""
        step_list = self.step_list
        step_list.refs(node)
        key, home = step_list.home(node, 0)
        dying = dying_cells(step_list, node, [key])
        for slot, dtype in enumerate(node.output_types):
            own = step_list.unit.homes[node.id, slot]
            if own.storage is home.storage or dtype.is_ref_dtype:
                continue
            take = len(node.output_types) == 1 and bool(dying)
            run = move(step_list, step_list.runner(node), (key, home), ((node.id, slot), own), take)
            if node.node_class is NodeClass.ENTER:
                guarded = self.conditions.if_alive(self.flow.entered.get(node.id), run)
                self.open[-1].start.append(step_list.step(node, guarded))
            else:
                step_list.add(node, run, "kernel")
        if node.id in self.flow.irregular:
            self._raise(node)

    def _raise(self, node: Node) -> None:
        """Says that a loop was left by this Exit."""
        flags, own = self.flags.values, self.flags.atom(Found(node.id, "exit"))
        self.step_list.add(node, partial(flags.__setitem__, own, True), "flag")

    def _merge(self, node: Node) -> None:
        step_list, flow = self.step_list, self.flow
        own = step_list.unit.homes[node.id, 0]
        device = step_list.runner(node)
        keys = [step_list.home(node, slot)[0] for slot in range(node.num_inputs)]
        dying = dying_cells(step_list, node, keys)
        inputs = []
        for slot in range(node.num_inputs):
            edge = node.input_edge(slot)
            guard = flow.of_output(edge.src, edge.src_output)
            key, home = step_list.home(node, slot)
            run: Callable[[], Any] = _nothing
            if home.storage is not own.storage:
                cell = home.storage.kind == "cell" and home.storage.node is None
                take = cell and step_list.cell(home.storage) in dying
                run = move(step_list, device, (key, home), ((node.id, 0), own), take)
                if edge.src.output_types[edge.src_output].is_ref_dtype and home.storage.node:
                    run = _checking(step_list.variable(home.storage.node), run)
            inputs.append((self.flag_of(guard), run))
        run = self._merger(node, inputs)
        if dying:
            run = _releasing(run, dying)
        found = Found(node.id, "merge")
        guard = flow.guards[node.id]
        reads = tuple(flag for flag, _ in inputs if flag is not None)
        if found in guard:
            entry = Entry(ALWAYS, step_list.step(node, run), (self.flags.atom(found),), reads)
        else:
            entry = Entry(guard, step_list.step(node, run), (), reads)
        step_list.entries.append(entry)

    def _merger(
        self, node: Node, inputs: list[tuple[int | None, Callable[[], Any]]]
    ) -> Callable[[], Any]:
        step_list, flags = self.step_list, self.flags
        atom = Found(node.id, "merge")
        found = flags.atom(atom) if atom in self.flow.guards[node.id] else None
        used = any(edge.src_output == 1 for edge in node._out)
        index = step_list.array(step_list.unit.homes[node.id, 1]) if used else None
        return merger(flags.values, inputs, found, index)


def _nothing() -> None:
    """Moves what is in its place already."""


def _checking(state: VariableState, run: Callable[[], Any]) -> Callable[[], Any]:
    def move_if_initialized() -> None:
        state.value  # noqa: B018 - an error if it isn't
        run()

    return move_if_initialized


def _releasing(run: Callable[[], Any], cells: list[Any]) -> Callable[[], Any]:
    def merge() -> None:
        run()
        for cell in cells:
            cell.release()

    return merge
