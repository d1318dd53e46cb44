"""Rules that produce the messages of TensorFlow's kernels for inputs that inference has refused.

Graph construction and runs refuse the same inputs in different words: those of shape functions
and those of kernels. Inference here serves both cases with the words of shape functions.
For each op type, a table of rules, in the order of the kernel's checks, has the kernel's words.
The rules run only after a refusal, so they cost nothing for valid inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gpugraph.base.errors import InvalidArgumentError, OpError
from gpugraph.graph.inference_context import InferContext


class RunRefusal(NamedTuple):
    """The message and the class of a run's error."""

    words: str
    error_class: Callable[[Any, Any, str], OpError] = InvalidArgumentError


@dataclass(frozen=True)
class Input:
    """An input of a known shape, for rules and their templates.

    `value` is None unless inference may read the input.
    """

    sizes: tuple[Any, ...]
    value: Any

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.sizes)

    @property
    def count(self) -> int:
        """The number of elements."""
        return math.prod(self.sizes)

    @property
    def columns(self) -> int:
        """The last size, or 1 for a scalar."""
        return self.sizes[-1] if self.sizes else 1

    @property
    def text(self) -> str:
        """The shape as the runtime writes it."""
        return "[" + ",".join(map(str, self.sizes)) + "]"


@dataclass(frozen=True)
class Refused:
    """An op whose inputs were refused: `x[0]` is its first input."""

    x: Sequence[Input]
    attrs: Mapping[str, Any]
    name: str
    type: str


Rule = Callable[[Refused], "RunRefusal | str | None"]
"""One check of a kernel; returns its message, or None if the inputs pass."""


def when(
    fails: Callable[[Refused], Any],
    template: str,
    error_class: Callable[[Any, Any, str], OpError] = InvalidArgumentError,
) -> Rule:
    """Return a rule with a template for `str.format`: `{0.text}` is the shape of the first input.

    `{op.name}` and `{op.type}` are available too.
    """

    def rule(op: Refused) -> RunRefusal | None:
        return RunRefusal(template.format(*op.x, op=op), error_class) if fails(op) else None

    return rule


def rank_is(slot: int, rank: int, template: str) -> Rule:
    """Return a kernel's check that an input has this rank."""
    return when(lambda op: op.x[slot].rank != rank, template)


def rank_from(slot: int, rank: int, template: str) -> Rule:
    """Return a kernel's check that an input has at least this rank."""
    return when(lambda op: op.x[slot].rank < rank, template)


def same_rows(template: str) -> Rule:
    """Return a kernel's check that the second input has one element per row of the first."""
    return when(lambda op: op.x[0].sizes[0] != op.x[1].count, template)


def old_scalar(slot: int, template: str) -> Rule:
    """Return a kernel's check that an input is a scalar, or a vector of one element."""
    return when(lambda op: op.x[slot].sizes not in ((), (1,)), template)


def same_shapes(one: int, other: int, template: str) -> Rule:
    """Return a kernel's check that two inputs have the same shape."""
    return when(lambda op: op.x[one].sizes != op.x[other].sizes, template)


def no_negative(slot: int, template: str = "Dimension {0} must be >= 0", minimum: int = 0) -> Rule:
    """Return the check of a vector of sizes: `{0}` is the first too small one, `{1}` its index."""

    def rule(op: Refused) -> str | None:
        value = op.x[slot].value
        for index, size in enumerate(() if value is None else value.ravel()):
            if size < minimum:
                return template.format(size, index)
        return None

    return rule


def refused_op(context: InferContext, name: str, op_type: str) -> Refused | None:
    """Return the op that inference has refused, or None if shapes are not known."""
    inputs = []
    for index, shape in enumerate(context.shapes):
        if shape.sizes is None or None in shape.sizes:
            return None
        inputs.append(Input(shape.sizes, context.value(index)))
    return Refused(inputs, context.attrs, name, op_type)


__all__ = ["Input", "Refused", "Rule", "RunRefusal", "no_negative", "old_scalar"]
__all__ += ["rank_from", "rank_is", "refused_op", "same_shapes", "when"]
