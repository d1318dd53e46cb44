"""Regular expressions over strings: RegexReplace and RegexFullMatch, and their static forms.

TensorFlow's are RE2's; Python's `re` runs these, which knows nearly all of that syntax. Syntax that
differs is translated ([[:alpha:]], \\z, \\pL...); what RE2 refuses (lookaround, backreferences) is
refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gpugraph.base.errors import InvalidArgumentError, invalid_argument
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.op_declaration import Attr, raw_ops
from gpugraph.ops.strings.string_ops import host_op, string_op

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_NAMED = re.compile(r"\[:(\w+):\]")
_NEGATED = re.compile(r"\[\[:\^(\w+):\]\]")
_QUOTED = re.compile(r"\\Q(.*?)(?:\\E|$)", re.DOTALL)
_SET = re.compile(r"(\[\^?\]?(?:\\.|[^\]\\])*\])", re.DOTALL)
_LETTER = r"(?:[^\W\d_])"
_PARTS = re.compile(r"\\p\{?L\}?|\\[zZ1-9]|\\.|\(\?[=!]|\(\?<[=!]|\(\?P=|\$", re.DOTALL)


def _refusal(pattern: str, why: str) -> InvalidArgumentError:
    return invalid_argument(f"Invalid pattern: {pattern}, error: {why}")


def _translate(pattern: str) -> str:
    """The pattern in Python's syntax."""

    def named(match: re.Match[str]) -> str:
        if match[1] not in _CLASSES:
            raise _refusal(pattern, f"invalid character class range: {match[0]}")
        return _CLASSES[match[1]]

    def part(match: re.Match[str]) -> str:
        text = match[0]
        if text.startswith("\\p"):
            return _LETTER
        if text == "\\z":
            return "\\Z"
        if text == "$":
            return "$" if multiline else "\\Z"  # not before a newline at the end
        if text.startswith("(?"):
            raise _refusal(pattern, f"invalid perl operator: {text}")
        if text[1:] in "Z123456789":
            raise _refusal(pattern, f"invalid escape sequence: {text}")
        return text

    multiline = re.match(r"\(\?\w*m", pattern) is not None
    text = _QUOTED.sub(lambda match: re.escape(match[1]), pattern)
    text = _NEGATED.sub(lambda match: f"[^{named(match)}]", text)
    pieces = _SET.split(_NAMED.sub(named, text))
    return "".join(
        re.sub(r"(?<!^)(?<!\\)\[", r"\\[", piece) if index % 2 else _PARTS.sub(part, piece)
        for index, piece in enumerate(pieces)
    )


@lru_cache(maxsize=256)
def _compile(pattern: bytes) -> re.Pattern[str]:
    text = _text(pattern)
    try:
        flags = 0 if "\\p" in text else re.ASCII
        return re.compile(_translate(text), flags)
    except re.error as error:
        raise _refusal(text, str(error)) from error


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


# -- replacing

_REFERENCE = re.compile(r"\\(.?)", re.DOTALL)


def _rewriter(
    compiled: re.Pattern[str], rewrite: str, everywhere: bool
) -> Callable[[re.Match[str]], str] | None:
    """The function that gives the new text of a match; None where none is replaced.

    As in RE2, with a group that does not exist nothing is replaced. From a backslash on that means
    nothing, the rewrite is left out; where only the first match is replaced, nothing is.
    """
    for match in _REFERENCE.finditer(rewrite):
        name = match[1]
        if name.isdecimal():
            if int(name) > compiled.groups:
                return None
        elif name != "\\":
            if not everywhere:
                return None
            rewrite = rewrite[: match.start()]
            break

    def group(match: re.Match[str], reference: re.Match[str]) -> str:
        name = reference[1]
        return "\\" if name == "\\" else match[int(name)] or ""

    return lambda match: _REFERENCE.sub(lambda reference: group(match, reference), rewrite)


def _replacer(pattern: bytes, rewrite: bytes, everywhere: bool) -> Callable[[bytes], bytes]:
    compiled = _compile(pattern)
    rewritten = _rewriter(compiled, _text(rewrite), everywhere)
    if rewritten is None:
        return lambda text: text

    def replace(text: bytes) -> bytes:
        return _bytes(compiled.sub(rewritten, _text(text), count=0 if everywhere else 1))

    return replace


def _scalar(array: Any, what: str) -> bytes:
    if array.ndim:
        raise invalid_argument(f"{what} must be scalar, but received {list(array.shape)}")
    return array[()]


def _by_scalars(function_of: Callable[..., Callable[[bytes], Any]]) -> Call:
    """The kernel of the function of one string that the attrs and the scalar inputs give."""

    def make(context: KernelContext, source: Any, *arrays: Any) -> Callable[[], Any]:
        *scalars, out = arrays

        def run() -> None:
            texts = [_scalar(*pair) for pair in zip(scalars, ("Pattern", "Rewrite"))]
            out[...] = np.frompyfunc(function_of(context.attrs, *texts), 1, 1)(source)

        return run

    return Call(make=make)


_GLOBAL = Attr("bool", True)
_regex_replace = host_op(
    "RegexReplace",
    _by_scalars(lambda attrs, old, new: _replacer(old, new, attrs["replace_global"])),
    "Each string with its matches of `pattern`, or the first one, replaced by `rewrite`.",
    inputs="input: string, pattern: string, rewrite: string",
    replace_global=_GLOBAL,
)


def _attr_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8")


def _static_replace(context: KernelContext) -> Callable[[bytes], bytes]:
    attrs = context.attrs
    pattern, rewrite = _attr_bytes(attrs["pattern"]), _attr_bytes(attrs["rewrite"])
    return _replacer(pattern, rewrite, attrs["replace_global"])


_NEEDED = Attr("string", required=True)
string_op(
    "StaticRegexReplace",
    _static_replace,
    "RegexReplace with pattern and rewrite as attrs.",
    pattern=_NEEDED,
    rewrite=_NEEDED,
    replace_global=_GLOBAL,
)


def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    r"""Each string with its matches of `pattern` replaced by `rewrite`; the first one only if not
    `replace_global`.

    pattern: a regular expression, text or a scalar string tensor.
    rewrite: the replacement, in which \1 is the text of the first group, \0 the whole match.

    InvalidArgumentError, in a run, for a pattern that is not valid.
    """
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return raw_ops.StaticRegexReplace(
            input, pattern=pattern, rewrite=rewrite, replace_global=replace_global, name=name
        )
    return _regex_replace(input, pattern, rewrite, replace_global=replace_global, name=name)


# -- matching


def _matcher(pattern: bytes) -> Callable[[bytes], bool]:
    compiled = _compile(pattern)
    return lambda text: compiled.fullmatch(_text(text)) is not None


host_op(
    "RegexFullMatch",
    _by_scalars(lambda _, pattern: _matcher(pattern)),
    "Whether each string is, from its start to its end, a match of `pattern`.",
    inputs="input: string, pattern: string",
    outputs="output: bool",
)
string_op(
    "StaticRegexFullMatch",
    lambda context: _matcher(_attr_bytes(context.attrs["pattern"])),
    "RegexFullMatch with the pattern as an attr.",
    output="bool",
    pattern=_NEEDED,
)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Whether each string is, from its start to its end, a match of `pattern`: a bool tensor.

    InvalidArgumentError, in a run, for a pattern that is not valid.
    """
    if isinstance(pattern, (str, bytes)):
        return raw_ops.StaticRegexFullMatch(input, pattern=pattern, name=name)
    return raw_ops.RegexFullMatch(input, pattern, name=name)
