"""Tables of sizes, which compute the values of many Sizes by one product of a matrix and a vector.

coefficients x values of monomials (a, b, ab, ...) = values of Sizes
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.sizes.size_traces import Size
from gpugraph.base.sizes.size_values import SizeValues, Terms

_LIMIT = float(1 << 62)


class SizeTable:
    """A table of Sizes and ints. Each distinct value has a number, its row in the table."""

    def __init__(self) -> None:
        self._numbers: dict[Terms, int] = {}
        self._matrix: Any = None
        self._monomials: list[tuple[int, ...]] = []

    def number(self, size: Any) -> int:
        """Return the row number of a Size or an int. If it is new, add a row."""
        if type(size) is Size:
            terms: Terms = size.terms
        else:
            terms = (((), int(size)),) if size else ()
        return self.of_terms(terms)

    def of_terms(self, terms: Iterable[tuple[tuple[int, ...], int]]) -> int:
        """Return the row number of a polynomial. If it is new, add a row."""
        self._matrix = None
        return self._numbers.setdefault(tuple(terms), len(self._numbers))

    def difference(self, left: Terms, right: Terms) -> int:
        """Return the row number of the difference of two polynomials. If it is new, add a row."""
        terms = dict(left)
        for monomial, factor in right:
            terms[monomial] = terms.get(monomial, 0) - factor
        return self.of_terms(sorted((monomial, n) for monomial, n in terms.items() if n))

    def values(self, sizes: SizeValues) -> Any:
        """Return an array with the value of each row. Raises OverflowError if a value might reach
        2**62.
        """
        if self._matrix is None:
            self._build()
        atoms = sizes.atoms
        monomials = [prod([atoms[number] for number in monomial]) for monomial in self._monomials]
        large = np.array(monomials, np.float64)
        if monomials and float(np.max(self._magnitudes @ np.abs(large))) >= _LIMIT:
            raise OverflowError("the product of sizes exceeds 2**62")
        return self._matrix @ np.array(monomials, np.int64)

    def _build(self) -> None:
        monomials: dict[tuple[int, ...], int] = {}
        for terms in self._numbers:
            for monomial, _ in terms:
                monomials.setdefault(monomial, len(monomials))
        self._matrix = np.zeros((len(self._numbers), len(monomials)), np.int64)
        for terms, row in self._numbers.items():
            for monomial, factor in terms:
                self._matrix[row, monomials[monomial]] = factor
        self._magnitudes = np.abs(self._matrix).astype(np.float64)
        self._monomials = list(monomials)
