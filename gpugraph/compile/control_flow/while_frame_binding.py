"""Binding of a `while` frame to steps, including its condition and the copies of its loop
variables' values.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from typing import NamedTuple

from gpugraph.base.errors import UnimplementedError
from gpugraph.compile.control_flow.condition_flags import Conditions
from gpugraph.compile.control_flow.loop_program import LoopPredicate, LoopSteps
from gpugraph.compile.control_flow.loop_step import Loop
from gpugraph.compile.control_flow.native_iterations import NativeIterations
from gpugraph.compile.control_flow.native_while_loops import back_edge, native_loop
from gpugraph.compile.steps.guarded_regions import (
    AnyFlag,
    CopyFlags,
    GuardedStep,
    SetFlags,
    with_regions,
)
from gpugraph.compile.steps.kernel_context import Place
from gpugraph.compile.steps.tensor_moves import InOrder, WriteIndex, do_nothing, move, target_of
from gpugraph.compile.unit.compile_unit import Home, Storage
from gpugraph.compile.unit.guards import ALWAYS, NEVER, Atom, Found, Guard, Is
from gpugraph.graph.nodes.loop_frames import Frame
from gpugraph.graph.nodes.node_and_edge import origins
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.plan import Run, Step


class _NextValue(NamedTuple):
    """A copy of a loop variable's next value to the variable's memory."""

    merge: Node
    source: Place
    target: Place


class WhileFrameBinding:
    """The steps of one loop, which are collected until all its nodes are bound.

    Args:
      outer_entries: the steps of the surrounding frame.
    """

    def __init__(
        self, conditions: Conditions, frame: Frame, outer_entries: list[GuardedStep]
    ) -> None:
        self.conditions = conditions
        self.flags = conditions.flags
        self.step_list = conditions.step_list
        self.homes = self.step_list.unit.homes
        self.flow = conditions.flow
        self.frame = frame
        self.outer_entries = outer_entries
        self.entries: list[GuardedStep] = []
        self.start: list[Step] = []
        self.predicate: LoopPredicate | Sequence[int] | None = None
        assert frame.end is not None
        positions = self.step_list.positions
        self.begin = min(positions[node.id] for node in frame.enters)
        self.end = positions[frame.end.id]
        self.entered = {self.homes[node.id, 0].storage for node in frame.enters}

    def loop_step(self) -> Step:
        """Return the loop as one step."""
        steps, frame = self.step_list, self.frame
        merges = sorted(frame.merges, key=lambda node: steps.positions[node.id])
        self.start += self._flags_at_start()
        self.start += [self._first_value(merge) for merge in merges]
        native, reason = native_loop(steps, frame)
        if native is None:
            steps.report_lines.append(f"loop {frame.name}: {reason}")
            self.entries = steps.with_stretches(self.entries, in_loop=True)
        head, is_going_on, tail = self._iteration()
        first = frame.enters[0]
        condition_node = frame.loop_cond or first
        condition = steps.step(condition_node, is_going_on, "flag", "condition")
        loop_steps = LoopSteps(self.start, head, condition, tail, self.predicate)
        iterations = None
        if native is None and steps.jit.is_on:
            iterations = NativeIterations(
                frame.name, loop_steps, steps.copies, self.flags.values, steps.clock
            )
        loop = Loop(
            frame.name,
            loop_steps,
            steps.cells_until(self.end),
            steps.clock,
            self._any_entered(),
            iterations,
        )
        group = loop if native is None else native(loop)
        return Step(
            frame.name,
            "While",
            condition_node.assigned_device,
            steps.unit.depth[first.id],
            group.run,
            first.origin,
            "loop",
            group=group,
        )

    def reset_step(self) -> Step | None:
        """Return a step that clears the flags of Exits that may be dead after the loop, or None if
        there are no such Exits.
        """
        exits = [node for node in self.frame.exits if node.id in self.flow.irregular]
        if not exits:
            return None
        return self._set_flags("not left", [Found(node.id, "exit") for node in exits], False)

    # -- an iteration

    def _iteration(self) -> tuple[list[Step], Run, list[Step]]:
        """Return the steps before the loop's condition, the condition, and the steps after it."""
        next_values = self._next_values()
        first = self._first_atoms()
        later = [self._set_flags("later", first, False)] if first else []
        go_on = self.flow.go_on[self.frame]
        if go_on is not None and len(go_on) == 1:
            (atom,) = go_on
            parts = self._parts_at(atom, go_on) if isinstance(atom, Is) else None
            if isinstance(atom, Is) and parts is not None:
                head, tail = parts
                return head, self._asking(atom), [*tail, *next_values, *later]
        if go_on is None:
            is_going_on, carry = self._carrying()
            next_values.append(carry)
        else:
            is_going_on = self._asking_guard(go_on)
        head = [entry.step for entry in with_regions(self.flags, self.entries)]
        return head, is_going_on, [*next_values, *later]

    def _asking(self, atom: Is) -> Run:
        """Return a callable that returns whether the predicate of an atom has the atom's value."""
        array = self.conditions.predicate_array(atom)
        self.predicate = None if array is None else LoopPredicate(array, atom.value, atom.pred)
        predicate = self.conditions.predicate(atom)
        return predicate if atom.value else lambda: not predicate()

    def _asking_guard(self, guard: Guard) -> Run:
        """Return a callable that returns whether a guard is true."""
        if guard >= NEVER:
            return lambda: False
        if guard == ALWAYS:
            return lambda: True
        flag = self.conditions.flag_of(guard)
        assert flag is not None
        self.predicate = [flag]
        return partial(self.flags.values.__getitem__, flag)

    def _parts_at(self, atom: Is, go_on: Guard) -> tuple[list[Step], list[Step]] | None:
        """Return the steps before and the steps after the loop's condition, or None if they can't
        be divided there.

        The steps before the condition always run and do not set its flag. Each step after the
        condition sets flags, or runs only if the loop continues.
        """
        flag = self.flags.atom(atom)
        entries = self.entries
        head = list(takewhile(lambda e: e.guard == ALWAYS and flag not in e.sets, entries))
        rest = entries[len(head) :]
        if not all(entry.step.kind == "flag" or entry.guard >= go_on for entry in rest):
            return None
        rest = [entry._replace(guard=ALWAYS) if entry.guard == go_on else entry for entry in rest]
        tail = with_regions(self.flags, rest)
        if not any(flag in entry.reads for entry in tail):
            tail = [entry for entry in tail if flag not in entry.sets]
        return [entry.step for entry in head], [entry.step for entry in tail]

    def _carrying(self) -> tuple[Run, Step]:
        """Return the condition of a loop whose variables may end in different iterations, and the
        step that records which variables continue.
        """
        flags = self.flags.values
        copies: list[tuple[int, int | None]] = []
        for merge in self.frame.merges:
            source = back_edge(merge).src
            alive = self.conditions.flag_of(self.flow.guards[source.id])
            copies.append((self.flags.atom(Found(merge.id, "carried")), alive))
        alive_flags = [flag for _, flag in copies if flag is not None]
        is_endless = len(alive_flags) < len(copies)
        self.predicate = None if is_endless else alive_flags

        def is_going_on() -> bool:
            return is_endless or any(map(flags.__getitem__, alive_flags))

        return is_going_on, self._flag_step("carried", CopyFlags(flags, copies))

    # -- flags

    def _flags_at_start(self) -> list[Step]:
        """Return the steps that set flags at the start of the loop. These are the flags of its
        variables and Enters, and the flags that are true only in the first iteration.
        """
        guards: dict[Atom, Guard | None] = {}
        if self.frame in self.flow.carried:
            for merge in self.frame.merges:
                guards[Found(merge.id, "carried")] = self.flow.started(merge)
        for node in self.frame.enters:
            if node.id in self.flow.entered:
                guards[Found(node.id, "entered")] = self.flow.entered[node.id]
        steps = []
        if guards:
            copies = [
                (self.flags.atom(atom), None if guard is None else self.flags.guard(guard))
                for atom, guard in guards.items()
            ]
            steps.append(self._flag_step("entered", CopyFlags(self.flags.values, copies)))
        first = self._first_atoms()
        if first:
            steps.append(self._set_flags("first", first, True))
        return steps

    def _first_atoms(self) -> list[Atom]:
        """Return the atoms that are true only in the first iteration. They belong to Enters that
        are not loop-invariant.
        """
        atoms = [Found(node.id, "first") for node in self.frame.enters]
        return [atom for atom in atoms if atom in self.flow.within]

    def _flag_step(self, name: str, run: Run) -> Step:
        host = self.step_list.unit.host
        return Step(f"{self.frame.name}/{name}", "Enter", host, 0, run, None, "flag")

    def _set_flags(self, name: str, atoms: Sequence[Atom], value: bool) -> Step:
        flags = [self.flags.atom(atom) for atom in atoms]
        return self._flag_step(name, SetFlags(self.flags.values, flags, value))

    def _any_entered(self) -> AnyFlag | None:
        """Return a callable that returns whether any input of the loop is alive, or None if an
        input is always alive.
        """
        guards = [self.flow.entered.get(node.id) for node in self.frame.enters]
        if None in guards:
            return None
        flags = [self.flags.guard(guard) for guard in guards if guard is not None]
        return AnyFlag(self.flags.values, flags)

    # -- variables

    def _first_value(self, merge: Node) -> Step:
        """Return the step that gives a loop variable its first value."""
        forward = [edge for edge in merge._in if not edge.is_control and not edge.is_back_edge]
        is_enter = [edge.src.node_class is NodeClass.ENTER for edge in forward]
        if is_enter != [True] or len(merge.input_types) != 2:
            raise UnimplementedError(
                merge.node_def,
                None,
                f"'{merge.name}' of a loop must have two inputs, an Enter and a NextIteration, "
                f"but has {', '.join(edge.src.type for edge in merge.input_edges())}"
                f"{origins(merge)}",
            )
        edge = forward[0]
        source = self._place(edge.src, edge.src_output)
        target = self._variable(merge, source)
        run: Run = do_nothing
        if source[1].storage is not target[1].storage:
            take = source[1].storage.last <= self.step_list.positions[merge.id]
            run = self._move(merge, source, target, take)
        write_index = self._index_writer(merge, edge.dst_input)
        if write_index is not None:
            run = InOrder(run, write_index)
        guarded = self.conditions.if_alive(self.flow.started(merge), run)
        return self.step_list.step(merge, guarded, part="first value")

    def _place(self, node: Node, slot: int) -> Place:
        return (node.id, slot), self.homes[node.id, slot]

    def _variable(self, merge: Node, source: Place) -> Place:
        """Return the memory of a loop variable as the target of a copy."""
        key, home = self._place(merge, 0)
        return key, target_of(source[1], home)

    def _move(self, merge: Node, source: Place, target: Place, take: bool) -> Run:
        return move(self.step_list, self.step_list.runner(merge), source, target, take)

    def _index_writer(self, merge: Node, slot: int) -> Run | None:
        """Return a callable that writes `slot` to the Merge's index output, or None if no op reads
        that output.
        """
        if not any(edge.src_output == 1 for edge in merge._out):
            return None
        array = self.step_list.array(self.homes[merge.id, 1])
        return WriteIndex((merge.id, 1), array, slot)

    def _next_values(self) -> list[Step]:
        """Return the steps that set the loop variables to their next values. Each old value is read
        before it is overwritten.
        """
        index_steps = []
        moves = []
        for merge in self.frame.merges:
            edge = back_edge(merge)
            source = self._place(edge.src, edge.src_output)
            target = self._variable(merge, source)
            if source[1].storage is not target[1].storage:
                moves.append(_NextValue(merge, source, target))
            write_index = self._index_writer(merge, edge.dst_input)
            if write_index is not None:
                index_steps.append(self.step_list.step(merge, write_index, part="index"))
        return self._ordered(moves) + index_steps

    def _ordered(self, moves: list[_NextValue]) -> list[Step]:
        """Return the copies in an order in which no copy overwrites a value that a later copy
        reads.
        """
        steps: list[Step] = []
        while moves:
            read = [move.source[1].storage for move in moves]
            free = next((move for move in moves if move.target[1].storage not in read), None)
            if free is None:  # a cycle of copies: one value goes to a side buffer
                blocked = moves[0]
                aside = self._aside(blocked)
                steps.append(self._next_value(blocked._replace(target=aside), True, "aside"))
                moves[0] = blocked._replace(source=aside)
                continue
            moves.remove(free)
            storage = free.source[1].storage
            take = read.count(storage) == 1 and self._is_local(storage)
            steps.append(self._next_value(free, take))
        return steps

    def _is_local(self, storage: Storage) -> bool:
        """Return whether every iteration writes the storage again, and no op reads the storage
        after the loop.
        """
        inside = self.begin <= storage.first and storage.last <= self.end
        return inside and storage not in self.entered

    def _next_value(self, next_value: _NextValue, take: bool, part: str = "") -> Step:
        merge, source, target = next_value
        run = self._move(merge, source, target, take)
        if self.frame in self.flow.carried:
            run = self.conditions.if_alive(self.flow.guards[back_edge(merge).src.id], run)
        return self.step_list.step(merge, run, part=part)

    def _aside(self, next_value: _NextValue) -> Place:
        """Return a side buffer for a loop variable's next value, which stays there until the value
        that it would overwrite has been copied.
        """
        _, home = next_value.source
        kind = home.storage.kind if home.storage.kind in ("cell", "object") else "aside"
        storage = Storage(kind, home.storage.device, 0, 0, self.end, next_value.merge.name)
        return (-1 - next_value.merge.id, 0), Home(storage, home.shape, home.dtype)
