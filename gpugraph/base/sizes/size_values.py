"""The values of polynomials over sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Terms = tuple[tuple[tuple[int, ...], int], ...]
"""A polynomial in normal form: by monomial (the sorted numbers of its atoms) the coefficient."""


def value_of(terms: Terms, atoms: Sequence[int]) -> int:
    """Return the value of the polynomial `terms`, given the values of its atoms."""
    total = 0
    for monomial, n in terms:
        for number in monomial:
            n *= atoms[number]
        total += n
    return total


def text_of(terms: Terms, names: Sequence[str]) -> str:
    """Return a polynomial as text.

    Args:
      names: the names of its atoms.
    """
    products = [
        " * ".join([*([str(n)] if n != 1 or not monomial else []), *(names[i] for i in monomial)])
        for monomial, n in terms
    ]
    return " + ".join(products) or "0"


class SizeValues:
    """The values of a trace's Sizes for one set of inputs.

    Args:
      atoms: the values of the inputs, followed by the results of the operations of
        `SizeTrace.apply`.
    """

    def __init__(self, atoms: Sequence[int]) -> None:
        self.atoms = atoms

    def of(self, size: Any) -> Any:
        """Return the value of a Size. Return any other value unchanged."""
        terms = getattr(size, "terms", None)
        return size if terms is None else value_of(terms, self.atoms)

    def shape(self, sizes: Iterable[Any]) -> tuple[Any, ...]:
        """Return the values of the sizes of a shape."""
        return tuple([self.of(size) for size in sizes])


def without(monomial: tuple[int, ...], divisor: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return a product of atoms divided by another one, or None if it is no multiple of it."""
    rest = list(monomial)
    for number in divisor:
        if number not in rest:
            return None
        rest.remove(number)
    return tuple(rest)
