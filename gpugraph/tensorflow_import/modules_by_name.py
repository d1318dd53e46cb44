"""`module_named`: the import of a module whose name is data: a row of a table, another library."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def module_named(name: str) -> ModuleType:
    """Import and return a module; raise ImportError if it cannot be imported."""
    return import_module(name)
