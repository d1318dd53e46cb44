"""Look-up of TensorFlow's names in this package's public modules and in the module table."""

from __future__ import annotations

import functools
import pkgutil
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

from gpugraph.api.import_paths import TENSORFLOW_PATHS, public_module
from gpugraph.graph.op_library import OP_DEFS
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.tensorflow_import.module_table import ROWS, TREES

_PACKAGE = __name__.partition(".")[0]
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])")


_ABSENT = object()


class ModulePath(NamedTuple):
    """The lookup result for a name of a module: the module's path relative to `tensorflow`."""

    path: str


class _OpsByName:
    """An object that has each declared op as an attribute, by its name in snake case: `mat_mul`."""

    def __getattr__(self, name: str) -> Any:
        types = _types_by_name(
            len(OP_DEFS)
        )  # The number of ops is the key of a cache: it grows when a program declares ops.
        if name in types:
            return getattr(raw_ops, types[name])
        raise AttributeError(name)

    def __dir__(self) -> list[str]:
        return sorted(_types_by_name(len(OP_DEFS)))


@functools.lru_cache(maxsize=1)
def _types_by_name(count: int) -> dict[str, str]:
    del count
    return {_WORD.sub("_", op_type).lower(): op_type for op_type in dir(raw_ops)}


_OPS_BY_NAME = _OpsByName()


def canonical(path: str) -> str:
    """Replace the tree's prefix in `path` by its public module: `compat.v1.nn` becomes `nn`.

    The root is "". A path that has its own row is returned as it is, even below a tree:
    `python.keras.engine`.
    """
    if path in ROWS:
        return path
    for prefix, target in TREES.items():
        if path == prefix or path.startswith(f"{prefix}."):
            rest = path[len(prefix) + 1 :]
            return canonical(_joined(_public_path(target), rest))
    return path


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path and name else path or name


def _public_path(target: str) -> str:
    return target.removeprefix("tf").removeprefix(".")


@functools.cache
def module_paths() -> frozenset[str]:
    """Return the paths of all modules relative to `tensorflow`, except those in trees.

    The root is "".
    """
    paths = {"", "compat", *TENSORFLOW_PATHS, *ROWS}
    for path in [*paths, *TREES]:
        parents = path.split(".")[:-1]
        paths |= {".".join(parents[: count + 1]) for count in range(len(parents))}
    return frozenset(paths)


def is_module(path: str) -> bool:
    """Return whether `tensorflow.<path>` is a module that this package provides."""
    return canonical(path) in module_paths()


def find(path: str, name: str) -> Any:
    """Return the value of a name in a module; a ModulePath if the value is a module.

    Raise AttributeError if the module lacks the name.
    """
    here = canonical(path)
    row = ROWS.get(here)
    if row and name in row.names:
        return target(row.names[name])
    modules = []
    for source in sources(here):
        value = getattr(source, name, _ABSENT)
        if isinstance(value, ModuleType):
            modules.append(value)
        elif value is not _ABSENT:
            return value
    if is_module(_joined(path, name)):
        return ModulePath(_joined(path, name))
    for module in (
        modules
    ):  # public modules whose path in the package differs from `tensorflow`'s, such as tf.app.flags
        if module.__name__ in _public_paths():
            return ModulePath(_public_paths()[module.__name__])
    raise AttributeError(name)


@functools.cache
def _public_paths() -> dict[str, str]:
    return {f"{_PACKAGE}.{module_path}": path for path, module_path in TENSORFLOW_PATHS.items()}


def names(path: str) -> list[str]:
    """Return the public names in a module, with its submodules, sorted."""
    here = canonical(path)
    known = set(ROWS[here].names) if here in ROWS else set()
    below = f"{here}." if here else ""
    known |= {
        other[len(below) :].partition(".")[0]
        for other in (*module_paths(), *TREES)
        if other != here and other.startswith(below)
    }
    for source in sources(here):
        known |= {
            name
            for name in dir(source)
            if not name.startswith("_") and not isinstance(getattr(source, name), ModuleType)
        }
    return sorted(known - {""})


def sources(path: str) -> Iterator[Any]:
    """Yield the objects whose attributes are a module's names.

    path: the module's path as returned by `canonical`.
    """
    if path in ROWS:
        yield from map(target, ROWS[path].sources)
    if path == "":
        yield sys.modules[_PACKAGE]
    elif path in TENSORFLOW_PATHS:
        yield public_module(path)


def target(text: str) -> Any:
    """Return the value that a target in the table names; targets are described in `module_table`.

    Raise an error if there is no such value.
    """
    if text.startswith("'"):
        return text[1:]
    if text.startswith("@"):
        return ModulePath(text[1:])
    if text == "gen":
        return _OPS_BY_NAME
    root, _, rest = text.partition(".")
    if root == "tf":
        return _attribute(sys.modules[_PACKAGE], rest)
    return pkgutil.resolve_name(text)


def _attribute(value: Any, path: str) -> Any:
    for name in filter(None, path.split(".")):
        value = getattr(value, name)
    return value
