"""A hashable wrapper that is compared by identity, for objects that compare by value."""

from __future__ import annotations

from typing import Any


class Reference:
    """A hashable wrapper of one object, compared by the identity of the object.

    The wrapper keeps the object alive. `deref()` returns the object.
    """

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
