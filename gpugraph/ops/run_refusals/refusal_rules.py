"""Rules with the messages of TensorFlow's kernels for inputs that shape inference rejected.

TensorFlow rejects the same inputs with different messages at graph construction (by shape
functions) and in runs (by kernels). Here, the same shape inference is used in both cases, with the
messages of TensorFlow's shape functions. If the kernel of an op type has other messages, a table
has rules with these messages, in the order of the kernel's checks. The rules are evaluated only
after a rejection in a run, so they cost nothing for valid inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gpugraph.base.errors import InvalidArgumentError, OpError
from gpugraph.graph.inference_context import InferContext


class RunRefusal(NamedTuple):
    """The message and the class of the error that a run raises."""

    words: str
    error_class: Callable[[Any, Any, str], OpError] = InvalidArgumentError


@dataclass(frozen=True)
class KnownInput:
    """An input of fully known shape, for rules and the templates of their messages.

    Args:
      value: the value of the input if it is known when shapes are inferred, otherwise None. The
        values of sizes and axes, for example, are known.
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
        """The shape in TensorFlow's notation: "[2,3]"."""
        return "[" + ",".join(map(str, self.sizes)) + "]"


@dataclass(frozen=True)
class Refused:
    """An op whose inputs were rejected. `x` is the list of its inputs."""

    x: Sequence[KnownInput]
    attrs: Mapping[str, Any]
    name: str
    type: str


Rule = Callable[[Refused], "RunRefusal | str | None"]
"""One check of a kernel: a function that returns its message, or None if the inputs pass."""


def when(
    fails: Callable[[Refused], Any],
    template: str,
    error_class: Callable[[Any, Any, str], OpError] = InvalidArgumentError,
) -> Rule:
    """Return a rule. It rejects the op, with the message `template`, if `fails` returns true for
    the op.

    The template is formatted by `str.format`. `{0.text}` is the shape of the first input, and
    `{op.name}` and `{op.type}` are the op's name and type.
    """

    def rule(op: Refused) -> RunRefusal | None:
        return RunRefusal(template.format(*op.x, op=op), error_class) if fails(op) else None

    return rule


def rank_is(slot: int, rank: int, template: str) -> Rule:
    """Return the rule that input `slot` must have rank `rank`."""
    return when(lambda op: op.x[slot].rank != rank, template)


def rank_from(slot: int, rank: int, template: str) -> Rule:
    """Return the rule that input `slot` must have at least rank `rank`."""
    return when(lambda op: op.x[slot].rank < rank, template)


def same_rows(template: str) -> Rule:
    """Return the rule that the second input must have as many elements as the first has rows."""
    return when(lambda op: op.x[0].sizes[0] != op.x[1].count, template)


def old_scalar(slot: int, template: str) -> Rule:
    """Return the rule that input `slot` must be a scalar, or a vector of one element."""
    return when(lambda op: op.x[slot].sizes not in ((), (1,)), template)


def same_shapes(one: int, other: int, template: str) -> Rule:
    """Return the rule that the inputs `one` and `other` must have the same shape."""
    return when(lambda op: op.x[one].sizes != op.x[other].sizes, template)


def no_negative(slot: int, template: str = "Dimension {0} must be >= 0", minimum: int = 0) -> Rule:
    """Return the rule that no element of input `slot`, a vector of sizes, may be below `minimum`.

    In the template, `{0}` is the first element below the minimum, and `{1}` is its index.
    """

    def rule(op: Refused) -> str | None:
        value = op.x[slot].value
        for index, size in enumerate(() if value is None else value.ravel()):
            if size < minimum:
                return template.format(size, index)
        return None

    return rule


def refused_op(context: InferContext, name: str, op_type: str) -> Refused | None:
    """Return the op with its rejected inputs, or None if a shape is not fully known."""
    inputs = []
    for index, shape in enumerate(context.shapes):
        if shape.sizes is None or None in shape.sizes:
            return None
        inputs.append(KnownInput(shape.sizes, context.value(index)))
    return Refused(inputs, context.attrs, name, op_type)


__all__ = ["KnownInput", "Refused", "Rule", "RunRefusal", "no_negative", "old_scalar"]
__all__ += ["rank_from", "rank_is", "refused_op", "same_shapes", "when"]
