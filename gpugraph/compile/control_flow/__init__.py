"""Branches and loops as steps."""

__all__: list[str] = []
