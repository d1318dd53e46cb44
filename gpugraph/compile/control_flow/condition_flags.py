"""Conditions: the flags of predicates and guards, and the steps that set these flags. The flags and
steps are created while a plan is bound.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gpugraph.base.errors import invalid_argument
from gpugraph.compile.steps.guarded_regions import Flags, GuardedStep, RunIfUp
from gpugraph.compile.steps.step_list import StepList
from gpugraph.compile.unit.guards import ALWAYS, Flow, Guard, Is
from gpugraph.devices import Device
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.plan import Run, Step


class Conditions:
    """The conditions whose flags are set by steps of the plan, for each open frame. A flag that is
    set outside of a loop is also valid inside the loop.
    """

    def __init__(self, step_list: StepList, flow: Flow) -> None:
        self.step_list = step_list
        self.flow = flow
        self.flags = Flags(flow.within)
        self._known: list[set[Any]] = [set()]

    def open(self) -> None:
        """Begin a loop."""
        self._known.append(set())

    def close(self) -> None:
        """End the innermost loop."""
        self._known.pop()

    def _is_known(self, what: Any) -> bool:
        return any(what in known for known in self._known)

    def need(self, guard: Guard) -> None:
        """Add the steps that set the flag of a guard, unless the plan has them already."""
        if guard == ALWAYS:
            return
        atoms = self.flags.atoms(guard)
        for atom in atoms:
            if isinstance(atom, Is):
                self.need_literal(atom)
        if len(atoms) > 1 and not self._is_known(guard):
            self._known[-1].add(guard)
            reads = tuple(self.flags.atom(atom) for atom in atoms)
            self._add_flag(self.flags.joiner(guard), None, (self.flags.guard(guard),), reads)

    def need_literal(self, atom: Is) -> None:
        """Add the step that sets the two flags of a predicate, one for true and one for false,
        unless the plan has this step already.
        """
        if self._is_known(atom.pred):
            return
        self.need(self.flow.within[atom] - {atom})
        self._known[-1].add(atom.pred)
        node = self.step_list.unit.graph.find_id(atom.pred[0])
        assert node is not None
        sets = tuple(self.flags.atom(Is(atom.pred, value)) for value in (True, False))
        setter = self.flags.setter(atom, self.predicate(atom), self.predicate_array(atom))
        self._add_flag(setter, node, sets, tuple(self.flags.base(atom)))

    def predicate(self, atom: Is) -> Run:
        """Return a callable that reads the value of a predicate."""
        home = self.step_list.unit.homes[atom.pred]
        device = self.step_list.devices[home.storage.device]
        if home.storage.kind == "cell":
            return partial(_scalar, device, self.step_list.source(atom.pred, home))
        if home.shape != ():
            return partial(_refuse, home.shape)
        array = self.step_list.array(home)
        if device.name == self.step_list.unit.host:
            return array.item
        return lambda: device.read(array).item()

    def predicate_array(self, atom: Is) -> Any:
        """Return the array of a predicate if it holds one bool in host memory, or else None."""
        home = self.step_list.unit.homes[atom.pred]
        is_bool = home.shape == () and home.dtype.is_bool
        return self.step_list.array(home) if is_bool and self.step_list.is_plain(home) else None

    def _add_flag(
        self, run: Run, node: Node | None, sets: tuple[int, ...], reads: tuple[int, ...]
    ) -> None:
        name, origin, part = "and", None, str(sets[0])
        if node is not None:
            name, origin, part = node.name, node.origin, "flag"
        step = Step(name, "Switch", self.step_list.unit.host, 0, run, origin, "flag", part=part)
        self.step_list.entries.append(GuardedStep(ALWAYS, step, sets, reads))

    def flag_of(self, guard: Guard) -> int | None:
        """Return the flag of a guard, or None if the guard is always true. If the flag does not
        exist, also add the step that sets it.
        """
        self.need(guard)
        return None if guard == ALWAYS else self.flags.guard(guard)

    def if_alive(self, guard: Guard | None, run: Run) -> Run:
        """Return a callable that calls `run` if the guard's flag is set. If the guard is always
        true, return `run` itself.
        """
        if not guard:
            return run
        return RunIfUp(self.flags.values, self.flags.guard(guard), run)


def _scalar(device: Device, source: Callable[[], Any]) -> Any:
    array = source()
    return device.read(array).item() if array.shape == () else _refuse(array.shape)


def _refuse(shape: Any) -> Any:
    raise invalid_argument(
        f"The second input must be a scalar, but it has shape {list(shape or ())}"
    )
