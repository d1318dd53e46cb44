"""A hashable wrapper that compares by identity, for objects that compare by value."""

from __future__ import annotations

from typing import Any


class Reference:
    """A wrapper of one object, which it keeps alive. `deref()` returns the object."""

    __slots__ = ("_referred",)

    def __init__(self, referred: Any) -> None:
        self._referred = referred

    def deref(self) -> Any:
        """Return the object itself."""
        return self._referred

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and self._referred is other._referred

    def __hash__(self) -> int:
        return id(self._referred)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._referred!r}>"
