"""Guards: sets of conditions, and their implications."""

from __future__ import annotations

from itertools import product

import hypothesis.strategies as st
from hypothesis import given

from gpugraph.compile.unit.guards import (
    ALWAYS,
    NEVER,
    Found,
    Guard,
    Is,
    apart,
    either,
    holds_never,
    needed,
)

PREDS = [(1, 0), (2, 0), (3, 0)]
P, Q, R = (Is(pred, True) for pred in PREDS)
literals = st.builds(Is, st.sampled_from(PREDS), st.booleans())
guards = st.frozensets(literals, max_size=3)


def no(atom: Is) -> Is:
    return Is(atom.pred, not atom.value)


def of(*atoms: Is | Found) -> Guard:
    return frozenset(atoms)


def cases() -> list[dict[tuple[int, int], bool]]:
    return [dict(zip(PREDS, item)) for item in product([False, True], repeat=len(PREDS))]


def holds(guard: Guard, case: dict[tuple[int, int], bool]) -> bool:
    return not guard >= NEVER and all(case[atom.pred] == atom.value for atom in guard)


def test_a_branch_and_its_other_side_are_one_of_them_always() -> None:
    assert either([of(P), of(no(P))]) == ALWAYS
    assert either([of(P, Q), of(P, no(Q))]) == of(P)
    assert either([of(P), of(no(P), Q), of(no(P), no(Q))]) == ALWAYS


def test_what_follows_from_another_adds_nothing() -> None:
    assert either([of(P), of(P, Q)]) == of(P)
    assert either([of(P), of(P, no(P))]) == of(P)
    assert either([of(P, no(P))]) == NEVER
    assert either([]) == NEVER
    assert either([ALWAYS, of(P)]) == ALWAYS


def test_what_no_guard_says_is_none() -> None:
    assert either([of(P), of(Q)]) is None
    assert either([of(P, Q), of(no(P), R)]) is None
    assert either([of(Found(7, "merge")), of(P)]) is None


@given(st.lists(guards, max_size=4))
def test_either_holds_just_when_one_of_them_does(given: list[Guard]) -> None:
    result = either(given)
    if result is not None:
        for case in cases():
            assert holds(result, case) == any(holds(guard, case) for guard in given)


@given(guards, guards)
def test_guards_are_apart_if_no_case_has_both(one: Guard, other: Guard) -> None:
    both = any(holds(one, case) and holds(other, case) for case in cases())
    assert apart(one, other) == (not both)
    assert holds_never(one) == (not any(holds(one, case) for case in cases()))


def test_a_found_condition_is_apart_from_none() -> None:
    merge = Found(4, "merge")
    assert not apart(of(merge), of(Found(4, "exit")))
    assert apart(NEVER, ALWAYS)
    assert not holds_never(of(merge, P))


def test_only_the_innermost_conditions_are_needed() -> None:
    """Q is a predicate made where P holds, the merge's inputs are alive where Q does."""
    merge = Found(9, "merge")
    within = {Q: of(P, Q), no(Q): of(P, no(Q)), merge: of(P, Q, merge)}
    assert needed(of(P, Q), within) == [Q]
    assert needed(of(P, no(Q)), within) == [no(Q)]
    assert needed(of(P, Q, merge), within) == [merge]
    assert needed(of(P, R), within) == [P, R]
    assert needed(of(R, P), within) == [P, R]
    assert needed(ALWAYS, within) == []
