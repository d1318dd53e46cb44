"""Ops on each string of a tensor: lengths, substrings, case conversion, and base64.

A string is a sequence of bytes. With the unit "UTF8_CHAR", a character begins at each byte that is
not a continuation byte of UTF-8. With the encoding "utf-8", invalid bytes are replaced by U+FFFD.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, broadcast_shapes
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext, InferFunction
from gpugraph.kernel import SEPARATE, Call, KernelContext, OpMemory, RowSource
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.public_function import InputFunction, public_function
from gpugraph.ops.framework.shape_functions import same_shape
from gpugraph.ops.strings.native_texts import cased, decoded, lengths, parts, texts

_HOST = HostOnly("strings live on the host")
_SAME_SHAPE = same_shape(0)
_UNIT = Attr("string", "BYTE", allowed=("BYTE", "UTF8_CHAR"))


def host_op(
    op_type: str,
    kernel: Call,
    doc: str,
    inputs: Any = "input: string",
    outputs: Any = "output: string",
    infer: InferFunction = _SAME_SHAPE,
    stateful: bool = False,
    native: RowSource | None = None,
    memory: OpMemory = SEPARATE,
    **attrs: Any,
) -> OpFunction:
    """Declare an op on strings, which runs on the host and has no gradient.

    By default there is one input and one output, both strings of the same shape.

    Args:
      native: the op's native kernel.
      memory: the op's use of memory.
    """
    return op(
        op_type,
        inputs=inputs,
        outputs=outputs,
        attrs=attrs,
        infer=infer,
        cpu=kernel,
        gpu=_HOST,
        native=native,
        memory=memory,
        grad=NO_GRADIENT,
        stateful=stateful,
        doc=doc,
    )


def string_op(
    op_type: str,
    function_of: Callable[[KernelContext], Callable[[Any], Any]],
    doc: str,
    inputs: str = "input: string",
    output: str = "output: string",
    native: RowSource | None = None,
    **attrs: Any,
) -> OpFunction:
    """Declare an elementwise op on strings.

    Args:
      function_of: a function that receives a kernel's context and returns the function to apply to
        each element.
    """

    def bind(context: KernelContext, source: Any, out: Any) -> Callable[[], Any]:
        function = function_of(context)

        def run() -> None:
            out[...] = np.frompyfunc(function, 1, 1)(source)

        return run

    return host_op(op_type, Call(make=bind), doc, inputs, output, native=native, **attrs)


def _starts(text: bytes) -> list[int]:
    """Return the offsets at which the UTF-8 characters of a text begin. A character begins at each
    byte that is not a continuation byte.
    """
    return [offset for offset, byte in enumerate(text) if byte & 0xC0 != 0x80]


# -- lengths


def _length(context: KernelContext) -> Callable[[bytes], Any]:
    return len if context.attrs["unit"] == "BYTE" else lambda text: len(_starts(text))


_string_length = string_op(
    "StringLength",
    _length,
    "The number of bytes, or UTF-8 characters by `unit`, of each string.",
    output="output: int32",
    native=lengths(),
    unit=_UNIT,
)


def string_length(input: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Return the number of bytes (unit "BYTE") or characters ("UTF8_CHAR") of each string, as
    int32.
    """
    return _string_length(input, unit=unit, name=name)


# -- ends and case

string_strip: InputFunction = public_function(
    string_op(
        "StringStrip",
        lambda _: bytes.strip,
        "Strip ASCII white space from both ends of each string.",
        native=texts("gg_text_strip"),
    )
)


def _case_converter(
    ascii_only: Callable[[bytes], bytes], whole: Callable[[str], str]
) -> Callable[[KernelContext], Callable[[bytes], bytes]]:
    """Return a function that receives a context and returns a case converter. It converts ASCII
    letters, or all letters if the encoding is "utf-8".

    Args:
      ascii_only: the conversion of bytes.
      whole: the conversion of text, which is used if the attr `encoding` is "utf-8".
    """

    def of(context: KernelContext) -> Callable[[bytes], bytes]:
        encoding = context.attrs["encoding"]
        if encoding not in ("", "utf-8"):
            raise invalid_argument(
                f"only utf-8 or '' (no encoding) is supported, received {encoding}"
            )
        if not encoding:
            return ascii_only
        return lambda text: whole(text.decode("utf-8", "replace")).encode("utf-8")

    return of


for _type, _ascii, _whole, _what in (
    ("StringLower", bytes.lower, str.lower, "lower"),
    ("StringUpper", bytes.upper, str.upper, "upper"),
):
    string_op(
        _type,
        _case_converter(_ascii, _whole),
        f"Each string in {_what} case: its ASCII letters, or all with the encoding 'utf-8'.",
        native=cased(f"gg_text_{_what}"),
        encoding=Attr("string", ""),
    )


def string_lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Convert the ASCII letters of each string to lower case, or all letters if the encoding is
    "utf-8".
    """
    return raw_ops.StringLower(input, encoding=encoding, name=name)


def string_upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Convert the ASCII letters of each string to upper case, or all letters if the encoding is
    "utf-8".
    """
    return raw_ops.StringUpper(input, encoding=encoding, name=name)


# -- parts


def _infer_substr(context: InferContext) -> Sequence[TensorShape]:
    text, pos, length = context.shapes
    return [broadcast_shapes(text, pos.merge_with(length))]


def _bind_substr(
    context: KernelContext, texts: Any, pos: Any, length: Any, out: Any
) -> Callable[[], Any]:
    by_bytes = context.attrs["unit"] == "BYTE"

    def run() -> None:
        spread: list[Any] = [*np.broadcast_arrays(texts, pos, length)]
        for index in np.ndindex(out.shape):
            text, start, count = (array[index] for array in spread)
            bounds = range(len(text)) if by_bytes else _starts(text)
            first = _first(text, len(bounds), int(start), index, by_bytes or count >= 0)
            last = len(bounds) if by_bytes and count < 0 else first + max(0, int(count))
            ends = [*bounds, len(text)]
            out[index] = text[ends[first] : ends[min(last, len(bounds))]]

    return run


def _first(text: bytes, length: int, start: int, index: Any, may_be_negative: bool) -> int:
    """Return the start of a substring as an index from 0. A negative start counts from the end.

    Raises InvalidArgumentError if the start is out of range.

    Args:
      length: the number of bytes or characters in the text.
    """
    if not (-length if may_be_negative else 0) <= start <= length:
        where = index[0] if len(index) == 1 else index or 0
        raise invalid_argument(f"pos {start} out of range for string {text!r} at index {where}")
    return start if start >= 0 else length + start


_substr = host_op(
    "Substr",
    Call(make=_bind_substr),
    "`len` bytes (or UTF-8 characters) from `pos` on, or as many as there are; broadcast.",
    inputs="input: string, pos: T, len: T",
    infer=_infer_substr,
    native=parts(),
    T=(dtypes.int32, dtypes.int64),
    unit=_UNIT,
)


def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Return `len` bytes (unit "BYTE") or characters ("UTF8_CHAR") of each string, starting at
    `pos`.

    A negative `pos` counts from the end. If `len` is negative, all remaining bytes are returned.
    With the unit "UTF8_CHAR", a negative `len` returns nothing, and `pos` must not be negative.
    `pos` and `len` have the same shape and the same dtype, int32 or int64. They are broadcast
    against the strings. A run raises InvalidArgumentError if `pos` is outside its string.
    """
    return _substr(input, pos, len, unit=unit, name=name)


# -- base64


def _encode(context: KernelContext) -> Callable[[bytes], bytes]:
    if context.attrs["pad"]:
        return base64.urlsafe_b64encode
    return lambda text: base64.urlsafe_b64encode(text).rstrip(b"=")


_FORM = re.compile(rb"[A-Za-z0-9_-]*={0,2}")


def _decode(text: bytes) -> bytes:
    bare = text.rstrip(b"=")
    padding = -len(bare) % 4
    if not _FORM.fullmatch(text) or len(text) - len(bare) not in (0, padding):
        raise invalid_argument("Invalid character found in base64.")
    if len(bare) % 4 == 1:
        raise invalid_argument("Base64 string length cannot be 1 modulo 4.")
    try:
        return base64.urlsafe_b64decode(bare + b"=" * padding)
    except binascii.Error as error:
        raise invalid_argument(f"Not in base64: {error}") from error


_encode_base64 = string_op(
    "EncodeBase64",
    _encode,
    "Each string in web-safe base64 (- and _), with = at the end if `pad`.",
    native=texts("gg_text_base64", lambda signature: [int(signature.attrs["pad"])]),
    pad=Attr("bool", False),
)
decode_base64: InputFunction = public_function(
    string_op(
        "DecodeBase64",
        lambda _: _decode,
        "Decode each string from web-safe base64, padded or not. "
        "A run raises InvalidArgumentError for other strings.",
        native=decoded(),
    )
)


def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Tensor:
    """Encode each string in web-safe base64, which uses - and _ instead of + and /. If `pad` is
    true, the results are padded with = at the end.
    """
    return _encode_base64(input, pad=pad, name=name)
