"""Text of a program's values, for error messages."""

from __future__ import annotations

from typing import Any

from gpugraph.base.interruptions.signal_handlers import uninterrupted

_MAX_SHOWN = 200
"""The maximum number of characters of a value's text."""


@uninterrupted
def shown(value: Any) -> str:
    """Return `repr(value)`, shortened to 200 characters. If `repr` fails, return the name of the
    value's type.
    """
    try:
        text = repr(value)
    except Exception:  # a structure that is too deep, or an error in the program's class
        return f"a {type(value).__name__}"
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
