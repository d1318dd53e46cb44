"""Sizes that a compilation leaves open, and the conditions under which its result is valid.

    trace = SizeTrace([32, 10])          a first run's batch and length
    batch, length = trace.sizes
    batch * length + 1                   a Size: 321 here, computed again for other inputs
    if length > 1: ...                   the outcome for length 10; the trace records the condition

Passes can compute with a `Size` wherever they compute with an int. Arithmetic yields Sizes in a
normal form, so that equal expressions are equal without a condition. If the outcome of a comparison
depends on the inputs, the trace returns the outcome for the first inputs, and records it as a
condition. Where an int is required (`__index__`), the trace returns the value for the first inputs,
and records that value as a condition. The result of a compilation with Sizes is therefore valid for
all inputs that meet every condition. For all other inputs, `SizeTrace.values` returns None.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from math import prod
from typing import Any

from gpugraph.base.sizes.size_bounds import least_of, varies
from gpugraph.base.sizes.size_literals import LITERALS, OpenSizeError
from gpugraph.base.sizes.size_values import SizeValues, Terms, value_of, without

_EMPTY: tuple[int, ...] = ()
_OPERATIONS: dict[str, Callable[[int, int], int]] = {"//": operator.floordiv, "%": operator.mod}
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
}


_LEAST_HINT = 3
"""The least hint of a size that differs between the iterations of a loop."""


class SizeTrace:
    """The open sizes of one compilation: the input sizes, sizes computed from them, and conditions.

    Attributes:
      sizes: the inputs, as Sizes.
      conditions: comparisons as (operator, left terms, right terms, outcome), in the order of
        recording.
    """

    def __init__(self, inputs: Sequence[int], reported: Mapping[str, int] | None = None) -> None:
        """Create a trace.

        Args:
          inputs: the values of the input sizes in the first run, each at least 0.
          reported: the sizes that kernels have reported in an earlier run (`report`), by name.
            If it is None, no size is reported.
        """
        self.reported = dict(reported or {})
        self.may_report = reported is not None
        self.conditions: dict[tuple[str, Terms, Terms, bool], None] = {}
        self._atoms: list[tuple[str, Terms, Terms] | None] = [None] * len(inputs)
        self.operations: dict[tuple[str, Terms, Terms], int] = {}  # by operation, its atom
        self._reports: dict[str, int] = {}  # the atoms of reported sizes
        self.loop_sizes: set[str] = set()  # those with another value in each iteration
        self._equal: dict[int, int] = {}  # atoms that equal another, by a condition
        self._is_apart = False  # whether conditions are recorded separately
        self._decides_loops = True  # whether sizes of loops may be compared
        self._hints = list(inputs)
        self.least: list[int | None] = [0] * len(inputs)  # by atom: its lower bound, if known
        self.sizes = [Size(self, (((number,), 1),), value) for number, value in enumerate(inputs)]

    @property
    def atoms(self) -> Sequence[tuple[str, Terms, Terms]]:
        """The atoms as (name, left operand, right operand): ("", (), ()) for an input, (name, (),
        ()) for a reported size, or an operation with its operands.
        """
        return [atom or ("", (), ()) for atom in self._atoms]

    @property
    def first_values(self) -> SizeValues:
        """The values of all Sizes for the first inputs."""
        return SizeValues(self._hints)

    def report(self, name: str, hint: int | None = None, least: int | None = None) -> Any:
        """Return the Size of a value that a kernel reports in each run. Return None if an earlier
        run has not reported it.

        Args:
          hint: the value for the first inputs, if it follows from them.
          least: a lower bound of a size that may differ in each iteration of a loop.
        """
        number = self._reports.get(name)
        if least is not None:
            self.loop_sizes.add(name)
            if hint is not None or name in self.reported:  # no special value, such as 1
                self.reported[name] = max(hint or self.reported[name], _LEAST_HINT)
        elif hint is not None:
            self.reported.setdefault(name, hint)
        if number is None:
            if name not in self.reported:
                return None
            number = self._reports[name] = len(self._atoms)
            self._hints.append(self.reported[name])
            self._atoms.append((name, (), ()))
            self.least.append(least or 0)
        return Size(self, (((number,), 1),), self._hints[number])

    @property
    def report_names(self) -> Set[str]:
        """The names of the sizes that the trace uses and that kernels report in a run."""
        return self._reports.keys()

    def reports_in(self, size: Any) -> set[str]:
        """Return the names of the sizes on which a Size depends and that kernels report in a
        run.
        """
        return self._names_in([_terms(size)])

    def _names_in(self, pending: list[Terms]) -> set[str]:
        names: set[str] = set()
        while pending:
            for number in {number for monomial, _ in pending.pop() for number in monomial}:
                name, left, right = self._atoms[number] or ("", (), ())
                names |= {name} & self._reports.keys()
                pending += [left, right]
        return names

    @property
    def names(self) -> list[str]:
        """The names of the atoms in messages: `s0`, ... for inputs, `q0`, ... for operations."""
        names = [f"s{number}" for number in range(len(self._atoms))]
        for place, number in enumerate(self.operations.values()):
            names[number] = f"q{place}"
        for name, number in self._reports.items():
            names[number] = name
        return names

    def values(
        self, inputs: Sequence[int], reported: Mapping[str, int] | None = None
    ) -> SizeValues | None:
        """Return the values of all Sizes for these inputs. Return None if the inputs violate a
        condition.

        Args:
          inputs: the values of the input sizes.
          reported: the reported sizes by name. A missing size has the value with which the trace
            was created, and conditions on it are not checked. If `reported` is None, all sizes are
            missing.
        """
        atoms = list(inputs)
        unknown = self._reports.keys() - (reported or {}).keys()
        reported = {**self.reported, **(reported or {})}
        try:
            for atom in self._atoms[len(inputs) :]:
                assert atom is not None
                name, left, right = atom
                if name in self._reports:
                    atoms.append(reported[name])
                    continue
                atoms.append(_OPERATIONS[name](value_of(left, atoms), value_of(right, atoms)))
        except ZeroDivisionError:
            return None
        for name, left, right, outcome in self.conditions:
            holds = _COMPARISONS[name](value_of(left, atoms), value_of(right, atoms)) is outcome
            if not holds and unknown.isdisjoint(self._names_in([left, right])):
                return None
        return SizeValues(atoms)

    @contextmanager
    def loops_undecided(self) -> Iterator[None]:
        """Inside the block, raise OpenSizeError for a comparison whose outcome may differ between
        the iterations of a loop.
        """
        before, self._decides_loops = self._decides_loops, False
        try:
            yield
        finally:
            self._decides_loops = before

    @contextmanager
    def recording(self) -> Iterator[dict[tuple[str, Terms, Terms, bool], None]]:
        """Collect the conditions that are recorded inside the block, separately from the trace's
        own conditions.

        Yield a dict that receives them. At the end of the block, conditions that the trace had
        before are removed from the dict.
        """
        before, self.conditions = self.conditions, {}
        was_apart, self._is_apart = self._is_apart, True
        try:
            yield self.conditions
        finally:
            self._is_apart = was_apart
            for condition in before:
                self.conditions.pop(condition, None)
            self.conditions = before

    def apply(self, name: str, left: Any, right: Any) -> Any:
        """Return a Size for the result of an operation that no polynomial expresses, such as a
        division.
        """
        key = (name, _terms(left), _terms(right))
        number = self.operations.get(key)
        if number is None:
            number = self.operations[key] = len(self._atoms)
            operands = [value_of(terms, self._hints) for terms in key[1:]]
            self._hints.append(_OPERATIONS[name](*operands))
            self._atoms.append(key)
            self.least.append(0 if least_of(left) >= 0 and least_of(right) >= 0 else None)
        return Size(self, (((number,), 1),), self._hints[number])

    def is_unequal(self, difference: Size) -> bool:
        """Return whether two sizes with this difference are treated as unequal without a condition.

        This applies to a size that differs between the iterations of a loop, if it does not equal
        the other size for the first inputs. Code for arbitrary sizes is also correct for equal
        sizes. Where it is not, the caller asks `varies` first.
        """
        return self._decides_loops and difference.hint != 0 and varies(difference)

    def decide(self, name: str, left: Any, right: Any) -> bool:
        """Return the outcome of a comparison for the first inputs, and record it as a condition."""
        outcome = _COMPARISONS[name](hint(left), hint(right))
        if not self._decides_loops and (varies(left) or varies(right)):
            raise OpenSizeError("a size differs between the iterations of a loop")
        self.conditions[name, _terms(left), _terms(right), outcome] = None
        if name == "==" and outcome and not self._is_apart:
            self._equate(_terms(left), _terms(right))
        return outcome

    def _equate(self, left: Terms, right: Terms) -> None:
        """Record that two sizes are equal. If this makes two atoms equal, let one of them represent
        the other. The representing atom must not depend on reported sizes, because its value must
        be known first.
        """
        if right or len(left) != 2:
            return
        ((one, n), (other, m)) = left
        if n == -m and len(one) == len(other) == 1:
            roots = sorted((self._root(one[0]), self._root(other[0])), key=self._represents)
            if roots[0] != roots[1] and not self._depends_on_reports(roots[0]):
                self._equal[roots[1]] = roots[0]

    def _represents(self, atom: int) -> tuple[bool, int]:
        """Return a sort key for equal atoms. The atom with the lowest key represents all of these
        atoms.
        """
        return self._depends_on_reports(atom), atom

    def _depends_on_reports(self, atom: int) -> bool:
        return bool(self._names_in([(((atom,), 1),)]))

    def _root(self, atom: int) -> int:
        while atom in self._equal:
            atom = self._equal[atom]
        return atom

    def _with_roots(self, terms: dict[tuple[int, ...], int]) -> dict[tuple[int, ...], int]:
        found: dict[tuple[int, ...], int] = {}
        for monomial, n in terms.items():
            key = tuple(sorted(map(self._root, monomial)))
            found[key] = found.get(key, 0) + n
        return found

    def of(self, terms: dict[tuple[int, ...], int]) -> Any:
        """Return a polynomial as a Size, or as an int if it is constant."""
        if self._equal:
            terms = self._with_roots(terms)
        normal = tuple(sorted((monomial, n) for monomial, n in terms.items() if n))
        if not normal:
            return 0
        if len(normal) == 1 and normal[0][0] == _EMPTY:
            return normal[0][1]
        return Size(self, normal, value_of(normal, self._hints))


class Size:
    """A size that depends on the inputs of its trace and can be used like an int.

    Attributes:
      terms: the polynomial over the trace's atoms, which are the inputs and the results of
        `SizeTrace.apply`.
      hint: the value for the trace's first inputs.
    """

    __slots__ = ("hint", "terms", "trace")
    __array_ufunc__ = None  # NumPy scalars then let this class compute `scalar + size`

    def __init__(self, trace: SizeTrace, terms: Terms, value: int) -> None:
        self.trace = trace
        self.terms = terms
        self.hint = value

    def reports(self) -> set[str]:
        """Return the names of the sizes on which this size depends and that kernels report in a
        run.
        """
        return self.trace.reports_in(self)

    def __add__(self, other: Any) -> Any:
        return _combined(self, other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return _combined(self, other, -1)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __neg__(self) -> Any:
        return self.trace.of({monomial: -n for monomial, n in self.terms})

    def __pos__(self) -> Size:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __mul__(self, other: Any) -> Any:
        if not _is_whole(other):
            return NotImplemented if not isinstance(other, float) else float(self) * other
        product: dict[tuple[int, ...], int] = {}
        for monomial, n in self.terms:
            for by, times in _terms(other):
                key = tuple(sorted(monomial + by))
                product[key] = product.get(key, 0) + n * times
        return self.trace.of(product)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return _divided(self, other) if _is_whole(other) else NotImplemented

    def __rfloordiv__(self, other: Any) -> Any:
        return _divided(_as_size(self.trace, other), self) if _is_whole(other) else NotImplemented

    def __mod__(self, other: Any) -> Any:
        return _rest(self, other) if _is_whole(other) else NotImplemented

    def __rmod__(self, other: Any) -> Any:
        return _rest(_as_size(self.trace, other), self) if _is_whole(other) else NotImplemented

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __truediv__(self, other: Any) -> float:
        return float(self) / float(other)

    def __rtruediv__(self, other: Any) -> float:
        return float(other) / float(self)

    def __pow__(self, other: Any) -> Any:
        return prod([self] * operator.index(other))

    def __lshift__(self, other: Any) -> Any:
        return self * (1 << operator.index(other))

    def __eq__(self, other: object) -> Any:
        if not _is_whole(other):
            return NotImplemented
        difference = self - other
        if type(difference) is not Size:
            return bool(difference == 0)
        if least_of(difference) > 0 or least_of(-difference) > 0:
            return False
        is_zero = type(other) is not Size and not other
        if not is_zero and self.trace.is_unequal(difference):
            return False
        return self.trace.decide("==", difference, 0)

    def __ne__(self, other: object) -> Any:
        is_equal = self.__eq__(other)
        return is_equal if is_equal is NotImplemented else not is_equal

    def __lt__(self, other: Any) -> Any:
        return _is_less(self, other) if _is_whole(other) else NotImplemented

    def __le__(self, other: Any) -> Any:
        return not _is_less(other, self) if _is_whole(other) else NotImplemented

    def __gt__(self, other: Any) -> Any:
        return _is_less(other, self) if _is_whole(other) else NotImplemented

    def __ge__(self, other: Any) -> Any:
        return not _is_less(self, other) if _is_whole(other) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.terms)

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __index__(self) -> int:
        if LITERALS.are_refused:
            raise OpenSizeError("a size is open")
        self.trace.decide("==", self, self.hint)
        return self.hint

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __repr__(self) -> str:
        return f"{self.hint}?"  # in reports; in generated code it would be a syntax error

    def __format__(self, spec: str) -> str:
        if LITERALS.are_refused:
            raise OpenSizeError("a size is open")
        return format(repr(self), spec)

    def __copy__(self) -> Size:
        return self

    def __deepcopy__(self, memo: Any) -> Size:
        return self


def hint(size: Any) -> int:
    """Return the value of a size for the first inputs. No condition is recorded, so the value is
    for estimates only.
    """
    return size.hint if type(size) is Size else size


def _is_whole(value: object) -> bool:
    """Return whether a value is a Size, an int, or a scalar integer of NumPy."""
    return hasattr(value, "__index__") and getattr(value, "shape", ()) == ()


def _terms(value: Any) -> Terms:
    if type(value) is Size:
        return value.terms
    number = operator.index(value)
    return ((_EMPTY, number),) if number else ()


def _as_size(trace: SizeTrace, value: Any) -> Size:
    return value if type(value) is Size else Size(trace, _terms(value), operator.index(value))


def _combined(size: Size, other: Any, sign: int) -> Any:
    if not _is_whole(other):
        return NotImplemented if not isinstance(other, float) else float(size) + sign * other
    terms = dict(size.terms)
    for monomial, n in _terms(other):
        terms[monomial] = terms.get(monomial, 0) + sign * n
    return size.trace.of(terms)


def _is_less(one: Any, other: Any) -> bool:
    difference = one - other  # at least one of them is a Size
    if type(difference) is not Size:
        return bool(difference < 0)
    if least_of(difference) >= 0:
        return False
    if least_of(-difference) > 0:
        return True
    return difference.trace.decide("<", difference, 0)


def _divided(size: Size, by: Any) -> Any:
    """Return the quotient of a size and a divisor. If the division is exact for all inputs, the
    quotient is a polynomial.
    """
    terms = _terms(by)
    if len(terms) == 1:
        (monomial, times), quotient = terms[0], {}
        for powers, n in size.terms:
            rest = without(powers, monomial)
            if rest is None or n % times:
                break
            quotient[rest] = n // times
        else:
            if monomial and not hint(by):
                raise ZeroDivisionError("a size of 0 as divisor")
            if monomial:
                size.trace.decide("==", by, 0)
            return size.trace.of(quotient)
    if type(by) is Size and not by.hint:
        raise ZeroDivisionError("a size of 0 as divisor")
    if type(by) is Size:
        size.trace.decide("==", by, 0)
    return size.trace.apply("//", size, by)


def _rest(size: Size, by: Any) -> Any:
    terms = _terms(by)
    if len(terms) == 1 and all(
        without(powers, terms[0][0]) is not None and not n % terms[0][1] for powers, n in size.terms
    ):
        return size - size // by * by
    if type(by) is Size:
        size.trace.decide("==", by, 0)
    return size.trace.apply("%", size, by)
