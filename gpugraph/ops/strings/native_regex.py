"""Native kernels that match regular expressions by running a pattern's automaton (host_regex.h).

Patterns whose matches could depend on the version of Unicode, and patterns with a long program, are
matched by `regex_engine` instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from zlib import crc32

import numpy as np

from gpugraph.base.errors import InvalidArgumentError
from gpugraph.kernel import RowSource, Signature
from gpugraph.ops.strings.linear_regex import END, Automaton
from gpugraph.ops.strings.native_texts import texts, words_of
from gpugraph.ops.strings.regex_engine import compiled_pattern, is_of_mixed_repetitions
from gpugraph.ops.strings.regex_fragments import Assertion, Instruction, Op
from gpugraph.ops.strings.regex_syntax import SyntaxRefusal, parsed

_FILE = "host_regex.h"
_MAX_INSTRUCTIONS = 2000
_MAX_GROUPS = 10
"""The number of groups that a rewrite can name, with the whole match."""

_BY_VERSION = re.compile(rb"\\[pP]|(?s:[^\x00-\x7f].*\(\?|\(\?.*[^\x00-\x7f])")
"""Patterns with Unicode's classes, or with letters beyond ASCII that may have two cases."""

Part = bytes | int
"""A part of a rewrite: literal text, or the number of a group."""

Rewrite = tuple[bytes, Sequence[Part] | None, bool]
"""A pattern, the parts of a rewrite (None if nothing is replaced), and whether all matches are
replaced.
"""


def full_matches(pattern_of: Callable[[Signature], bytes]) -> RowSource:
    """Return the native kernel that tests whether a pattern matches each string as a whole.

    Args:
      pattern_of: a function that returns the pattern of a node.
    """

    def numbers(signature: Signature) -> list[int]:
        try:
            return _program(pattern_of(signature), 0, False)
        except InvalidArgumentError:
            raise NotImplementedError("the pattern is not valid") from None

    return texts("gg_text_full_match", numbers, _FILE)


def replacements(rewrite_of: Callable[[Signature], Rewrite]) -> RowSource:
    """Return the native kernel that replaces the matches of a pattern.

    Args:
      rewrite_of: a function that returns the `Rewrite` of a node.
    """

    def numbers(signature: Signature) -> list[int]:
        try:
            pattern, parts, everywhere = rewrite_of(signature)
        except InvalidArgumentError:
            raise NotImplementedError("the pattern is not valid") from None
        if parts is None:
            raise NotImplementedError("the rewrite names a group that does not exist")
        groups = 1 | sum(1 << part for part in {*parts} if isinstance(part, int) and part)
        words = [word for part in parts for word in _part_words(part)]
        return [*_program(pattern, groups, True), int(everywhere), len(parts), *words]

    return texts("gg_text_replace", numbers, _FILE)


def _part_words(part: Part) -> list[int]:
    if isinstance(part, int):
        return [part]
    return [-1 - len(part), *words_of(part)]


@lru_cache(maxsize=256)
def _program(pattern: bytes, groups: int, search: bool) -> list[int]:
    """Return the program of a pattern as the integers that host_regex.h describes. Raises
    NotImplementedError if `regex_engine` must match the pattern, or report its error.

    Args:
      groups: the groups whose positions are needed, as the bits of an integer.
      search: whether a match may be anywhere in the text.
    """
    if _BY_VERSION.search(pattern):
        raise NotImplementedError("the pattern has letters or classes beyond ASCII")
    if is_of_mixed_repetitions(pattern):
        raise NotImplementedError("the pattern has lazy repetitions of repetitions")
    try:
        compiled_pattern(pattern, captures=groups > 1)
        fragment, count = parsed(pattern.decode())
    except (InvalidArgumentError, SyntaxRefusal):
        raise NotImplementedError("the pattern is not valid") from None
    if len(fragment.code) > _MAX_INSTRUCTIONS:
        raise NotImplementedError(f"a pattern has more than {_MAX_INSTRUCTIONS} instructions")
    numbers = _numbers(Automaton(fragment, count, search), groups)
    content = np.array(numbers, np.int64).tobytes()
    return [crc32(content), len(numbers), *numbers]


def _numbers(automaton: Automaton, groups: int) -> list[int]:
    program, representatives = automaton.program, automaton.representatives
    sets = {argument: 0 for op, argument in program if op is Op.BYTES}
    sets = {values: number for number, values in enumerate(sets)}
    targets: list[int] = []
    code: list[int] = []
    for place, (op, argument) in enumerate(program):
        code += [list(Op).index(op), *_arguments((op, argument), sets, groups, len(targets))]
        if op is Op.SPLIT:
            targets += [place + distance for distance in argument]
    jumps = sum(op in (Op.SAVE, Op.ASSERT) for op, _ in program)
    edge = automaton.kind_of(END) if any(op is Op.ASSERT for op, _ in program) else 0
    kinds = [automaton.kind_of(byte) for byte in representatives]
    members = [
        word
        for values in sets
        for word in words_of(
            np.packbits(
                np.pad([byte in values for byte in representatives], (0, 256))[:256],
                bitorder="little",
            ).tobytes()
        )
    ]
    head = [len(program), len(representatives), len(sets), len(targets) + jumps + 1, edge]
    return [*head, *words_of(automaton.classes), *kinds, *members, *code, *targets]


def _arguments(
    instruction: Instruction, sets: dict[frozenset[int], int], groups: int, num_targets: int
) -> list[int]:
    """Return the two integers that follow the code of an instruction in the format of
    host_regex.h.
    """
    op, argument = instruction
    if op is Op.BYTES:
        return [sets[argument], 0]
    if op is Op.SPLIT:
        return [num_targets, len(argument)]
    if op is Op.SAVE:
        is_needed = argument < 2 * _MAX_GROUPS and groups >> argument // 2 & 1
        return [1 << argument if is_needed else 0, 0]
    return [list(Assertion).index(argument) if op is Op.ASSERT else 0, 0]
