"""`module_named` imports a module whose name is data, such as a table's row or another library."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def module_named(name: str) -> ModuleType:
    """Import and return a module. Raises ImportError if it cannot be imported."""
    return import_module(name)
