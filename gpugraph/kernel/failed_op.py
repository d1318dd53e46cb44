"""The record of the op that raised an error. The record is an attribute of the error. Without it, a
step that runs several ops could not name the op that failed.
"""

from __future__ import annotations

from typing import Any


def note_op(error: BaseException, name: str, origin: Any) -> None:
    """Record on an error the name and origin of the op that raised it. If the error already has
    such a record, keep that record.
    """
    error.__dict__.setdefault("_raised_in", (name, origin))


def noted_op(error: BaseException) -> tuple[str, Any] | None:
    """Return the op's name and origin that `note_op` recorded on the error, or None."""
    return error.__dict__.get("_raised_in")
