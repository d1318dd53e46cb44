"""Element types in C: how a dtype lies in memory, what registers hold, and which have no kernel."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType


class CType(NamedTuple):
    """memory: the type of an array's elements; value: what is computed with.

    load and store turn one into the other; `rounded` is a value as if it had been in memory.
    """

    memory: str
    value: str
    load: str = "{}"
    store: str = "{}"
    rounded: str = "{}"


C_TYPES: dict[DType, CType] = {
    dtypes.bool: CType("uint8_t", "_Bool", "({} != 0)", "(uint8_t){}"),
    dtypes.float16: CType(
        "uint16_t", "float", "gg_from_half({})", "gg_to_half({})", "gg_from_half(gg_to_half({}))"
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
"""The dtypes that native kernels compute with. float16 is computed in float and rounded
after each op, as NumPy does; bfloat16, native on GPUs alone, is rounded where it is stored."""

NOT_NATIVE: dict[DType, str] = {
    dtypes.bfloat16: "the CPU's kernels have no type of it",
    dtypes.complex64: "expressions have the functions of real numbers",
    dtypes.complex128: "expressions have the functions of real numbers",
    dtypes.string: "strings are Python objects",
    dtypes.resource: "resources are Python objects",
    dtypes.variant: "variants are Python objects",
}
"""The dtypes that they don't, and why."""

EXPENSIVE = re.compile(r"\b(exp|expm1|log|log1p|tanh|erf|sin|cos|tan|pow|fmod)\(")
"""Expressions that take ten times as long as arithmetic."""

TRIGONOMETRY = re.compile(r"\b(sin|cos|tan)\(")

DIVISION = "y == (T)0", "Integer division by zero"
"""When an integer division fails, and the message; the `Call` raises InvalidArgumentError too."""


def not_native(*types: DType, gpu: bool = False) -> str:
    """Why there is no native kernel of these dtypes (for the CPU, or a GPU); empty if there is."""
    for dtype in types:
        if dtype.base_dtype in NOT_NATIVE and not (gpu and dtype.base_dtype in C_TYPES):
            return f"{dtype.base_dtype.name}: {NOT_NATIVE[dtype.base_dtype]}"
    return ""


def failure(expression: str, dtype: DType) -> tuple[str, str]:
    """When an expression fails by itself, and the message: where it divides integers by zero."""
    divides = (dtype.is_integer or dtype.is_bool) and re.search(r"[/%] *y\b", expression)
    return DIVISION if divides else ("", "")


def result_type(source: DType, target: DType) -> str:
    """What `U` is in an expression: the target's type; of small integers from floats a wide one.

    C leaves a float that does not fit its integer open. Through a wide integer the low bits
    remain, as in NumPy.
    """
    if source.is_floating and target.is_integer and target.size < 4:
        return "int32_t"
    if source.is_floating and target is dtypes.uint32:
        return "int64_t"
    return C_TYPES[target].value


def literal(value: Any, dtype: DType) -> str:
    """A number in C, of exactly that value."""
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
