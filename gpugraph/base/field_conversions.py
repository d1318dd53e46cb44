"""Checks that convert the values assigned to a message's fields (`base/proto_messages.py`)."""

from __future__ import annotations

import numbers
import operator
from typing import Any


def wrong(where: str, expected: str, value: object) -> TypeError:
    """Return the error for a value of the wrong type for the field `where`."""
    return TypeError(f"{where} must be {expected}, got {value!r} of type {type(value).__name__}")


def to_bool(where: str, value: Any) -> bool:
    """Convert `value` to a bool. Raises TypeError for anything but a bool or an int."""
    try:
        return bool(operator.index(value))
    except TypeError:
        raise wrong(where, "a bool", value) from None


def to_int(where: str, value: Any) -> int:
    """Convert `value` to an int. Raises TypeError for a bool and for anything without
    `__index__`.
    """
    if isinstance(value, bool):
        raise wrong(where, "an int", value)
    try:
        return int(operator.index(value))
    except TypeError:
        raise wrong(where, "an int", value) from None


def to_float(where: str, value: Any) -> float:
    """Convert `value` to a float. Raises TypeError for a bool and for anything but a real number.

    Raises ValueError for an int beyond the range of floats.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise wrong(where, "a number", value)
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{where}: {value} is too large for a float") from None


def to_str(where: str, value: Any) -> str:
    """Return `value`. Raises TypeError if it is not a string."""
    if not isinstance(value, str):
        raise wrong(where, "a string", value)
    return value
