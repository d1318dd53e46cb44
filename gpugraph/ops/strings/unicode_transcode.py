"""UnicodeTranscode, which converts strings from one encoding to another."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from typing import Any

from gpugraph.base.errors import invalid_argument as _refusal
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import KernelContext
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.strings.native_texts import transcoded
from gpugraph.ops.strings.string_ops import string_op

_OUTPUTS = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}
_LAST_CONTROL = "\x1f"
_LARGEST = 0x10FFFF
_UNKNOWN = "\ufffd"
_SURROGATES = re.compile("[\ud800-\udfff]")  # halves of UTF-16 pairs, which are no characters


def _replacement(attrs: Any) -> str:
    """Return the text that replaces invalid bytes: the attr replacement_char, or U+FFFD if this
    attr is a surrogate.
    """
    return _SURROGATES.sub(_UNKNOWN, chr(attrs["replacement_char"]))


def _decoding(attrs: Any) -> Callable[[bytes], str]:
    """Return a function that decodes bytes to str.

    Depending on the attr `errors`, invalid bytes are replaced by `replacement_char`, are dropped,
    or raise InvalidArgumentError.
    """
    encoding, errors = attrs["input_encoding"], attrs["errors"]
    try:
        codecs.lookup(encoding)
        b"a".decode(encoding, "ignore")  # this call fails for codecs that do not decode to text
    except (LookupError, UnicodeError):
        raise _refusal(f"Could not create converter for input encoding: {encoding}") from None
    replacement = attrs["replacement_char"]
    if not 0 <= replacement <= _LARGEST:
        raise _refusal(f"replacement_char {replacement} is no Unicode character")
    name = f"gpugraph.{errors}.{replacement}"
    insert = _replacement(attrs) if errors == "replace" else ""
    codecs.register_error(name, lambda fault: (insert, fault.end))  # type: ignore[attr-defined]

    def decode(text: bytes) -> str:
        if errors != "strict":
            return text.decode(encoding, name)
        try:
            return text.decode(encoding)
        except UnicodeDecodeError as error:
            message = f"Invalid formatting on input string: {error.reason} at byte {error.start}"
            raise _refusal(message) from None

    return decode


def _transcode(context: KernelContext) -> Callable[[bytes], bytes]:
    attrs, decode = context.attrs, _decoding(context.attrs)
    to = _OUTPUTS[attrs["output_encoding"]]
    insert = _replacement(attrs) if attrs["errors"] != "ignore" else ""
    controls = dict.fromkeys(range(ord(_LAST_CONTROL) + 1), insert)

    def transcode(text: bytes) -> bytes:
        decoded = decode(text)
        if attrs["replace_control_characters"]:
            decoded = decoded.translate(controls)
        return _SURROGATES.sub(_UNKNOWN, decoded).encode(to)

    return transcode


_unicode_transcode = string_op(
    "UnicodeTranscode",
    _transcode,
    "Each string, read as input_encoding, in output_encoding.",
    native=transcoded(),
    input_encoding=Attr("string", required=True),
    output_encoding=Attr("string", required=True, allowed=tuple(_OUTPUTS)),
    errors=Attr("string", "replace", allowed=("strict", "replace", "ignore")),
    replacement_char=Attr("int", 0xFFFD),
    replace_control_characters=Attr("bool", False),
)


def unicode_transcode(
    input: Any,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Convert strings from `input_encoding`, which is any encoding that Python supports, to
    `output_encoding`.

    A run raises InvalidArgumentError if `input_encoding` is unknown.

    Args:
      output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: the treatment of invalid bytes. "replace" replaces them with `replacement_char`, or
        with U+FFFD if that is a surrogate. "ignore" drops them, and "strict" raises
        InvalidArgumentError.
      replace_control_characters: whether to treat the characters 0 to 31 as invalid too. "strict"
        replaces these characters instead of raising an error.
    """
    return _unicode_transcode(
        input,
        input_encoding=input_encoding,
        output_encoding=output_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
        name=name,
    )
