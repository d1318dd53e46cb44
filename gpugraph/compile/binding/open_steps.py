"""Steps of a plan whose sizes change: native calls, and steps that are bound for each set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gpugraph.compile.binding.binder import Binder
from gpugraph.compile.binding.open_binding import run_of
from gpugraph.compile.steps.tensor_moves import Move, move
from gpugraph.devices.native import OpenCall, Words, one_blas_thread
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.plan import Run, Step

StepKey = tuple[str, str]
"""The kind of a step and its part, which distinguish the steps of a node."""


class Opened(NamedTuple):
    """The native call of a step.

    calls: its parts, each with its words and open form; empty if it has none. conditions: under
    which that holds. bind: returns the call for one set of sizes; None if there is none.
    """

    step: Step
    call: Run
    calls: Sequence[tuple[Words, OpenCall]]
    conditions: Sequence[tuple[str, Any, Any, bool]]
    bind: Callable[[Binder], Run | None]


class NumPyStep:
    """The callable of a step by NumPy for the current sizes."""

    def __init__(self, node: Node, step: Step) -> None:
        self.node: Node = node
        self.key: StepKey = step.kind, step.part
        self.run: Run = step.run

    def bind(self, binder: Binder) -> Run:
        """Return the callable for the sizes of a binder's unit."""
        return run_of(binder, self.node, self.key)

    def __call__(self) -> Any:
        with one_blas_thread():  # further threads would spin beside native code
            return self.run()


class MoveStep:
    """The callable of a copy by NumPy for the current sizes."""

    def __init__(self, step: Step, args: Move) -> None:
        self.run: Run = step.run
        self._args = args

    def bind(self, binder: Binder) -> Run:
        """Return the callable for the sizes of a binder's unit."""
        device, (source, _), (target, _), take = self._args
        homes = binder.unit.homes
        return move(binder, device, (source, homes[source]), (target, homes[target]), take)

    def __call__(self) -> Any:
        return self.run()
