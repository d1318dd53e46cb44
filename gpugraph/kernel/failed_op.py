"""Which op of several that run as one step raised an error: a note on the error."""

from __future__ import annotations

from typing import Any


def note_op(error: BaseException, name: str, origin: Any) -> None:
    """Notes on an error the op that raised it, and its origin. The first note stays."""
    error.__dict__.setdefault("_raised_in", (name, origin))


def noted_op(error: BaseException) -> tuple[str, Any] | None:
    """The name and the origin that `note_op` noted, or None."""
    return error.__dict__.get("_raised_in")
