r"""An automaton that matches regular expressions in linear time. Its states are computed on demand.

The pattern is a program (`regex_fragments`). A thread is a position in the program that can be
reached at the current byte of the text. As in RE2, a state is a list of threads in order of
preference (Pike's method). So the first thread that reaches the end gives the match that
backtracking would find. For each thread, a state also records its parent thread in the previous
state, and the slots (positions of groups) that were saved in between. The spans of a match's groups
are computed by following these records backwards from the match's end. A transition consumes one
byte and depends on the next byte, so that assertions such as \b can test the bytes before and after
a position.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any

from gpugraph.ops.strings.regex_fragments import Assertion, Fragment, Instruction, Op
from gpugraph.plan import check_run

MAX_ENTRIES = 100_000  # threads of cached states, and transitions: about 30 MB
_BLOCK = 1 << 16  # bytes of text between two checks of the run's time limit
END = -1  # the class of the positions before the first and after the last byte
_WORD = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")
_ANY = frozenset(range(256))
_EDGE, _NEWLINE, _LETTER = 1, 2, 4  # bits: the properties of a byte that assertions depend on

Origin = tuple[int, tuple[int, ...]]
"""The origin of a thread: its parent's index in the previous state, and the slots saved since then.
"""


@cache
def _assertions(before: int, after: int) -> frozenset[Assertion]:
    """Return the assertions that are true between two bytes with these properties."""
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
    """A state. It is a dict from the class of the next byte to the next state, which is computed on
    first use.

    `threads` is a list of positions in the program. `before` has the properties of the preceding
    byte. `match` is the origin of a thread that has matched, if any. `ends` tells whether the
    search must stop to examine this state, because a thread has matched or no thread is left.
    """

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
    """A compiled pattern, and a cache of its states.

    `program` has the instructions. `classes` has the class of each byte, and `representatives` has
    one byte of each class. `entries` is the size of the cache: the number of threads in its states
    plus the number of its transitions.

    Args:
      search: whether a match may be anywhere in the text. Otherwise it must span the whole text.
    """

    def __init__(self, pattern: Fragment, groups: int, search: bool) -> None:
        matched: list[Instruction] = [(Op.SAVE, 0), *pattern.code, (Op.SAVE, 1)]
        if search:  # first, as few bytes as possible before the match
            skip: list[Instruction] = [(Op.SPLIT, (3, 1)), (Op.BYTES, _ANY), (Op.SPLIT, (-2,))]
            self.program = [*skip, *matched, (Op.MATCH, None)]
        else:
            self.program = [*matched, (Op.ASSERT, Assertion.TEXT_END), (Op.MATCH, None)]
        self._slots = 2 * groups + 2
        used = {argument for op, argument in self.program if op is Op.ASSERT}
        self.kinds: dict[int, frozenset[int]] = {}
        if used & {Assertion.LINE_START, Assertion.LINE_END}:
            self.kinds[_NEWLINE] = frozenset(b"\n")
        if used & {Assertion.WORD_EDGE, Assertion.NO_WORD_EDGE}:
            self.kinds[_LETTER] = _WORD
        self.classes, self.representatives = self._byte_classes()
        self._states: dict[tuple[Any, ...], _State] = {}
        self.entries = 0

    def _byte_classes(self) -> tuple[bytes, list[int]]:
        """Divide the bytes into classes. Each instruction of the program treats all bytes of a
        class in the same way.

        Return the class of each byte, and one byte of each class.
        """
        sets = {argument for op, argument in self.program if op is Op.BYTES}
        members = [0] * 256
        for number, values in enumerate([*sets, *self.kinds.values()]):
            for byte in values:
                members[byte] |= 1 << number
        firsts = {member: byte for byte, member in reversed(list(enumerate(members)))}
        numbers = {member: number for number, member in enumerate(firsts)}
        return bytes(numbers[member] for member in members), list(firsts.values())

    # -- matching

    def search(self, text: bytes, start: int) -> Sequence[tuple[int, int]] | None:
        """Return the spans of the first match at or after `start` and of its groups, or None if
        there is no match.

        The span of a group that did not take part in the match is (-1, -1).
        """
        state = self._state(((0,), self.kind_of(text[start - 1] if start else END), (), None))
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
        """Yield the classes of the text's bytes in blocks of growing size, followed by the class of
        the text's end.
        """
        size = 64
        while start < len(text):
            check_run("in a regular expression")
            yield text[start : start + size].translate(self.classes)
            start += size
            size = min(2 * size, _BLOCK)
        yield (END,)

    def _way_back(self, passed: Sequence[_State], start: int, end: int) -> list[int]:
        """Return the slots of a match, given the states that the search has visited.

        Args:
          end: the index in `passed` of the state with the match.
        """
        slots = [-1] * self._slots
        match = passed[end].match
        assert match is not None
        thread, saved = match
        for number in range(end, -1, -1):
            if number < end:
                thread, saved = passed[number].origins[thread]
            for slot in saved:
                if slots[slot] < 0:  # backwards, so that the last saved value is seen first
                    slots[slot] = start + number
            if slots[0] >= 0:
                break
        return slots

    # -- states

    def kind_of(self, byte: int) -> int:
        """Return the properties of a byte on which this pattern's assertions depend, as the bits of
        an integer.
        """
        return _EDGE * (byte == END) + sum(k for k, values in self.kinds.items() if byte in values)

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
        """Return the state that follows `state` if the next byte is in this class."""
        check_run("in a regular expression")
        byte = self.representatives[byte_class] if byte_class != END else END
        threads: list[int] = []
        origins: list[Origin] = []
        match = self._step(state, byte, threads, origins)
        self.entries += 1
        return self._state((tuple(threads), self.kind_of(byte), tuple(origins), match))

    def _step(
        self, state: _State, byte: int, threads: list[int], origins: list[Origin]
    ) -> Origin | None:
        """Append to `threads` each thread that continues after `byte`, in order of preference.

        Stop at the first thread that has matched, and return its origin. If no thread has matched,
        return None.

        Args:
          origins: a list, to which the origins of the appended threads are appended.
        """
        holds = _assertions(state.before, self.kind_of(byte))
        seen: set[int] = set()
        for number, first in enumerate(state.threads):
            stack: list[tuple[int, tuple[int, ...]]] = [(first, ())]
            while stack:
                place, saved = stack.pop()
                if place in seen:
                    continue
                seen.add(place)
                op, argument = self.program[place]
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
