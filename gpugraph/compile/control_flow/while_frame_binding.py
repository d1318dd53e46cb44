"""One loop in the making: its entries, what moves its variables, and when it goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from gpugraph.base.errors import UnimplementedError
from gpugraph.compile.control_flow.condition_flags import Conditions
from gpugraph.compile.control_flow.loop_step import Loop, LoopSteps
from gpugraph.compile.control_flow.native_while_loops import native_loop
from gpugraph.compile.steps.guarded_regions import Entry, with_regions
from gpugraph.compile.steps.tensor_moves import move
from gpugraph.compile.unit.compile_unit import Home, Storage, TensorId
from gpugraph.compile.unit.guards import ALWAYS, NEVER, Found, Guard, Is
from gpugraph.graph.nodes.loop_frames import Frame
from gpugraph.graph.nodes.node_and_edge import origins
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.plan import Step

Place = tuple[TensorId, Home]
Run = Callable[[], Any]


class _Move(NamedTuple):
    """A loop variable's way from one iteration to the next."""

    merge: Node
    source: Place
    target: Place


class WhileFrameBinding:
    """Collects a frame's entries until its end comes. `around` is the list of the outer frame."""

    def __init__(self, conditions: Conditions, frame: Frame, around: list[Entry]) -> None:
        self.conditions = conditions
        self.step_list = conditions.step_list
        self.flow = conditions.flow
        self.frame = frame
        self.around = around
        self.entries: list[Entry] = []
        self.start: list[Step] = []
        positions, homes = self.step_list.positions, self.step_list.unit.homes
        self.begins = min(positions[node.id] for node in frame.enters)
        self.entered = {homes[node.id, 0].storage for node in frame.enters}

    def made(self) -> Step:
        """The loop as one step."""
        merges = sorted(self.frame.merges, key=lambda node: self.step_list.positions[node.id])
        self.start += self._flags_at_start()
        self.start += [self._started(merge) for merge in merges]
        native, why = native_loop(self.step_list, self.frame)
        self.step_list.report_lines.append(f"loop {self.frame.name}: {why}")
        if native is None:
            self.entries = self.step_list.with_stretches(self.entries)
        head, goes_on, tail = self._parts(self._turn())
        first = self.frame.enters[0]
        asks = self.frame.loop_cond or first
        condition = self.step_list.step(asks, goes_on, "flag")
        loop = Loop(
            self.frame.name,
            LoopSteps(tuple(self.start), tuple(head), condition, tuple(tail)),
            self.step_list.cells_until(self._ends()),
            self.step_list.clock,
            self._entered(),
        )
        group = loop if native is None else native(loop)
        return Step(
            self.frame.name,
            "While",
            asks.assigned_device,
            self.step_list.unit.depth[first.id],
            group.run,
            first.origin,
            "loop",
            group=group,
        )

    def reset(self) -> Step | None:
        """What takes back that the loop was left by Exits that it may end without."""
        exits = [node for node in self.frame.exits if node.id in self.flow.irregular]
        if not exits:
            return None
        own = [self.conditions.flags.atom(Found(node.id, "exit")) for node in exits]
        return self._flag_step("not left", _setter(self.conditions.flags.values, own, False))

    # -- parts

    def _parts(self, turn: list[Step]) -> tuple[list[Step], Run, list[Step]]:
        """What each iteration does first, whether it is not the last, and what else it does."""
        go_on = self.flow.go_on[self.frame]
        atoms = list(go_on or ())
        later = self._later()
        if len(atoms) == 1 and isinstance(atoms[0], Is):
            split = self._split(atoms[0], frozenset(atoms))
            if split is not None:
                asks = self.conditions.predicate(atoms[0])
                goes_on = asks if atoms[0].value else _opposite(asks)
                return split[0], goes_on, [*split[1], *turn, *later]
        if go_on is None:
            goes_on, carries = self._carried()
            turn = [*turn, *carries]
        elif go_on >= NEVER:
            goes_on = bool
        elif go_on == ALWAYS:
            goes_on = _always
        else:
            flag = self.conditions.flag_of(go_on)
            goes_on = partial(self.conditions.flags.values.__getitem__, flag)
        steps = [entry.step for entry in with_regions(self.conditions.flags, self.entries)]
        return steps, goes_on, [*turn, *later]

    def _split(self, atom: Is, go_on: Guard) -> tuple[list[Step], list[Step]] | None:
        """The entries before the loop's condition is asked and after, if they part so."""
        flags = self.conditions.flags
        own = flags.atom(atom)
        at = 0
        while at < len(self.entries):
            entry = self.entries[at]
            if entry.guard != ALWAYS or own in entry.sets:
                break
            at += 1
        head, rest = self.entries[:at], self.entries[at:]
        if not all(entry.step.kind == "flag" or entry.guard >= go_on for entry in rest):
            return None
        bare = [entry._replace(guard=ALWAYS) if entry.guard == go_on else entry for entry in rest]
        tail = with_regions(flags, bare)
        if not any(own in entry.reads for entry in tail):
            tail = [entry for entry in tail if own not in entry.sets]
        return [entry.step for entry in head], [entry.step for entry in tail]

    def _carried(self) -> tuple[Run, list[Step]]:
        """Where each variable ends on its own: whether any goes on, and what says which do."""
        flags = self.conditions.flags.values
        ways = []
        for merge in self.frame.merges:
            back = next(edge for edge in merge._in if edge.is_back_edge)
            flag = self.conditions.flag_of(self.flow.guards[back.src.id])
            ways.append((flag, self.conditions.flags.atom(Found(merge.id, "carried"))))

        def alive() -> list[bool]:
            return [flag is None or flags[flag] for flag, _ in ways]

        def goes_on() -> bool:
            return any(alive())

        def carry() -> None:
            for (_, own), value in zip(ways, alive()):
                flags[own] = value

        return goes_on, [self._flag_step("carried", carry)]

    def _flags_at_start(self) -> list[Step]:
        flags = self.conditions.flags
        copies = []
        if self.frame in self.flow.carried:
            for merge in self.frame.merges:
                copies.append((flags.atom(Found(merge.id, "carried")), self.flow.started(merge)))
        for node in self.frame.enters:
            if node.id in self.flow.entered:
                own = flags.atom(Found(node.id, "entered"))
                copies.append((own, self.flow.entered[node.id]))
        steps = []
        if copies:
            ways = [(own, None if guard is None else flags.guard(guard)) for own, guard in copies]
            steps.append(self._flag_step("entered", _copier(flags.values, ways)))
        first = self._first()
        if first:
            steps.append(self._flag_step("first", _setter(flags.values, first, True)))
        return steps

    def _first(self) -> list[int]:
        """Flags of what enters for the first iteration only."""
        flags = self.conditions.flags
        atoms = [Found(node.id, "first") for node in self.frame.enters]
        return [flags.atom(atom) for atom in atoms if atom in self.flow.within]

    def _flag_step(self, name: str, run: Run) -> Step:
        host = self.step_list.unit.host
        return Step(f"{self.frame.name}/{name}", "Enter", host, 0, run, None, "flag")

    def _entered(self) -> Run | None:
        """Whether anything that enters is alive; None where it is if the loop runs at all."""
        guards = [self.flow.entered.get(node.id) for node in self.frame.enters]
        if None in guards:
            return None
        flags = self.conditions.flags
        own = [flags.guard(guard) for guard in guards if guard is not None]
        return lambda: any(map(flags.values.__getitem__, own))

    # -- variables

    def _started(self, merge: Node) -> Step:
        """What gives a variable its first value."""
        forward = [edge for edge in merge._in if not edge.is_control and not edge.is_back_edge]
        entered = [edge.src.node_class is NodeClass.ENTER for edge in forward]
        if entered != [True] or len(merge.input_types) != 2:
            raise UnimplementedError(
                merge.node_def,
                None,
                f"'{merge.name}' of a loop must have two inputs, an Enter and a NextIteration, "
                f"but has {', '.join(edge.src.type for edge in merge.input_edges())}"
                f"{origins(merge)}",
            )
        edge = forward[0]
        key = (edge.src.id, edge.src_output)
        home = self.step_list.unit.homes[key]
        take = home.storage.last <= self.step_list.positions[merge.id]
        run = self._move(merge, (key, home), take)
        index = self._index(merge, edge.dst_input)
        run = run if index is None else _both(run, index)
        return self.step_list.step(merge, self.conditions.if_alive(self.flow.started(merge), run))

    def _move(self, merge: Node, source: Place, take: bool) -> Run:
        own = ((merge.id, 0), self.step_list.unit.homes[merge.id, 0])
        if own[1].storage is source[1].storage:
            return _nothing
        return move(self.step_list, self.step_list.runner(merge), source, own, take)

    def _index(self, merge: Node, slot: int) -> Run | None:
        """What says by which input a value came, if somebody takes that."""
        if not any(edge.src_output == 1 for edge in merge._out):
            return None
        array = self.step_list.array(self.step_list.unit.homes[merge.id, 1])
        return partial(array.__setitem__, (), slot)

    def _turn(self) -> list[Step]:
        """What takes the variables to the next iteration, each read before it is written."""
        indexes = []
        moves = []
        for merge in self.frame.merges:
            back = next(edge for edge in merge._in if edge.is_back_edge)
            key = (back.src.id, back.src_output)
            source = (key, self.step_list.unit.homes[key])
            target = ((merge.id, 0), self.step_list.unit.homes[merge.id, 0])
            if source[1].storage is not target[1].storage:
                moves.append(_Move(merge, source, target))
            index = self._index(merge, back.dst_input)
            if index is not None:
                indexes.append(self.step_list.step(merge, index))
        return self._in_turn(moves) + indexes

    def _later(self) -> list[Step]:
        """What takes back, when all else is done, that this is the first iteration."""
        first = self._first()
        if not first:
            return []
        return [self._flag_step("later", _setter(self.conditions.flags.values, first, False))]

    def _in_turn(self, moves: list[_Move]) -> list[Step]:
        """The moves in an order in which none overwrites what another still reads."""
        steps: list[Step] = []
        while moves:
            read = [each.source[1].storage for each in moves]
            free = next((each for each in moves if each.target[1].storage not in read), None)
            if free is None:  # they go round: one value must step aside
                free = moves[0]
                aside = self._aside(free)
                steps.append(self._step(free.merge, free.source, aside, True))
                moves[0] = free._replace(source=aside)
                continue
            moves.remove(free)
            alone = read.count(free.source[1].storage) == 1
            take = alone and self._is_own(free.source[1].storage)
            steps.append(self._step(free.merge, free.source, free.target, take))
        return steps

    def _is_own(self, storage: Storage) -> bool:
        """Whether each iteration makes what the storage holds and nobody needs it afterwards."""
        inside = self.begins <= storage.first and storage.last <= self._ends()
        return inside and storage not in self.entered

    def _step(self, merge: Node, source: Place, target: Place, take: bool) -> Step:
        flow = self.flow
        run = move(self.step_list, self.step_list.runner(merge), source, target, take)
        if self.frame in flow.carried:
            back = next(edge for edge in merge._in if edge.is_back_edge)
            run = self.conditions.if_alive(flow.guards[back.src.id], run)
        return self.step_list.step(merge, run)

    def _aside(self, going: _Move) -> Place:
        """A place of its own for a value while others move."""
        _, home = going.source
        kind = home.storage.kind if home.storage.kind in ("cell", "object") else "aside"
        storage = Storage(kind, home.storage.device, 0, 0, self._ends(), going.merge.name)
        return ((-1 - going.merge.id, 0), Home(storage, home.shape, home.dtype))

    def _ends(self) -> int:
        assert self.frame.end is not None
        return self.step_list.positions[self.frame.end.id]


def _always() -> bool:
    return True


def _opposite(asks: Run) -> Run:
    return lambda: not asks()


def _nothing() -> None:
    """The value is where it belongs."""


def _setter(flags: list[bool], own: Sequence[int], value: bool) -> Run:
    def set_flags() -> None:
        for at in own:
            flags[at] = value

    return set_flags


def _copier(flags: list[bool], ways: Sequence[tuple[int, int | None]]) -> Run:
    """What gives flags the values of others; those without another are up."""

    def copy() -> None:
        for own, other in ways:
            flags[own] = other is None or flags[other]

    return copy


def _both(one: Run, other: Run) -> Run:
    def run() -> None:
        one()
        other()

    return run
