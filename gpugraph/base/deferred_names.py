"""Deferred imports: the modules behind a package's names are imported when a name is first
accessed.

A package that defers its imports declares them in a block that only type checkers execute:

    if TYPE_CHECKING:
        from gpugraph.session import Session as Session
    else:
        __getattr__, __dir__, __all__ = deferred_names(__name__)

This module parses the source of that block, so that readers, type checkers and the program use a
single list of names. In addition to `from module import name`, three forms are allowed: `other =
name`, `other = module.name`, and `from module import *` if that module itself consists of such
lines.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType, ModuleType
from typing import Any

from gpugraph.base.fork_safe_locks import new_rlock
from gpugraph.base.interruptions.garbage_collection import nothing_collected
from gpugraph.base.interruptions.signal_handlers import uninterrupted

_Sources = dict[str, tuple[str, str]]
_HELPERS = ("TYPE_CHECKING", "deferred_names", "missing_attribute")


_LOCK = new_rlock()


@contextmanager
def one_import_at_a_time() -> Iterator[None]:
    """Serialize deferred imports: only one thread at a time runs the body of the `with` statement.

    If two threads imported mutually dependent packages in opposite order, one of them could get a
    partly imported package. A thread that is already inside an import does not wait, because other
    threads may be waiting for that import.
    """
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    with nullcontext() if frame is not None else _LOCK, nothing_collected():
        yield


class _Package(ModuleType):
    """A package in which a declared name keeps its declared value even if a submodule has the same
    name.

    Otherwise the import of the submodule would replace the declared value by the submodule.
    """

    _deferred: _Sources

    def __setattr__(self, name: str, value: Any) -> None:
        is_own = isinstance(value, ModuleType) and value.__name__ == f"{self.__name__}.{name}"
        if is_own and self._deferred.get(name, (self.__name__, name)) != (self.__name__, name):
            return
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Callable[[str], Any], tuple[str]]:
        """Pickle the package by its name, so that functions that refer to the package can be
        pickled.
        """
        return importlib.import_module, (self.__name__,)


def deferred_names(
    package: str, fallback: Callable[[str], Any] | None = None, first: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package whose imports are deferred.

    Args:
      package: the package's name.
      fallback: called with a name that is neither declared nor a submodule of the package. It
        returns a value or raises an AttributeError.
      first: a module that is imported before the first access to any of the names.
    """
    sources = _sources(package)
    module = sys.modules[package]

    @uninterrupted
    def find(name: str) -> Any:
        with one_import_at_a_time():
            return find_alone(name)

    def find_alone(name: str) -> Any:
        if name in sources:
            if first and first not in sys.modules:
                importlib.import_module(first)
            holder, attribute = sources[name]
            value = _value(holder, attribute, holder == package)
        elif _is_module(module, name):
            value = importlib.import_module(f"{package}.{name}")
        elif fallback is not None:
            return fallback(name)
        else:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}", name=name, obj=module
            )
        vars(module)[name] = value
        return value

    for helper in _HELPERS:
        vars(module).pop(helper, None)
    module.__class__ = _Package
    vars(module)["_deferred"] = sources
    names = {*sources, *(n for n, v in vars(module).items() if not isinstance(v, ModuleType))}
    public = sorted(name for name in names if not name.startswith("_"))
    return find, lambda: sorted({*names, *vars(module)}), public


def _is_module(package: ModuleType, name: str) -> bool:
    """Return whether a package has a submodule of this name."""
    if name.startswith("_") or not hasattr(package, "__path__"):
        return False
    return importlib.util.find_spec(f"{package.__name__}.{name}") is not None


def _value(module: str, name: str, is_module: bool) -> Any:
    """Return the attribute `name` of a module, or its submodule of that name.

    Args:
      is_module: whether `name` means the submodule even if the module has an attribute of this
        name.
    """
    holder = importlib.import_module(module)
    if not is_module and hasattr(holder, name):
        return getattr(holder, name)
    return importlib.import_module(f"{module}.{name}")


def _sources(package: str) -> _Sources:
    """Return, for each name among a package's deferred imports, the module that defines the object,
    and the name of the object in that module.
    """
    for statement in _statements(package):
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            return _listed(statement.body)
    raise ValueError(f"{package} has no `if TYPE_CHECKING`")


def _statements(module: str) -> list[ast.stmt]:
    spec = importlib.util.find_spec(module)
    source = spec and spec.loader and spec.loader.get_source(module)  # type: ignore[attr-defined]
    if not source:
        raise ImportError(f"{module} has no source, from which its names are read")
    return ast.parse(source).body


def _listed(statements: list[ast.stmt]) -> _Sources:
    """Return, for each name that the statements define, the module that defines the object, and the
    name of the object in that module.
    """
    known: _Sources = {}
    for statement in statements:
        if isinstance(statement, ast.Assign):
            [target], value = statement.targets, ast.unparse(statement.value)
            whole, _, part = value.partition(".")
            known[ast.unparse(target)] = (".".join(known[whole]), part) if part else known[whole]
        elif isinstance(statement, ast.ImportFrom) and statement.module:
            for alias in statement.names:
                if alias.name == "*":
                    shared = _listed(_statements(statement.module))
                    known.update({key: v for key, v in shared.items() if key[0] != "_"})
                else:
                    known[alias.asname or alias.name] = (statement.module, alias.name)
    return known
