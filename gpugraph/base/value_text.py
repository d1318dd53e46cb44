"""Values of programs in messages."""

from __future__ import annotations

from typing import Any

from gpugraph.base.interruptions.signal_handlers import uninterrupted

_MOST_SHOWN = 200
"""Letters of a value in a message."""


@uninterrupted
def shown(value: Any) -> str:
    """`value` in a message: not long, and of a value that has no text its type."""
    try:
        text = repr(value)
    except Exception:  # of a structure that is too deep, or of the program's own class
        return f"a {type(value).__name__}"
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
