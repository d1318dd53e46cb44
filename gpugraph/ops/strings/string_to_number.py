"""AsString and StringToNumber, which convert numbers to text, and text to numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.errors import InvalidArgumentError, invalid_argument as _refusal
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel import KernelContext, Signature
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.strings.native_texts import decimals, numbers_read
from gpugraph.ops.strings.string_ops import string_op

# -- numbers as text

_FILLS = ("", "+", "-", "0", " ", "#")


def _writer(context: KernelContext) -> Callable[[Any], bytes]:
    """Return a function that formats one element as C's printf does. The attrs determine the
    format.
    """
    dtype, attrs = context.input_types[0], context.attrs
    fill, width = attrs["fill"], attrs["width"]
    _check_format(dtype, attrs)
    if dtype.is_bool:
        return lambda value: b"true" if value else b"false"
    if dtype.is_unsigned and fill in ("+", " "):
        fill = ""  # an unsigned number gets no sign
    if dtype is dtypes.string:
        return lambda value: _pad(value, fill, width)
    form, plain = _forms(dtype, attrs, fill)
    if dtype.is_integer:
        return lambda value: (form % int(value)).encode()
    if dtype.is_complex:
        return lambda value: (
            f"({_float(form, plain, value.real)},{_float(form, plain, value.imag)})".encode()
        )
    return lambda value: _float(form, plain, value).encode()


def _forms(dtype: DType, attrs: Any, fill: str) -> tuple[str, str]:
    """Return two format strings: for finite numbers, and for infinities and NaN, which are never
    padded with zeros.
    """
    width, precision = attrs["width"], attrs["precision"]
    form = "%" + fill + (str(width) if width > -1 else "")
    if dtype.is_integer:
        return f"{form}d", f"{form}d"
    if precision > -1:
        form += f".{precision}"
    form += "e" if attrs["scientific"] else "g" if attrs["shortest"] else "f"
    return form, form.replace("%0", "%", 1) if fill == "0" else form


def _native_forms(signature: Signature) -> tuple[int, list[str]]:
    """Return the arguments of the native kernel: the number of digits after the point, or -1 and
    printf formats. Raises NotImplementedError if the attrs are not valid, or numbers may be very
    long.
    """
    dtype, attrs = signature.input_types[0].base_dtype, signature.attrs
    try:
        _check_format(dtype, attrs)
    except InvalidArgumentError as error:
        raise NotImplementedError(str(error)) from None
    precision, width, fill = attrs["precision"], attrs["width"], attrs["fill"]
    if max(width, precision) > _MAX_WIDTH:
        raise NotImplementedError("numbers are long")
    is_plain = width < 0 and not (fill or attrs["scientific"] or attrs["shortest"])
    digits = 6 if precision < 0 else precision
    if dtype.is_bool or (is_plain and digits <= _MAX_DIGITS_AFTER_POINT):
        return digits, []
    return -1, [form.replace("d", "lld") for form in _forms(dtype, attrs, fill)]


_MAX_DIGITS_AFTER_POINT = 9
_MAX_WIDTH = 64


def _float(form: str, plain: str, value: Any) -> str:
    number = float(value)
    return (form if math.isfinite(number) else plain) % number


def _pad(text: bytes, fill: str, width: int) -> bytes:
    return text.ljust(width) if fill == "-" else text.rjust(width)


def _check_format(dtype: DType, attrs: Any) -> None:
    fill = attrs["fill"]
    if len(fill) > 1:
        raise _refusal("Fill string must be one or fewer characters")
    if fill not in _FILLS:
        raise _refusal(f'Fill argument not supported: "{fill}"')
    if dtype.is_floating or dtype.is_complex:
        if attrs["scientific"] and attrs["shortest"]:
            raise _refusal("Cannot select both scientific and shortest notation")
        return
    if attrs["scientific"] or attrs["shortest"]:
        raise _refusal(f"scientific and shortest format not supported for datatype {dtype.name}")
    if attrs["precision"] > -1:
        raise _refusal(f"precision not supported for datatype {dtype.name}")


_as_string = string_op(
    "AsString",
    _writer,
    "Each element as text, as C's printf writes it with the format that the attrs describe.",
    inputs="input: T",
    native=decimals(_native_forms),
    T=(*dtypes.NUMERIC, dtypes.bool, dtypes.string),
    precision=Attr("int", -1),
    scientific=Attr("bool", False),
    shortest=Attr("bool", False),
    width=Attr("int", -1),
    fill=Attr("string", ""),
)


def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Convert each element to text. Numbers are written in decimal, complex numbers as (1,2), and
    bools as true or false.

    A run raises InvalidArgumentError if the arguments contradict each other or do not fit the
    dtype.

    Args:
      precision: the number of digits after the decimal point for floats and complex numbers, by
        default 6.
      scientific: whether to use the notation 1.5e+00.
      shortest: whether to use the shorter of the notations 1.5 and 1.5e+00.
      width: the minimum length of the text.
      fill: the kind of padding. "" and " " pad with spaces at the start, "-" pads with spaces at
        the end, and "0" pads with zeros. "+" and " " also put this character before numbers that
        are not negative.

    >>> session.run(tf.as_string([1, 2]))
    array([b'1', b'2'], dtype=object)
    """
    return _as_string(
        input,
        precision=precision,
        scientific=scientific,
        shortest=shortest,
        width=width,
        fill=fill,
        name=name,
    )


# -- text as numbers

_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan(?:\(\w*\))?)",
    re.IGNORECASE | re.ASCII,
)
_HEX = re.compile(r"[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?", re.IGNORECASE)
_DIGITS, _DECIMALS = b"0123456789", b"0123456789+-.eE"
_MAX_DIGITS = 32
"""The maximum length of an integer's text, not counting leading zeros."""
_SPACE = " \t\n\v\f\r"


def _reader(context: KernelContext) -> Callable[[bytes], Any]:
    wanted = as_dtype(context.attrs["out_type"])

    def convert(text: bytes) -> Any:
        number = read_number(text, wanted)
        if number is None:
            escaped = text.decode("utf-8", "backslashreplace")
            raise _refusal(f"StringToNumberOp could not correctly convert string: {escaped}")
        return number

    return convert


def read_number(text: bytes, wanted: DType) -> Any:
    """Return the number that a text represents, or None if the text is not a number. White space
    around the number is ignored.
    """
    written = text.decode("latin-1").strip(_SPACE)
    return (_integer if wanted.is_integer else _number)(written, wanted)


def plain_numbers(texts: Sequence[bytes], wanted: DType) -> Any:
    """Convert texts to an array of numbers, or return None if one of them requires `read_number`.

    A text requires it unless it is a plain decimal number in the dtype's range.
    """
    signs = _DIGITS if wanted.is_integer else _DECIMALS
    if b"".join(texts).translate(None, signs) or not all(texts):
        return None
    try:
        if not wanted.is_integer:
            with np.errstate(over="ignore"):
                numbers = np.fromiter(map(float, texts), np.float64, len(texts))
                return numbers.astype(wanted.as_numpy_dtype)
        values = np.fromiter(map(int, texts), np.int64, len(texts))
    except (ValueError, OverflowError):
        return None
    if values.size and not (wanted.min <= values.min() and values.max() <= wanted.max):
        return None
    return values.astype(wanted.as_numpy_dtype)


def _integer(text: str, wanted: DType) -> int | None:
    if len(text) > _MAX_DIGITS:
        text = text[:1] + text[1:].lstrip("0")
        if len(text) > _MAX_DIGITS:
            return None
    if not _INTEGER.fullmatch(text) or (wanted.is_unsigned and text.startswith("-")):
        return None
    value = int(text)
    return value if wanted.min <= value <= wanted.max else None


def _number(text: str, wanted: DType) -> Any:
    if _HEX.fullmatch(text):
        return wanted.as_numpy_dtype(float.fromhex(text))
    if not _FLOAT.fullmatch(text):
        return None
    return wanted.as_numpy_dtype(float(text.partition("(")[0]))


_OUT_TYPES = (
    dtypes.float32,
    dtypes.float64,
    dtypes.int32,
    dtypes.int64,
    dtypes.uint32,
    dtypes.uint64,
)
_string_to_number = string_op(
    "StringToNumber",
    _reader,
    "Each string read as a number of `out_type`. InvalidArgumentError for other strings.",
    inputs="string_tensor: string",
    output="output: out_type",
    native=numbers_read(),
    out_type=Attr("type", dtypes.float32, allowed=_OUT_TYPES),
)


def string_to_number(
    string_tensor: Any = None,
    out_type: Any = dtypes.float32,
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """Parse strings as `out_type`: float32, float64, int32, int64, uint32 or uint64.

    White space around a number is ignored. Floats that are out of range become infinite. `input` is
    another name of `string_tensor`.

    Raises TypeError if `out_type` has any other value. A run raises InvalidArgumentError if a
    string is not a number, or not an integer in the dtype's range.
    """
    if input is not None:
        if string_tensor is not None:
            raise ValueError("Cannot specify both 'string_tensor' and 'input'")
        string_tensor = input
    return _string_to_number(string_tensor, out_type=out_type, name=name)
