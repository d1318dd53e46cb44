"""Records on an error which op raised it, for steps that run several ops."""

from __future__ import annotations

from typing import Any


def note_op(error: BaseException, name: str, origin: Any) -> None:
    """Record on an error the op that raised it, and the op's origin, unless an op is recorded
    already.
    """
    error.__dict__.setdefault("_raised_in", (name, origin))


def noted_op(error: BaseException) -> tuple[str, Any] | None:
    """Return the name and the origin that `note_op` recorded, or None."""
    return error.__dict__.get("_raised_in")
