"""Graphs of raw control flow as plain data: interpreted, and built.

`interpret` runs a program by the rule that a dead input makes its reader dead, by iteration,
and looks at nothing of how plans are made. `built` makes the same program's graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import gpugraph as tf
from gpugraph.ops.framework.op_declaration import raw_ops

__all__ = ["Op", "Program", "TwiceError", "TwoAliveError", "ancestors", "built", "interpret"]

Output = tuple["Op", int]


@dataclass(eq=False)
class Op:
    """One op. `arg` is the argument of its kind: a number, or the loop that an Enter leads into."""

    kind: str
    inputs: list[Output]
    after: list[Op] = field(default_factory=list)
    arg: Any = None
    loop: int = 0
    number: int = 0
    device: str | None = None


class Program:
    """Ops in the order in which they were made, and the loop around each loop (0: none)."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.around: dict[int, int] = {}

    def add(self, kind: str, *inputs: Output, after: Iterable[Op] = (), **given: Any) -> Op:
        waits = [op for op in after if all(op is not source for source, _ in inputs)]
        made = Op(kind, list(inputs), waits, number=len(self.ops), **given)
        self.ops.append(made)
        return made

    def inside(self, loop: int, inner: int) -> int:
        """Return the loop right in `loop` that `inner` is in, or is."""
        while self.around[inner] != loop:
            inner = self.around[inner]
        return inner

    def holds(self, loop: int, inner: int) -> bool:
        while inner and inner != loop:
            inner = self.around[inner]
        return inner == loop


class TwoAliveError(Exception):
    """Two inputs of a Merge are alive."""


class TwiceError(Exception):
    """A loop is left by one Exit in two iterations, which no program should do."""


def ancestors(ops: Iterable[Op]) -> set[Op]:
    """Return the ops that a run needs to fetch these."""
    stack = list(ops)
    seen = set(stack)
    while stack:
        op = stack.pop()
        for source in (*(each for each, _ in op.inputs), *op.after):
            if source not in seen:
                seen.add(source)
                stack.append(source)
    return seen


# -- kinds of ops: by NumPy, and as a graph

PLAIN: dict[str, Callable[..., Any]] = {
    "mix": lambda arg, x, y: x + y.mean(),
    "tanh": lambda arg, x: np.tanh(x),
    "same": lambda arg, x: x,
    "cond": lambda arg, x: x,
    "join": lambda arg, x, y: np.concatenate([x, y])[:5],
    "head": lambda arg, x: x[:1],
    "const": lambda arg: np.array([arg, 1.0]),
    "true": lambda arg: np.bool_(arg),
    "less": lambda arg, x: np.bool_(x.sum() < arg),
    "and": lambda arg, x, y: np.bool_(x and y),
    "not": lambda arg, x: np.bool_(not x),
    "vector": lambda arg, x: np.array([float(x), 2.0]),
    "second": lambda arg, x: np.bool_(x == 1),
    "zero": lambda arg, x: np.int32(0),
    "below": lambda arg, x: np.bool_(x < arg),
    "next number": lambda arg, x: np.int32(x + 1),
    "gate": lambda arg, x, y: x,
    "trigger": lambda arg: True,
    "nothing": lambda arg: True,
    "next": lambda arg, x: x,
}
GRAPHED: dict[str, Callable[..., Any]] = {
    "mix": lambda arg, x, y: tf.add(x, tf.reduce_mean(y)),
    "tanh": lambda arg, x: tf.tanh(x),
    "same": lambda arg, x: tf.identity(x),
    "cond": lambda arg, x: raw_ops.LoopCond(x),
    "join": lambda arg, x, y: tf.concat([x, y], 0)[:5],
    "head": lambda arg, x: x[:1],
    "const": lambda arg: tf.constant([arg, 1.0], tf.float64),
    "true": lambda arg: tf.constant(arg),
    "less": lambda arg, x: tf.less(tf.reduce_sum(x), arg),
    "and": lambda arg, x, y: tf.logical_and(x, y),
    "not": lambda arg, x: tf.logical_not(x),
    "vector": lambda arg, x: _vector(tf.cast(x, tf.float64)),
    "second": lambda arg, x: tf.equal(x, 1),
    "zero": lambda arg, x: tf.cast(tf.reduce_sum(x) * 0.0, tf.int32),
    "below": lambda arg, x: tf.less(x, arg),
    "next number": lambda arg, x: x + 1,
    "gate": lambda arg, x, y: x + tf.cast(y, tf.float64) * 0.0,
    "trigger": lambda arg: raw_ops.ControlTrigger(),
    "nothing": lambda arg: tf.no_op(),
    "switch": lambda arg, x, pred: raw_ops.Switch(x, pred),
    "exit": lambda arg, x: raw_ops.Exit(x),
    "next": lambda arg, x: raw_ops.NextIteration(x),
    "enter": lambda arg, x: raw_ops.Enter(x, frame_name=f"loop{arg[0]}", is_constant=arg[1]),
}


def _vector(number: Any) -> Any:
    return tf.stack([number, number * 0.0 + 2.0])


# -- interpreted

Values = dict[Output, Any]
ALIVE = -1  # the slot that records that an op ran


def interpret(program: Program, given: Sequence[Any], needed: set[Op]) -> Values:
    """Outputs that are alive outside of loops, with their values, if `needed` are run."""
    values: Values = {}
    _Telling(program, given, needed).iteration(0, values, {}, {})
    return values


class _Telling:
    def __init__(self, program: Program, given: Sequence[Any], needed: set[Op]) -> None:
        self.program = program
        self.given = given
        self.ops = [op for op in program.ops if op in needed]
        self.items: dict[int, list[Op | int]] = {}

    def ordered(self, loop: int) -> list[Op | int]:
        """Return a loop's ops and the loops right in it, inputs first."""
        if loop not in self.items:
            holds, inside = self.program.holds, self.program.inside
            needs: dict[Op | int, set[Op | int]] = {}
            for op in self.ops:
                if holds(loop, op.loop):
                    item = op if op.loop == loop else inside(loop, op.loop)
                    sources = [source for source in _forward(op) if holds(loop, source.loop)]
                    found = {s if s.loop == loop else inside(loop, s.loop) for s in sources}
                    needs.setdefault(item, set()).update(found - {item})
            self.items[loop] = list(_sorted(needs))
        return self.items[loop]

    def iteration(
        self, loop: int, values: Values, back: dict[Op, Any], exits: dict[Op, Any]
    ) -> None:
        """Fill `values`. `back` holds the Merges' values from the last iteration."""
        for item in self.ordered(loop):
            if isinstance(item, int):
                self.loop(item, values)
            elif item.kind == "arg":
                values[item, 0], values[item, ALIVE] = self.given[item.arg], True
            elif item.kind == "exit":
                self.leave(item, values, exits)
            elif item.kind != "enter" and (item in back or not _is_loop_merge(item)):
                self.op(item, values, back)

    def leave(self, op: Op, values: Values, exits: dict[Op, Any]) -> None:
        if op.inputs[0] in values:
            if op in exits:
                raise TwiceError(op)
            exits[op] = values[op.inputs[0]]

    def op(self, op: Op, values: Values, back: dict[Op, Any]) -> None:
        if op.kind not in ("trigger", "merge") and any(
            (before, ALIVE) not in values for before in op.after
        ):
            return
        alive = [(at, each) for at, each in enumerate(op.inputs) if each in values]
        if op in back:
            values[op, 0], values[op, 1] = back[op]
        elif op.kind == "merge":
            if len(alive) > 1:
                raise TwoAliveError(op)
            if not alive:
                return
            values[op, 0], values[op, 1] = values[alive[0][1]], np.int32(alive[0][0])
        elif len(alive) < len(op.inputs):
            return
        elif op.kind == "switch":
            values[op, int(values[op.inputs[1]])] = values[op.inputs[0]]
        else:
            values[op, 0] = PLAIN[op.kind](op.arg, *(values[each] for each in op.inputs))
        values[op, ALIVE] = True

    def loop(self, loop: int, values: Values) -> None:
        """Run a loop; a value that enters it dead is dead in it."""
        own = [op for op in self.ops if op.loop == loop]
        enters = [op for op in own if op.kind == "enter" and op.inputs[0] in values]
        entered = {(op, 0): values[op.inputs[0]] for op in enters}
        merges = [op for op in own if _is_loop_merge(op)]
        back = _taken(merges, entered)
        exits: dict[Op, Any] = {}
        first = bool(enters)
        while back or first:
            inner: Values = {}
            for op in enters:
                if first or op.arg[1]:
                    inner[op, 0], inner[op, ALIVE] = entered[op, 0], True
            self.iteration(loop, inner, back, exits)
            back = _taken(merges, {k: v for k, v in inner.items() if k[0].kind == "next"})
            first = False
        for op, value in exits.items():
            values[op, 0], values[op, ALIVE] = value, True


def _is_loop_merge(op: Op) -> bool:
    return op.kind == "merge" and any(source.kind == "next" for source, _ in op.inputs)


def _taken(merges: list[Op], given: Values) -> dict[Op, Any]:
    """Return the values of loop variables, each with the number of its input."""
    return {
        op: (given[each], np.int32(at))
        for op in merges
        for at, each in enumerate(op.inputs)
        if each in given
    }


def _forward(op: Op) -> list[Op]:
    """Return the predecessors of an op in the same iteration."""
    return [source for source, _ in op.inputs if source.kind != "next"] + op.after


def _sorted(needs: dict[Any, set[Any]]) -> Iterator[Any]:
    done: set[Any] = set()
    while len(done) < len(needs):
        for item, before in needs.items():
            if item not in done and before & needs.keys() <= done:
                done.add(item)
                yield item


# -- built


def built(program: Program, inputs: Sequence[Any]) -> dict[Op, list[Any]]:
    """Return each op's tensors (or the operation, of one without outputs), in the default graph."""
    made: dict[Op, list[Any]] = {}
    left: list[tuple[Any, int, Output]] = []
    for op in _sorted({op: set(_forward(op)) for op in program.ops}):
        with tf.control_dependencies([made[each][0] for each in op.after]), tf.device(op.device):
            given = [made[source][slot] for source, slot in op.inputs if source in made]
            if op.kind == "arg":
                made[op] = [inputs[op.arg]]
            elif op.kind == "merge":
                made[op] = _merge(op, made, given, left)
            else:
                tensors = GRAPHED[op.kind](op.arg, *given)
                made[op] = list(tensors) if op.kind == "switch" else [tensors]
    for merge, at, (source, slot) in left:
        merge._update_input(at, made[source][slot])
    return made


def _merge(
    op: Op, made: dict[Op, list[Any]], given: list[Any], left: list[tuple[Any, int, Output]]
) -> list[Any]:
    """A Merge; an input that is not there yet is put in later."""
    tensors = [made[source][slot] if source in made else given[0] for source, slot in op.inputs]
    output, index = raw_ops.Merge(tensors)
    left += [(output.op, at, each) for at, each in enumerate(op.inputs) if each[0] not in made]
    return [output, index]
