"""Merge steps. Such a step copies the only live input to the output, and writes the index of that
input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpugraph.base.errors import InternalError
from gpugraph.plan import Run


@dataclass(frozen=True, slots=True, eq=False)
class Merging:
    """The callable of a Merge step. A call of the object calls `run`. The fields after `run`
    contain the data that `run` uses.
    """

    run: Run
    inputs: Sequence[tuple[int | None, Run]]
    alive: int | None
    index: Sequence[Run] | None

    def __call__(self) -> None:
        self.run()

    def refuse_two(self, flags: bytearray) -> None:
        """Raise the error for a Merge with two live inputs."""
        alive = [i for i, (flag, _) in enumerate(self.inputs) if flag is None or flags[flag]]
        raise _two_alive(*alive[:2])


def merger(
    flags: bytearray,
    inputs: Sequence[tuple[int | None, Run]],
    alive: int | None,
    index: Sequence[Run] | None,
) -> Merging:
    """Return the callable of a Merge.

    Args:
      inputs: for each input, its flag (None if the input is always alive) and a callable that
        copies it to the output.
      alive: the flag to set if any input is alive, or None.
      index: for each input, a callable that writes its index; or None if no op reads the index.
    """

    def merge() -> None:
        chosen = -1
        for slot, (flag, _) in enumerate(inputs):
            if flag is None or flags[flag]:
                if chosen >= 0:
                    raise _two_alive(chosen, slot)
                chosen = slot
        if chosen >= 0:
            inputs[chosen][1]()
            if index is not None:
                index[chosen]()
        if alive is not None:
            flags[alive] = chosen >= 0

    if len(inputs) == 2 and alive is None and index is None:
        (first_flag, first), (second_flag, second) = inputs
        if first_flag is not None and second_flag is not None:
            run = _merger_of_two(flags, first_flag, first, second_flag, second)
            return Merging(run, inputs, alive, index)
    return Merging(merge, inputs, alive, index)


def _merger_of_two(
    flags: bytearray, first_flag: int, first: Run, second_flag: int, second: Run
) -> Run:
    """Return a fast callable for the most common kind of Merge. This Merge has two conditional
    inputs, and no op reads its index.
    """

    def merge() -> None:
        if flags[first_flag]:
            if flags[second_flag]:
                raise _two_alive(0, 1)
            first()
        elif flags[second_flag]:
            second()

    return merge


def _two_alive(first: int, second: int) -> InternalError:
    return InternalError.of_no_node(
        f"Merge can not have more than one valid input: inputs {first} and {second} are both alive"
    )
