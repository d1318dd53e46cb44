"""Decompositions written as formulas. A formula is Python arithmetic on terms. Each operation adds
an expression to the decomposition.

    def formula(signature, var, rate, grad):
        return [var - grad * rate]

    op("ApplyGradientDescent", ..., native=decomposition(formula))

If a formula uses only + - * / and sqrt, in the same order as the op's NumPy kernel, the results
have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.dtypes import DType, bfloat16, float32
from gpugraph.kernel import Builder, Decomposition, Reduction, RowSource, Signature


class Term:
    """A value in the code that a builder generates. Python's operators on terms add expressions to
    this code.

    A number as the other operand becomes a constant of the term's dtype.
    """

    def __init__(self, builder: Builder, value: int) -> None:
        self.builder = builder
        self.value = value

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the term's value."""
        return self.builder.shape(self.value)

    @property
    def dtype(self) -> DType:
        """The dtype of the term's elements."""
        return self.builder.dtype(self.value)

    def apply(
        self,
        expression: str,
        *others: Any,
        dtype: DType | None = None,
        fails: tuple[str, str] = ("", ""),
    ) -> Term:
        """Apply an elementwise C expression, in which `x` is this term, and `y` and `z` are the
        terms `others`.

        Args:
          dtype: the dtype of the result, by default this term's dtype.
          fails: a pair (condition in C, message). If the condition is true for an element, the run
            raises an error with this message.
        """
        values = [self.value, *(self._operand(other) for other in others)]
        value = self.builder.apply(expression, values, dtype or self.dtype, self.dtype, fails)
        return Term(self.builder, value)

    def reduced(self, kernel: Reduction, axes: Sequence[int] | None = None) -> Term:
        """Reduce over `axes`, by default over all axes. The reduced axes are kept with size 1."""
        return Term(self.builder, self.builder.reduce(kernel, self.value, axes))

    def expanded(self, shape: Sequence[int]) -> Term:
        """Return this term reshaped to `shape`, which has additional axes of size 1."""
        return Term(self.builder, self.builder.expand(self.value, shape))

    def index(self, size: int, dtype: DType) -> Term:
        """Return a term with the values 0, 1, ..., size - 1 along the last axis."""
        return Term(self.builder, self.builder.index(size, dtype))

    def _operand(self, other: Any) -> int:
        if isinstance(other, Term):
            return other.value
        kept = float32 if self.dtype is bfloat16 else self.dtype  # as in the NumPy kernel
        return self.builder.constant(kept.as_numpy_dtype(other), self.dtype)

    def __add__(self, other: Any) -> Term:
        return self.apply("x + y", other)

    def __sub__(self, other: Any) -> Term:
        return self.apply("x - y", other)

    def __mul__(self, other: Any) -> Term:
        return self.apply("x * y", other)

    def __truediv__(self, other: Any) -> Term:
        return self.apply("x / y", other)

    def __neg__(self) -> Term:
        return self.apply("-x")

    def __rsub__(self, other: Any) -> Term:
        return self.apply("y - x", other)

    def sqrt(self) -> Term:
        """Return `sqrt(x)`, elementwise."""
        return self.apply("sqrt(x)")

    def exp(self) -> Term:
        """Return `exp(x)`, elementwise."""
        return self.apply("exp(x)")

    def log(self) -> Term:
        """Return `log(x)`, elementwise."""
        return self.apply("log(x)")


Formula = Callable[..., Sequence[Term]]
"""A function formula(signature, *terms): from the inputs' terms to terms of the outputs or new
values.
"""


def decomposition(formula: Formula, alone: RowSource | None = None) -> Decomposition:
    """Return the decomposition that a formula describes.

    Args:
      alone: the C function that computes the op as a separate step, if there is one.
    """

    def build(builder: Builder, signature: Signature, inputs: Sequence[int]) -> Sequence[int]:
        terms = formula(signature, *(Term(builder, value) for value in inputs))
        return [term.value for term in terms]

    return Decomposition(build, alone)
