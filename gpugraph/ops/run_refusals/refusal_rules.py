"""Rules that give the words of TensorFlow's kernels for inputs which inference has refused.

The building of a graph and a run refuse the same inputs in different words: shape functions speak
in the one case, kernels in the other. Inference here serves both, so its words are those of shape
functions. A table of rules for each op type, in the order of the kernel's checks, has the others.
Rules are asked after a refusal only, so that they cost nothing while inputs fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gpugraph.base.errors import InvalidArgumentError, OpError
from gpugraph.graph.inference_context import InferContext


class RunRefusal(NamedTuple):
    """The words and the class of the error of a run."""

    words: str
    error_class: Callable[[Any, Any, str], OpError] = InvalidArgumentError


@dataclass(frozen=True)
class Input:
    """An input of a known shape, as rules and their templates see it.

    `value` is None unless the input is one that inference may read.
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
        """The last size, 1 of a scalar."""
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
"""The words of one check of a kernel, or None where the inputs pass it."""


def when(
    fails: Callable[[Refused], Any],
    template: str,
    error_class: Callable[[Any, Any, str], OpError] = InvalidArgumentError,
) -> Rule:
    """A rule with a template for `str.format`: `{0.text}` is the shape of the first input.

    `{op.name}` and `{op.type}` are there too.
    """

    def rule(op: Refused) -> RunRefusal | None:
        return RunRefusal(template.format(*op.x, op=op), error_class) if fails(op) else None

    return rule


def rank_is(slot: int, rank: int, template: str) -> Rule:
    """The check of a kernel for an input of that rank."""
    return when(lambda op: op.x[slot].rank != rank, template)


def rank_from(slot: int, rank: int, template: str) -> Rule:
    """The check of a kernel for an input of that rank at least."""
    return when(lambda op: op.x[slot].rank < rank, template)


def same_rows(template: str) -> Rule:
    """The check of a kernel for as many elements of the second input as the first has rows."""
    return when(lambda op: op.x[0].sizes[0] != op.x[1].count, template)


def old_scalar(slot: int, template: str) -> Rule:
    """The check of a kernel for a scalar, or a vector of one element."""
    return when(lambda op: op.x[slot].sizes not in ((), (1,)), template)


def same_shapes(one: int, other: int, template: str) -> Rule:
    """The check of a kernel for two inputs of one shape."""
    return when(lambda op: op.x[one].sizes != op.x[other].sizes, template)


def no_negative(slot: int, template: str = "Dimension {0} must be >= 0", minimum: int = 0) -> Rule:
    """The check for a vector of sizes: `{0}` is the first below the minimum, `{1}` its index."""

    def rule(op: Refused) -> str | None:
        value = op.x[slot].value
        for index, size in enumerate(() if value is None else value.ravel()):
            if size < minimum:
                return template.format(size, index)
        return None

    return rule


def refused_op(context: InferContext, name: str, op_type: str) -> Refused | None:
    """The op that inference has refused; None where shapes are not known."""
    inputs = []
    for index, shape in enumerate(context.shapes):
        if shape.sizes is None or None in shape.sizes:
            return None
        inputs.append(Input(shape.sizes, context.value(index)))
    return Refused(inputs, context.attrs, name, op_type)


__all__ = ["Input", "Refused", "Rule", "RunRefusal", "no_negative", "old_scalar"]
__all__ += ["rank_from", "rank_is", "refused_op", "same_shapes", "when"]
