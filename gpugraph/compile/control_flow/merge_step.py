"""Merge steps: the input that is alive goes to the output, and its index beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.errors import InternalError

Move = Callable[[], Any]


def merger(
    flags: list[bool], inputs: Sequence[tuple[int | None, Move]], found: int | None, index: Any
) -> Move:
    """What runs a Merge. `inputs` are flags (None: always alive) and what moves them.

    found: the flag that says whether any was alive, if one must. index: the array of the input's
    index, if somebody takes it.
    """

    def merge() -> None:
        chosen = -1
        for at, (flag, _) in enumerate(inputs):
            if flag is None or flags[flag]:
                if chosen >= 0:
                    raise _two(chosen, at)
                chosen = at
        if chosen >= 0:
            inputs[chosen][1]()
            if index is not None:
                index[()] = chosen
        if found is not None:
            flags[found] = chosen >= 0

    if len(inputs) == 2 and found is None and index is None:
        (one, first), (other, second) = inputs
        if one is not None and other is not None:
            return _of_two(flags, one, first, other, second)
    return merge


def _of_two(flags: list[bool], one: int, first: Move, other: int, second: Move) -> Move:
    """The usual Merge, of a branch's two sides; the index is nobody's."""

    def merge() -> None:
        if flags[one]:
            if flags[other]:
                raise _two(0, 1)
            first()
        elif flags[other]:
            second()

    return merge


def _two(one: int, other: int) -> InternalError:
    return InternalError(
        None,
        None,
        f"Merge can not have more than one valid input: inputs {one} and {other} are both alive",
    )
