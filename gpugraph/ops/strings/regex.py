"""Ops on regular expressions: RegexReplace and RegexFullMatch, and the ops StaticRegexReplace and
StaticRegexFullMatch, whose pattern is an attr.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import Call, KernelContext, OpMemory, Signature
from gpugraph.ops.framework.op_declaration import Attr, raw_ops
from gpugraph.ops.strings.native_regex import Rewrite, full_matches, replacements
from gpugraph.ops.strings.regex_engine import Pattern, Spans, compiled_pattern
from gpugraph.ops.strings.string_ops import host_op, string_op
from gpugraph.plan import check_run

# -- replacing

_REFERENCE = re.compile(rb"\\(.?)", re.DOTALL)
_OF_A_GROUP = re.compile(rb"\\[1-9]")
_AS_STR = ("utf-8", "surrogateescape")  # the error handler keeps bytes that are not valid UTF-8
_CHARACTER = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|(?:\xe0[\xa0-\xbf]|[\xe1-\xef][\x80-\xbf])[\x80-\xbf]"
    rb"|(?:\xf0[\x90-\xbf]|[\xf1-\xf3][\x80-\xbf]|\xf4[\x80-\x8f])[\x80-\xbf]{2}|.",
    re.DOTALL,
)


def _parts_of(rewrite: bytes, groups: int, everywhere: bool) -> list[bytes | int] | None:
    """Split a rewrite into literal text and numbers of groups. If nothing is to be replaced, return
    None.

    As in RE2, nothing is replaced if the rewrite names a group that does not exist. A backslash
    that is not followed by a digit or a backslash ends the rewrite. Then nothing is replaced,
    unless `everywhere` is true.
    """
    parts: list[bytes | int] = []
    start = 0
    for match in _REFERENCE.finditer(rewrite):
        name = match[1]
        parts.append(rewrite[start : match.start()])
        start = match.end()
        if name.isdigit():
            if int(name) > groups:
                return None
            parts.append(int(name))
        elif name == b"\\":
            parts.append(name)
        else:
            return parts if everywhere else None
    return [*parts, rewrite[start:]]


def _replacer(pattern: bytes, rewrite: bytes, everywhere: bool) -> Callable[[bytes], bytes]:
    compiled = compiled_pattern(pattern, captures=_OF_A_GROUP.search(rewrite) is not None)
    parts = _parts_of(rewrite, compiled.groups, everywhere)
    if parts is None:
        return lambda text: text

    constants = [part for part in parts if part != b""]
    letters = [part if isinstance(part, int) else part.decode(*_AS_STR) for part in constants]

    def replace(data: bytes) -> bytes:
        check_run("in a regular expression")
        text = compiled.prepared(data)
        if isinstance(text, str):
            return "".join(_pieces(compiled, text, letters, everywhere)).encode(*_AS_STR)
        return b"".join(_pieces(compiled, text, constants, everywhere))

    return replace


def _pieces(compiled: Pattern, text: Any, parts: Sequence[Any], everywhere: bool) -> list[Any]:
    """Return the pieces of the new text: the texts between matches, and the rewrite for each match.

    Args:
      parts: the rewrite's literal text and numbers of groups.
    """
    pieces, start = [], 0
    for spans in _matches(compiled, text):
        first, end = spans[0]
        pieces.append(text[start:first])
        for part in parts:
            pieces.append(text[slice(*spans[part])] if isinstance(part, int) else part)
        start = end
        if not everywhere:
            break
    return [*pieces, text[start:]]


def _matches(compiled: Pattern, text: Any) -> Iterator[Spans]:
    """Yield the spans of the matches. Matches do not overlap. An empty match directly after another
    match is skipped.
    """
    start, last = 0, -1
    while start <= len(text):
        spans = compiled.search(text, start)
        if spans is None:
            return
        if spans[0] == (last, last):
            start += 1 if isinstance(text, str) or start == len(text) else _width(text, start)
        else:
            yield spans
            start = last = spans[0][1]


def _width(text: bytes, start: int) -> int:
    """Return the number of bytes of the UTF-8 character at `start`, or 1 if it is not valid."""
    match = _CHARACTER.match(text, start)
    assert match is not None
    return match.end() - start


def _scalars(context: Signature, count: int) -> list[bytes]:
    """Return the values of the scalar host inputs of an op, which are inputs 1 to `count`."""
    texts: list[bytes] = []
    for slot, what in zip(range(1, count + 1), ("Pattern", "Rewrite")):
        array = np.asarray(context.value(slot), object)
        if array.ndim:
            words = f"{what} must be scalar, but received {shape_text(array.shape)}"
            raise invalid_argument(words)
        texts.append(bytes(array[()]))
    return texts


def _by_scalars(count: int, function_of: Callable[..., Callable[[bytes], Any]]) -> Call:
    """Return the kernel that applies a function to each string.

    Args:
      count: the number of the op's scalar inputs.
      function_of: a function that receives the attrs and the values of the scalar inputs, and
        returns the function to apply.
    """

    def make(context: KernelContext, source: Any, out: Any) -> Callable[[], Any]:
        def run() -> None:
            function = function_of(context.attrs, *_scalars(context, count))
            out[...] = np.frompyfunc(function, 1, 1)(source)

        return run

    return Call(make=make)


def _parts(signature: Signature, pattern: bytes, rewrite: bytes) -> Rewrite:
    """Return the pattern of a node, the parsed replacement text, and whether to replace all
    matches.
    """
    everywhere = bool(signature.attrs["replace_global"])
    groups = compiled_pattern(pattern, _OF_A_GROUP.search(rewrite) is not None).groups
    return pattern, _parts_of(rewrite, groups, everywhere), everywhere


_GLOBAL = Attr("bool", True)
_regex_replace = host_op(
    "RegexReplace",
    _by_scalars(2, lambda attrs, old, new: _replacer(old, new, attrs["replace_global"])),
    "Each string with its matches of `pattern`, or the first one, replaced by `rewrite`.",
    inputs="input: string, pattern: string, rewrite: string",
    native=replacements(lambda signature: _parts(signature, *_scalars(signature, 2))),
    memory=OpMemory(host_inputs=[1, 2]),
    replace_global=_GLOBAL,
)


def _attr_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")


def _static_replace(context: KernelContext) -> Callable[[bytes], bytes]:
    attrs = context.attrs
    pattern, rewrite = _attr_bytes(attrs["pattern"]), _attr_bytes(attrs["rewrite"])
    return _replacer(pattern, rewrite, attrs["replace_global"])


def _static_parts(signature: Signature) -> Rewrite:
    return _parts(signature, *(_attr_bytes(signature.attrs[key]) for key in ("pattern", "rewrite")))


_NEEDED = Attr("string", required=True)
string_op(
    "StaticRegexReplace",
    _static_replace,
    "RegexReplace with pattern and rewrite as attrs.",
    native=replacements(_static_parts),
    pattern=_NEEDED,
    rewrite=_NEEDED,
    replace_global=_GLOBAL,
)


def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    r"""Replace the matches of `pattern` in each string with `rewrite`.

    A run raises InvalidArgumentError if the pattern is invalid.

    Args:
      pattern: a regular expression, as text or a scalar string tensor.
      rewrite: the replacement. \1 in it is the text of the first group, and \0 is the whole match.
      replace_global: whether to replace all matches. Otherwise only the first match is replaced.
    """
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return raw_ops.StaticRegexReplace(
            input, pattern=pattern, rewrite=rewrite, replace_global=replace_global, name=name
        )
    return _regex_replace(input, pattern, rewrite, replace_global=replace_global, name=name)


# -- matching


def _matcher(pattern: bytes) -> Callable[[bytes], bool]:
    compiled = compiled_pattern(pattern, captures=False)

    def matches(text: bytes) -> bool:
        check_run("in a regular expression")
        return compiled.is_full_match(text)

    return matches


host_op(
    "RegexFullMatch",
    _by_scalars(1, lambda _, pattern: _matcher(pattern)),
    "Whether each string is, from its start to its end, a match of `pattern`.",
    inputs="input: string, pattern: string",
    outputs="output: bool",
    native=full_matches(lambda signature: _scalars(signature, 1)[0]),
    memory=OpMemory(host_inputs=[1]),
)
string_op(
    "StaticRegexFullMatch",
    lambda context: _matcher(_attr_bytes(context.attrs["pattern"])),
    "RegexFullMatch with the pattern as an attr.",
    output="output: bool",
    native=full_matches(lambda signature: _attr_bytes(signature.attrs["pattern"])),
    pattern=_NEEDED,
)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Return a bool tensor that tells whether each string as a whole matches `pattern`.

    A run raises InvalidArgumentError if the pattern is invalid.
    """
    if isinstance(pattern, (str, bytes)):
        return raw_ops.StaticRegexFullMatch(input, pattern=pattern, name=name)
    return raw_ops.RegexFullMatch(input, pattern, name=name)
