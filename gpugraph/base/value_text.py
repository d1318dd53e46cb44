"""Values of programs as text in messages."""

from __future__ import annotations

from typing import Any

from gpugraph.base.interruptions.signal_handlers import uninterrupted

_MAX_SHOWN = 200
"""The maximum number of characters of a value in a message."""


@uninterrupted
def shown(value: Any) -> str:
    """Return `value` as text for a message: shortened, or its type if it has no text."""
    try:
        text = repr(value)
    except Exception:  # a structure that is too deep, or a class of the program
        return f"a {type(value).__name__}"
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
