"""Binding of branches and loops to flags, merges, regions and loop steps.

Binding follows the order of the nodes, and keeps a list of steps for each open frame. At the end of
a loop, its list becomes one step of the surrounding frame.
"""

from __future__ import annotations

from typing import Any

from gpugraph.compile.control_flow.condition_flags import Conditions
from gpugraph.compile.control_flow.merge_step import merger
from gpugraph.compile.control_flow.while_frame_binding import WhileFrameBinding
from gpugraph.compile.memory.memory_planning import passes_whole
from gpugraph.compile.steps.guarded_regions import GuardedStep, SetFlags, with_regions
from gpugraph.compile.steps.plan_arrays import is_cell
from gpugraph.compile.steps.step_list import StepList
from gpugraph.compile.steps.tensor_moves import WriteIndex, do_nothing, move, releasing
from gpugraph.compile.unit.guards import ALWAYS, Flow, Found, Guard, Is
from gpugraph.devices import VariableState
from gpugraph.graph.nodes.loop_frames import is_loop_merge
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.plan import Run, Step


class Branches:
    """The branches and loops of one plan while it is being bound."""

    def __init__(self, step_list: StepList, flow: Flow) -> None:
        self.step_list = step_list
        self.flow = flow
        self.conditions = Conditions(step_list, flow)
        self.flags = self.conditions.flags
        self.flag_of = self.conditions.flag_of
        self.open: list[WhileFrameBinding] = []

    # -- following the order

    def enter(self, node: Node) -> Guard:
        """Open the loops that contain a node, add the step that sets the flag of the node's guard,
        and return the guard.
        """
        steps = self.step_list
        frames = [frame for frame in self.flow.frames.at(node).up() if frame.parent is not None]
        for frame in frames[::-1][len(self.open) :]:
            self.open.append(WhileFrameBinding(self.conditions, frame, steps.entries))
            steps.entries = self.open[-1].entries
            steps.frame = frame
            self.conditions.open()
        guard = self.flow.guards.get(node.id, ALWAYS)
        self.conditions.need(guard)
        return guard

    def visit(self, node: Node) -> bool:
        """Add the steps of a control flow node. Return False if the node is not a control flow
        node.
        """
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
        """Close the innermost loop."""
        steps, loop = self.step_list, self.open[-1]
        step = loop.loop_step()
        self.open.pop()
        steps.frame = self.open[-1].frame if self.open else None
        self.conditions.close()
        steps.entries = loop.outer_entries
        guard = self.flow.outer[loop.frame]
        self.conditions.need(guard)
        reset = loop.reset_step()
        for node in loop.frame.enters:
            self.conditions.need(self.flow.entered.get(node.id, ALWAYS))
        if reset is not None:
            steps.entries.append(GuardedStep(ALWAYS, reset))
        steps.entries.append(GuardedStep(guard, step))

    def steps(self) -> list[Step]:
        """Return the steps of the plan."""
        entries = self.step_list.with_stretches(self.step_list.entries)
        return [entry.step for entry in with_regions(self.flags, entries)]

    # -- nodes

    def _pass(self, node: Node) -> None:
        """Add a step that copies the input of a Switch, Enter, Exit, NextIteration or LoopCond. If
        the output is a view of the input, add no step.
        """
        steps = self.step_list
        steps.refs(node)
        key, home = steps.home(node, 0)
        dying = steps.dying_cells(node, [key])
        for slot, dtype in enumerate(node.output_types):
            result = steps.unit.homes[node.id, slot]
            if result.storage is home.storage or dtype.is_ref_dtype:
                continue
            take = len(node.output_types) == 1 and bool(dying)
            run = move(steps, steps.runner(node), (key, home), ((node.id, slot), result), take)
            if node.node_class is NodeClass.ENTER:
                guarded = self.conditions.if_alive(self.flow.entered.get(node.id), run)
                self.open[-1].start.append(steps.step(node, guarded))
            else:
                steps.add(node, run, part=str(slot or ""))
        if node.id in self.flow.irregular:  # records that the loop was left by this Exit
            flag = self.flags.atom(Found(node.id, "exit"))
            steps.add(node, SetFlags(self.flags.values, [flag], True), "flag", part="flag")

    def _merge(self, node: Node) -> None:
        steps, guard = self.step_list, self.flow.guards[node.id]
        keys = [steps.home(node, slot)[0] for slot in range(node.num_inputs)]
        dying = steps.dying_cells(node, keys)
        inputs = [self._merge_input(node, slot, dying) for slot in range(node.num_inputs)]
        atom = Found(node.id, "merge")
        flag = self.flags.atom(atom) if atom in guard else None
        index = None
        if any(edge.src_output == 1 for edge in node._out):
            array = steps.array(steps.unit.homes[node.id, 1])
            index = [WriteIndex((node.id, 1), array, slot) for slot in range(node.num_inputs)]
        run = merger(self.flags.values, inputs, flag, index)
        step = steps.step(node, releasing(run, dying))
        reads = tuple(flag for flag, _ in inputs if flag is not None)
        if flag is None:
            steps.entries.append(GuardedStep(guard, step, (), reads))
        else:
            steps.entries.append(GuardedStep(ALWAYS, step, (flag,), reads))

    def _merge_input(self, node: Node, slot: int, dying: list[Any]) -> tuple[int | None, Run]:
        """Return the flag of an input of a Merge, and a callable that copies the input to the
        Merge's output. The flag is None if the input is always alive.
        """
        steps, edge = self.step_list, node.input_edge(slot)
        guard = self.flow.of_output(edge.src, edge.src_output)
        (key, home), result = steps.home(node, slot), steps.unit.homes[node.id, 0]
        run: Run = do_nothing
        if home.storage is not result.storage:
            take = is_cell(home.storage) and steps.cell(home.storage) in dying
            run = move(steps, steps.runner(node), (key, home), ((node.id, 0), result), take)
            if edge.src.output_types[edge.src_output].is_ref_dtype and home.storage.node:
                run = _checking(steps.variable(home.storage.node), run)
        return self.flag_of(guard), run


def _checking(state: VariableState, run: Run) -> Run:
    def move_if_initialized() -> None:
        state.value  # noqa: B018 - an error if it isn't
        run()

    return move_if_initialized
