"""Element types of native kernels: the C types of each dtype in memory and in registers, and a test
for dtypes that have none.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, bfloat16, float16, float64, int32, uint64


class CType(NamedTuple):
    """The C types of a dtype.

    Args:
      memory: the type of array elements.
      value: the type of computed values.
      load, store: templates of the C expressions that convert an element to a value and back.
      rounded: a template of the C expression that rounds a value as if it were stored and loaded.
    """

    memory: str
    value: str
    load: str = "{}"
    store: str = "{}"
    rounded: str = "{}"


C_TYPES: dict[DType, CType] = {
    dtypes.bool: CType("uint8_t", "_Bool", "({} != 0)", "(uint8_t){}"),
    dtypes.float16: CType(
        "uint16_t", "float", "gg_from_half({})", "gg_to_half({})", "gg_as_half({})"
    ),
    dtypes.bfloat16: CType("uint16_t", "float", "gg_from_bfloat16({})", "gg_to_bfloat16({})"),
    dtypes.float32: CType("float", "float"),
    dtypes.float64: CType("double", "double"),
    **{
        dtypes.as_dtype(f"{sign}int{bits}"): CType(f"{sign}int{bits}_t", f"{sign}int{bits}_t")
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
}
"""The dtypes that native kernels support. float16 and bfloat16 are computed in float. As in the
NumPy kernels, float16 is rounded after each step of an op, and bfloat16 after each op.
"""

_STORED = {float16: "gg_as_half(", bfloat16: "gg_as_bfloat16("}
"""The C functions that round a value as if it were stored and loaded."""

NOT_NATIVE: dict[DType, str] = {
    dtypes.complex64: "expressions have the functions of real numbers",
    dtypes.complex128: "expressions have the functions of real numbers",
    dtypes.string: "strings are Python objects",
    dtypes.resource: "resources are Python objects",
    dtypes.variant: "variants are Python objects",
    **dict.fromkeys(dtypes.QUANTIZED, "quantized numbers are only moved"),
}
"""The dtypes without native kernels, each with the reason."""

EXPENSIVE = re.compile(r"\b(exp|expm1|log|log1p|tanh|erfc?|sin|cos|tan|pow|fmod)\(")
"""Matches expressions with a function that takes about ten times as long as arithmetic."""

_CONVERSION = re.compile(r"\(U\) ?(\w+|\([^()]*\))")

TRIGONOMETRY = re.compile(r"\ba?(sin|cos|tan)h?\(|\batan2\(")

DIVISION = "y == (T)0", "Integer division by zero"
"""The condition under which an integer division fails, and the error's message. The NumPy kernel
(`Call`) raises the same InvalidArgumentError.
"""


def not_native(*types: DType) -> str:
    """Return the reason why native kernels do not support one of these dtypes, or "" if they
    support all.
    """
    for dtype in types:
        if dtype.base_dtype in NOT_NATIVE:
            return f"{dtype.base_dtype.name}: {NOT_NATIVE[dtype.base_dtype]}"
    return ""


def failure(expression: str, dtype: DType) -> tuple[str, str]:
    """If a C expression divides integers by its operand `y`, return the condition and the message
    of the failure (`DIVISION`). Otherwise return two empty strings.
    """
    divides = (dtype.is_integer or dtype.is_bool) and re.search(r"[/%] *y\b", expression)
    return DIVISION if divides else ("", "")


def in_c(expression: str, source: DType, target: DType) -> str:
    """Translate an op's expression to C.

    `stored(...)` in an expression rounds a value as if it had been stored, and `rounded(...)` does
    so for float16 only. `(U)` converts a value to the result's dtype. If this conversion is from
    float to integer, `(U)` becomes a function of float_to_integer.h, because C does not define the
    result for floats out of the integer's range.

    Args:
      source: the dtype of the operands.
      target: the dtype of the result.
    """
    expression = expression.replace("rounded(", "gg_as_half(" if source is float16 else "(")
    expression = expression.replace("stored(", _STORED.get(source, "("))
    if not (source.is_floating and target.is_integer):
        return expression
    wide = "u64" if target is uint64 else "i32" if target is int32 or target.size < 4 else "i64"
    function = f"gg_{'f64' if source is float64 else 'f32'}_to_{wide}"
    return _CONVERSION.sub(lambda found: f"(U){function}({found[1]})", expression)


def literal(value: Any, dtype: DType) -> str:
    """Return a C literal that has exactly this value."""
    kind = C_TYPES[dtype].value
    if dtype.is_bool:
        return f"((_Bool){int(bool(value))})"
    if dtype.is_integer:
        number = int(value)
        if number == -(1 << 63):
            return f"(({kind})(-9223372036854775807ll - 1))"
        return f"(({kind}){number}{'ull' if number > 0 else 'll'})"
    real = float(value)
    if math.isnan(real):
        return f"(({kind})NAN)"
    if math.isinf(real):
        return f"(({kind}){'-' if real < 0 else ''}INFINITY)"
    return f"(({kind}){real.hex()})"
