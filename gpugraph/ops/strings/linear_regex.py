"""Regular expressions in linear time: an automaton whose states are computed on demand.

A state holds the instructions of its threads in order of preference, as in RE2's and Pike's
machines, so that the first thread to end gives the match that backtracking would find. For each
thread, a state also records its parent thread in the previous state and the slots saved in
between; followed back from the end of a match, they give the spans of its groups. A state depends
on the byte that follows, so that assertions see both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any

from gpugraph.ops.strings.regex_fragments import Assertion, Fragment, Instruction, Op
from gpugraph.plan import check_run

MAX_ENTRIES = 100_000  # threads and transitions that are kept, about 30 MB
_BLOCK = 1 << 16  # bytes between two checks of the time limit
_END = -1  # the class of the position before the first byte and after the last one
_WORD = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")
_ANY = frozenset(range(256))
_EDGE, _NEWLINE, _LETTER = 1, 2, 4  # the properties of a byte that assertions see

Origin = tuple[int, tuple[int, ...]]
"""Of a thread: its parent's number in the previous state, and the slots saved since."""


@cache
def _assertions(before: int, after: int) -> frozenset[Assertion]:
    """Return the assertions that hold between two bytes of these kinds."""
    is_edge = bool((before ^ after) & _LETTER)
    holds = {
        Assertion.TEXT_START: before & _EDGE,
        Assertion.TEXT_END: after & _EDGE,
        Assertion.LINE_START: before & (_EDGE | _NEWLINE),
        Assertion.LINE_END: after & (_EDGE | _NEWLINE),
        Assertion.WORD_EDGE: is_edge,
        Assertion.NO_WORD_EDGE: not is_edge,
    }
    return frozenset(kind for kind, value in holds.items() if value)


class _State(dict[int, "_State"]):
    """A state, which maps the class of the next byte to the next state; computed on first use."""

    __slots__ = ("automaton", "before", "ends", "match", "origins", "threads")

    def __init__(self, automaton: Automaton, key: tuple[Any, ...]) -> None:
        super().__init__()
        self.automaton = automaton
        self.threads, self.before, self.origins, self.match = key
        self.ends = self.match is not None or not self.threads

    def __missing__(self, byte_class: int) -> _State:
        state = self[byte_class] = self.automaton.follow(self, byte_class)
        return state


class Automaton:
    """A compiled pattern. search: find a match anywhere, else one that spans the whole text.

    entries: the number of threads of the states that are kept, and of the transitions between them.
    """

    def __init__(self, pattern: Fragment, groups: int, search: bool) -> None:
        matched: list[Instruction] = [(Op.SAVE, 0), *pattern.code, (Op.SAVE, 1)]
        if search:  # any bytes before the match, as few as possible
            skip: list[Instruction] = [(Op.SPLIT, (3, 1)), (Op.BYTES, _ANY), (Op.SPLIT, (-2,))]
            self._program = [*skip, *matched, (Op.MATCH, None)]
        else:
            self._program = [*matched, (Op.ASSERT, Assertion.TEXT_END), (Op.MATCH, None)]
        self._slots = 2 * groups + 2
        used = {argument for op, argument in self._program if op is Op.ASSERT}
        self._kinds: dict[int, frozenset[int]] = {}
        if used & {Assertion.LINE_START, Assertion.LINE_END}:
            self._kinds[_NEWLINE] = frozenset(b"\n")
        if used & {Assertion.WORD_EDGE, Assertion.NO_WORD_EDGE}:
            self._kinds[_LETTER] = _WORD
        self._classes, self._bytes = self._byte_classes()
        self._states: dict[tuple[Any, ...], _State] = {}
        self.entries = 0

    def _byte_classes(self) -> tuple[bytes, list[int]]:
        """Partition the bytes into classes that no instruction distinguishes.

        Returns the class of each byte, and one byte of each class.
        """
        sets = {argument for op, argument in self._program if op is Op.BYTES}
        members = [0] * 256
        for number, values in enumerate([*sets, *self._kinds.values()]):
            for byte in values:
                members[byte] |= 1 << number
        firsts = {member: byte for byte, member in reversed(list(enumerate(members)))}
        numbers = {member: number for number, member in enumerate(firsts)}
        return bytes(numbers[member] for member in members), list(firsts.values())

    # -- matching

    def search(self, text: bytes, start: int) -> Sequence[tuple[int, int]] | None:
        """Return the spans of the first match from `start` on and of its groups, or None.

        The span of a group that took no part is (-1, -1).
        """
        state = self._state(((0,), self._kind(text[start - 1] if start else _END), (), None))
        passed: list[_State] = []
        end = -1
        for byte_class in chain.from_iterable(self._blocks(text, start)):
            state = state[byte_class]
            passed.append(state)
            if state.ends:
                if state.match is not None:
                    end = len(passed) - 1
                if not state.threads:
                    break
        if end < 0:
            return None
        spans = self._way_back(passed, start, end)
        return list(zip(spans[::2], spans[1::2]))

    def _blocks(self, text: bytes, start: int) -> Iterator[Iterable[int]]:
        """Yield the classes of the text's bytes, in small blocks at first, and then of its end."""
        size = 64
        while start < len(text):
            check_run("in a regular expression")
            yield text[start : start + size].translate(self._classes)
            start += size
            size = min(2 * size, _BLOCK)
        yield (_END,)

    def _way_back(self, passed: Sequence[_State], start: int, end: int) -> list[int]:
        """Return the slots of the match that ends before the byte number `end` after the start."""
        slots = [-1] * self._slots
        match = passed[end].match
        assert match is not None
        thread, saved = match
        for number in range(end, -1, -1):
            if number < end:
                thread, saved = passed[number].origins[thread]
            for slot in saved:
                if slots[slot] < 0:  # the last value saved wins
                    slots[slot] = start + number
            if slots[0] >= 0:
                break
        return slots

    # -- states

    def _kind(self, byte: int) -> int:
        """Return the properties of a byte that this pattern's assertions see, as a sum."""
        return _EDGE * (byte == _END) + sum(
            k for k, values in self._kinds.items() if byte in values
        )

    def _state(self, key: tuple[Any, ...]) -> _State:
        if self.entries > MAX_ENTRIES:
            self._forget()
        if (state := self._states.get(key)) is None:
            state = self._states[key] = _State(self, key)
            self.entries += 1 + len(state.threads)
        return state

    def _forget(self) -> None:
        states = list(self._states.values())
        self._states = {}
        self.entries = 0
        for state in states:
            state.clear()

    def follow(self, state: _State, byte_class: int) -> _State:
        """Return the state after a state and a byte of this class."""
        check_run("in a regular expression")
        byte = self._bytes[byte_class] if byte_class != _END else _END
        threads: list[int] = []
        origins: list[Origin] = []
        match = self._step(state, byte, threads, origins)
        self.entries += 1
        return self._state((tuple(threads), self._kind(byte), tuple(origins), match))

    def _step(
        self, state: _State, byte: int, threads: list[int], origins: list[Origin]
    ) -> Origin | None:
        """Append to `threads` each thread that consumes `byte`, in order of preference.

        Stops at the first thread that has matched, and returns its origin.
        """
        holds = _assertions(state.before, self._kind(byte))
        seen: set[int] = set()
        for number, first in enumerate(state.threads):
            stack: list[tuple[int, tuple[int, ...]]] = [(first, ())]
            while stack:
                place, saved = stack.pop()
                if place in seen:
                    continue
                seen.add(place)
                op, argument = self._program[place]
                if op is Op.BYTES:
                    if byte in argument:
                        threads.append(place + 1)
                        origins.append((number, saved))
                elif op is Op.SPLIT:
                    stack.extend((place + distance, saved) for distance in reversed(argument))
                elif op is Op.SAVE:
                    stack.append((place + 1, (*saved, argument)))
                elif op is Op.MATCH:
                    return number, saved
                elif argument in holds:
                    stack.append((place + 1, saved))
        return None
