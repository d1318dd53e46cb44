"""Registers of sizes: the open sizes of a plan as steps of arithmetic, which native code computes.

    r0 = 0    r1 = 1    r2, ... = the fed sizes    then all others, each by one step:

    times      r[to] = r[left] * r[right]              products of sizes
    plus       r[to] = r[left] + factor * r[right]     sums of products
    //, %      r[to] = r[left] // r[right]

A size that a kernel reports is unknown until that kernel has run. The registers that depend on this
size are computed at a later stage of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gpugraph.base.sizes.size_traces import Size, SizeTrace
from gpugraph.base.sizes.size_values import Terms

TIMES, PLUS, QUOTIENT, REMAINDER = range(4)
"""The kinds of steps, as in host_sizes.c."""

_KINDS = {"//": QUOTIENT, "%": REMAINDER}
_COMPARISONS = {"==": 0, "<": 1, "<=": 2}
_ZERO, _ONE, _FED = range(3)


class SizeStep(NamedTuple):
    """One arithmetic operation on registers."""

    kind: int
    to: int
    left: int
    right: int
    factor: int = 0


class FedSizes(NamedTuple):
    """The correspondence between the sizes of a run's feeds and the inputs of a `SizeTrace`. Fed
    sizes that must be equal share one input.

    Args:
      inputs: for each input of the trace, the positions of the fed sizes that it represents.
      closed: the required values of all other fed sizes, by position.
    """

    inputs: Sequence[Sequence[int]]
    closed: Mapping[int, int]

    @property
    def num_sizes(self) -> int:
        """The number of fed sizes."""
        return len(self.closed) + sum(map(len, self.inputs))

    def of(self, sizes: Sequence[int]) -> list[int] | None:
        """Return the values of the trace's inputs for these fed sizes. Return None if two sizes
        that share an input differ, or if a closed size does not have its required value.
        """
        if any(sizes[position] != size for position, size in self.closed.items()):
            return None
        first = [sizes[positions[0]] for positions in self.inputs]
        for value, positions in zip(first, self.inputs):
            if any(sizes[position] != value for position in positions):
                return None
        return first


class SizeRegisters:
    """The registers of a trace's sizes, and the steps that compute them.

    Attributes:
      values: the initial value of each register.
      stages: for each register, the number of size reports that a run must make before the
        register's value is known.
      steps: the steps, in an order in which each operand is computed before its use.
      conditions: triples (register, comparison of its value with 0, expected result).
      fed: the registers of the fed sizes.
      atoms: the registers of the trace's atoms.
      reported: the registers of the sizes that kernels report, by name.
    """

    def __init__(
        self, trace: SizeTrace, fed: FedSizes, reports: Mapping[str, tuple[int, str]]
    ) -> None:
        """Compute the registers of all atoms and conditions of a trace.

        Args:
          reports: maps the name of a reported size to the stage from which the size is known, and
            the name whose register it shares.
        """
        self.fed = slice(_FED, _FED + fed.num_sizes)
        self.values = [0, 1] + [0] * fed.num_sizes
        self.stages = [0] * len(self.values)
        self._reports = reports
        self.steps: list[SizeStep] = []
        self.atoms = [_FED + positions[0] for positions in fed.inputs]
        self.reported: dict[str, int] = {}
        self._known: dict[Any, int] = {}
        self._monomials: dict[tuple[int, ...], int] = {(): _ONE}
        self._trace = trace
        self._add_atoms()
        self.conditions: list[tuple[int, int, int]] = []
        for position, size in fed.closed.items():
            self._require_equal(_FED + position, self._constant(size))
        for first, *others in fed.inputs:
            for other in others:
                self._require_equal(_FED + other, _FED + first)
        self.conditions += map(self.condition, trace.conditions)

    def number(self, size: Any) -> int:
        """Return the register of a Size or an int."""
        if type(size) is Size:
            return self._of_terms(size.terms)
        return self._constant(int(size))

    def condition(self, condition: tuple[str, Terms, Terms, bool]) -> tuple[int, int, int]:
        """Return a condition as (register, comparison of its value with 0, expected result)."""
        name, left, right, outcome = condition
        terms = dict(left)
        for monomial, factor in right:
            terms[monomial] = terms.get(monomial, 0) - factor
        difference = self._of_terms(sorted((key, n) for key, n in terms.items() if n))
        return difference, _COMPARISONS[name], int(outcome)

    def _add_atoms(self) -> None:
        """Add the trace's atoms that have no register yet."""
        for atom in self._trace.atoms[len(self.atoms) :]:
            self.atoms.append(self._atom(*atom))

    def _require_equal(self, one: int, other: int) -> None:
        step = self._step(PLUS, one, other, -1)
        self.conditions.append((step, _COMPARISONS["=="], 1))

    def _atom(self, name: str, left: Terms, right: Terms) -> int:
        if name in _KINDS:
            return self._step(_KINDS[name], self._of_terms(left), self._of_terms(right))
        stage, shared = self._reports[name]
        if shared not in self.reported:
            self.reported[shared] = self._new(0, stage)
        self.reported[name] = self.reported[shared]
        return self.reported[name]

    def _of_terms(self, terms: Iterable[tuple[tuple[int, ...], int]]) -> int:
        total = _ZERO
        for monomial, factor in terms:
            product = self._monomial(monomial)
            if total == _ZERO and factor == 1:
                total = product
            elif product == _ONE and total == _ZERO:
                total = self._constant(factor)
            else:
                total = self._step(PLUS, total, product, factor)
        return total

    def _monomial(self, atoms: tuple[int, ...]) -> int:
        known = self._monomials.get(atoms)
        if known is None:
            if atoms[-1] >= len(self.atoms):
                self._add_atoms()
            known = self.atoms[atoms[-1]]
            if len(atoms) > 1:
                known = self._step(TIMES, self._monomial(atoms[:-1]), known)
            self._monomials[atoms] = known
        return known

    def _constant(self, value: int) -> int:
        key = "constant", value
        if value in (0, 1):
            return _ONE if value else _ZERO
        if key not in self._known:
            self._known[key] = self._new(value, 0)
        return self._known[key]

    def _step(self, kind: int, left: int, right: int, factor: int = 0) -> int:
        key = kind, left, right, factor
        if key not in self._known:
            to = self._new(0, max(self.stages[left], self.stages[right]))
            self.steps.append(SizeStep(kind, to, left, right, factor))
            self._known[key] = to
        return self._known[key]

    def _new(self, value: int, stage: int) -> int:
        self.values.append(value)
        self.stages.append(stage)
        return len(self.values) - 1
