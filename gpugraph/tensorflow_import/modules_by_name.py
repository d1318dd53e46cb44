"""`module_named`, which imports a module whose name is a value, such as an entry of a table."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def module_named(name: str) -> ModuleType:
    """Import and return a module. Raises ImportError if it cannot be imported."""
    return import_module(name)
