"""Branches and loops, bound: nodes of control flow become flags, merges, regions and loops.

Follows the order, one list of entries for each frame that is open. When a loop's end comes, its
list becomes one step of the frame around it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from gpugraph.compile.context import Cell
from gpugraph.compile.dynamic import dying_cells
from gpugraph.compile.guards import ALWAYS, Flow, Found, Guard, Is
from gpugraph.compile.loop_binding import LoopInMaking
from gpugraph.compile.memory import passes_whole
from gpugraph.compile.merging import merger
from gpugraph.compile.moves import move
from gpugraph.compile.regions import Entry, Flags, grouped
from gpugraph.compile.unit import Storage
from gpugraph.devices import Device, VariableState
from gpugraph.errors import InvalidArgumentError
from gpugraph.graph.frames import Frame, is_loop_merge
from gpugraph.graph.runtime_graph import Node, NodeClass
from gpugraph.plan import Step

if TYPE_CHECKING:
    from gpugraph.compile.bind import Binder

__all__ = ["Branches"]


class Branches:
    """The control flow of one plan in the making."""

    def __init__(self, binder: Binder, flow: Flow) -> None:
        self.binder = binder
        self.flow = flow
        self.flags = Flags(flow.within)
        self.open: list[LoopInMaking] = []
        self.known: list[set[Any]] = [set()]  # what flags have their step, frame by frame
        self._cells_until: dict[int, dict[Storage, None]] | None = None

    # -- following the order

    def enter(self, node: Node) -> Guard:
        """Opens the loops that a node is in, and sees that its guard has a flag."""
        frame = self.flow.frames.at(node)
        inner = [each for each in frame.up() if each.parent is not None][::-1]
        for each in inner[len(self.open) :]:
            self.open.append(LoopInMaking(self, each, self.binder.entries))
            self.binder.entries = self.open[-1].entries
            self.known.append(set())
        guard = self.flow.guards.get(node.id, ALWAYS)
        self.need(guard)
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
                self._need_literal(Is(self.flow.pred_of[node.id], True))
            self._pass(node)
        elif node.node_class is not NodeClass.CONTROL_TRIGGER:
            return False
        return True

    def _close(self) -> None:
        loop = self.open[-1]
        step = loop.made()
        self.open.pop()
        self.known.pop()
        self.binder.entries = loop.around
        guard = self.flow.outer[loop.frame]
        self.need(guard)
        reset = loop.reset()
        for node in loop.frame.enters:
            self.need(self.flow.entered.get(node.id, ALWAYS))
        if reset is not None:
            self.binder.entries.append(Entry(ALWAYS, reset))
        self.binder.entries.append(Entry(guard, step))

    def frame(self) -> Frame | None:
        """The innermost loop that is open."""
        return self.open[-1].frame if self.open else None

    def cells_until(self, end: int) -> list[Cell]:
        """Cells that nobody needs after that position, the end of a loop."""
        if self._cells_until is None:
            found: dict[int, dict[Storage, None]] = {}
            self._cells_until = found
            for home in self.binder.unit.homes.values():
                storage = home.storage
                if storage.kind == "cell" and storage.node is None:
                    found.setdefault(storage.last, {})[storage] = None
        return [self.binder.cell(storage) for storage in self._cells_until.get(end, ())]

    def steps(self) -> list[Step]:
        """The steps of the plan."""
        return [entry.step for entry in grouped(self.flags, self.binder.entries)]

    # -- flags

    def need(self, guard: Guard) -> None:
        """Adds the steps that set the flag of a guard, where they are not there yet."""
        if guard == ALWAYS:
            return
        atoms = self.flags.atoms(guard)
        for atom in atoms:
            if isinstance(atom, Is):
                self._need_literal(atom)
        if len(atoms) > 1 and not any(guard in known for known in self.known):
            self.known[-1].add(guard)
            reads = tuple(self.flags.atom(atom) for atom in atoms)
            self._add_flag(self.flags.joiner(guard), None, (self.flags.guard(guard),), reads)

    def _need_literal(self, atom: Is) -> None:
        if any(atom.pred in known for known in self.known):
            return
        self.need(self.flow.within[atom] - {atom})
        self.known[-1].add(atom.pred)
        node = self.binder.unit.graph.find_id(atom.pred[0])
        assert node is not None
        sets = tuple(self.flags.atom(Is(atom.pred, value)) for value in (True, False))
        setter = self.flags.setter(atom, self.predicate(atom))
        self._add_flag(setter, node, sets, tuple(self.flags.base(atom)))

    def predicate(self, atom: Is) -> Callable[[], Any]:
        """What reads a predicate's value."""
        home = self.binder.unit.homes[atom.pred]
        device = self.binder.devices[home.storage.device]
        if home.storage.kind == "cell":
            return partial(_scalar, device, self.binder.source(atom.pred, home))
        if home.shape != ():
            return partial(_refuse, home.shape)
        array = self.binder.array(home)
        if device.name == self.binder.unit.host:
            return array.item  # type: ignore[no-any-return]
        return lambda: device.read(array).item()

    def _add_flag(
        self,
        run: Callable[[], Any],
        node: Node | None,
        sets: tuple[int, ...],
        reads: tuple[int, ...],
    ) -> None:
        name, origin = (node.name, node.origin) if node is not None else ("and", None)
        step = Step(name, "Switch", self.binder.unit.host, 0, run, origin, "flag")
        self.binder.entries.append(Entry(ALWAYS, step, sets, reads))

    def flag_of(self, guard: Guard) -> int | None:
        """The flag of a guard, whose step is there by now; None for one that always holds."""
        self.need(guard)
        return None if guard == ALWAYS else self.flags.guard(guard)

    def if_alive(self, guard: Guard | None, run: Callable[[], Any]) -> Callable[[], Any]:
        """`run`, where it must not be done unless the guard holds."""
        if not guard:
            return run
        flags, own = self.flags.values, self.flags.guard(guard)

        def run_if_alive() -> None:
            if flags[own]:
                run()

        return run_if_alive

    # -- nodes

    def _pass(self, node: Node) -> None:
        """A Switch, Enter, Exit, NextIteration or LoopCond, where it is no view."""
        binder = self.binder
        binder._refs(node)
        key, home = binder.home(node, 0)
        dying = dying_cells(binder, node, [key])
        for slot, dtype in enumerate(node.output_types):
            own = binder.unit.homes[node.id, slot]
            if own.storage is home.storage or dtype.is_ref_dtype:
                continue
            take = len(node.output_types) == 1 and bool(dying)
            run = move(binder, binder.runner(node), (key, home), ((node.id, slot), own), take)
            if node.node_class is NodeClass.ENTER:
                guarded = self.if_alive(self.flow.entered.get(node.id), run)
                self.open[-1].start.append(binder.step(node, guarded))
            else:
                binder.add(node, run, "kernel")
        if node.id in self.flow.irregular:
            self._raise(node)

    def _raise(self, node: Node) -> None:
        """Says that a loop was left by this Exit."""
        flags, own = self.flags.values, self.flags.atom(Found(node.id, "exit"))
        self.binder.add(node, partial(flags.__setitem__, own, True), "flag")

    def _merge(self, node: Node) -> None:
        binder, flow = self.binder, self.flow
        own = binder.unit.homes[node.id, 0]
        device = binder.runner(node)
        keys = [binder.home(node, slot)[0] for slot in range(node.num_inputs)]
        dying = dying_cells(binder, node, keys)
        inputs = []
        for slot in range(node.num_inputs):
            edge = node.input_edge(slot)
            guard = flow.of_output(edge.src, edge.src_output)
            key, home = binder.home(node, slot)
            run: Callable[[], Any] = _nothing
            if home.storage is not own.storage:
                cell = home.storage.kind == "cell" and home.storage.node is None
                take = cell and binder.cell(home.storage) in dying
                run = move(binder, device, (key, home), ((node.id, 0), own), take)
                if edge.src.output_types[edge.src_output].is_ref_dtype and home.storage.node:
                    run = _checking(binder.variable(home.storage.node), run)
            inputs.append((self.flag_of(guard), run))
        run = self._merger(node, inputs)
        if dying:
            run = _releasing(run, dying)
        found = Found(node.id, "merge")
        guard = flow.guards[node.id]
        reads = tuple(flag for flag, _ in inputs if flag is not None)
        if found in guard:
            entry = Entry(ALWAYS, binder.step(node, run), (self.flags.atom(found),), reads)
        else:
            entry = Entry(guard, binder.step(node, run), (), reads)
        binder.entries.append(entry)

    def _merger(
        self, node: Node, inputs: list[tuple[int | None, Callable[[], Any]]]
    ) -> Callable[[], Any]:
        binder, flags = self.binder, self.flags
        atom = Found(node.id, "merge")
        found = flags.atom(atom) if atom in self.flow.guards[node.id] else None
        used = any(edge.src_output == 1 for edge in node._out)
        index = binder.array(binder.unit.homes[node.id, 1]) if used else None
        return merger(flags.values, inputs, found, index)


def _nothing() -> None:
    """Moves what is in its place already."""


def _checking(state: VariableState, run: Callable[[], Any]) -> Callable[[], Any]:
    def move_if_initialized() -> None:
        state.value  # noqa: B018 - an error if it isn't
        run()

    return move_if_initialized


def _scalar(device: Device, source: Callable[[], Any]) -> Any:
    array = source()
    return device.read(array).item() if array.shape == () else _refuse(array.shape)


def _refuse(shape: Any) -> Any:
    raise InvalidArgumentError(
        None, None, f"The second input must be a scalar, but it has shape {list(shape or ())}"
    )


def _releasing(run: Callable[[], Any], cells: list[Any]) -> Callable[[], Any]:
    def merge() -> None:
        run()
        for cell in cells:
            cell.release()

    return merge
