"""The look-up of TensorFlow's names in this package's public modules and in the module table."""

from __future__ import annotations

import functools
import os
import pkgutil
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any, NamedTuple

from gpugraph.api.import_paths import TENSORFLOW_PATHS, public_module
from gpugraph.formats.public_messages import PUBLIC_MESSAGES
from gpugraph.graph.op_library import OP_DEFS
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.tensorflow_import.left_out import refusal_at_call
from gpugraph.tensorflow_import.module_rows.imported_modules import imported_module
from gpugraph.tensorflow_import.module_table import ROWS, TREES
from gpugraph.tensorflow_import.module_table_of_libraries import ESTIMATOR, FURTHER_MODULES
from gpugraph.tensorflow_import.modules_by_name import module_named
from gpugraph.tensorflow_import.refused_names import reason_of, refused
from gpugraph.tensorflow_import.version_2_parameters import version_2

_PACKAGE = __name__.partition(".")[0]
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])")


_ABSENT = object()

_ABBREVIATIONS = {
    "internals": f"{__package__}.internals",
    "learned": f"{__package__}.contrib_learn",
    "contrib": f"{_PACKAGE}.library.contrib",
    "names": f"{__package__}.contrib_names",
    "private": f"{__package__}.private_functions",
    "rnn": f"{_PACKAGE}.library.contrib_rnn",
    "repeated": f"{_PACKAGE}.library.train.repeated_evaluation",
}
"""By the first name of a target in the table, the path that it abbreviates."""

VERSION_2 = "compat.v2"
"""The path of the module whose names are those of TensorFlow 2."""


class ModulePath(NamedTuple):
    """The result of a look-up if the name is a module. It contains the module's path relative to
    `tensorflow`.
    """

    path: str


class _OpsByName:
    """An object whose attributes are the declared ops. Their names are in snake case, such as
    `mat_mul`.
    """

    def __getattr__(self, name: str) -> Any:
        types = _types_by_name(
            len(OP_DEFS)
        )  # The number of ops is the key of a cache: it grows when a program declares ops.
        type_name = types.get(name) or types.get(name.removeprefix("_"))  # `_mat_mul` before 1.5
        if type_name is None:
            raise AttributeError(name)
        return getattr(raw_ops, type_name)

    def __dir__(self) -> list[str]:
        return sorted(_types_by_name(len(OP_DEFS)))


@functools.lru_cache(maxsize=1)
def _types_by_name(count: int) -> dict[str, str]:
    del count
    return {_WORD.sub("_", op_type).lower(): op_type for op_type in dir(raw_ops)}


_OPS_BY_NAME = _OpsByName()


def canonical(path: str) -> str:
    """Return the public path of a TensorFlow module path. If a row of `TREES` contains a prefix of
    `path`, this prefix is replaced by the public module. For example, `compat.v1.nn` becomes `nn`.

    The path of the root is "". A path that has a separate row, such as `python.keras.engine`, is
    returned unchanged, even if it is below a tree.
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
    here = canonical(path)
    if here in module_paths() or library_module(here) is not None:
        return True
    return _below_version_2(here) and is_module(_in_version_1(here))


def find(path: str, name: str) -> Any:
    """Return the value of a name in a module. If the value is a module, return a ModulePath.

    If this package refuses the name, the value is a placeholder. Raises AttributeError if the name
    is missing.
    """
    here = canonical(path)
    if library_module(here) is not None:
        return _find_in_library(here, name)
    if _below_version_2(here):
        return _find_in_version_2(here, name)
    return _find(here, path, name)


@functools.cache
def library_module(path: str) -> str | None:
    """Return the module of an installed library that has the names of a module of TensorFlow."""
    for prefix, module in ESTIMATOR.items():
        if path == prefix or path.startswith(f"{prefix}."):
            name = module + path[len(prefix) :]
            return name if _is_installed(name) else None
    return None


@functools.cache
def _installed_libraries() -> tuple[str, ...]:
    """Return the paths of the modules whose names an installed library provides."""
    return tuple(path for path in ESTIMATOR if library_module(path) is not None)


def _is_installed(module: str) -> bool:
    """Return whether a module can be imported. The module and its package are not imported for
    this.
    """
    root, *rest = module.split(".")
    spec = PathFinder.find_spec(root)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = os.path.join(folder, *rest)
        if os.path.isdir(path) or os.path.isfile(f"{path}.py"):
            return True
    return False


def _find_in_library(path: str, name: str) -> Any:
    """Return the value of a name in a library's module. If the value is a module, return a
    ModulePath.

    If the import of the library fails, an ImportError is raised, so that the name is not reported
    as missing.
    """
    library = str(library_module(path))
    try:
        module = module_named(library)
    except AttributeError as error:
        raise ImportError(f"{library} cannot be imported: {error}", name=library) from error
    value = getattr(module, name, _ABSENT)
    if not isinstance(value, ModuleType) and value is not _ABSENT:
        return value
    if library_module(_joined(path, name)) is not None:
        return ModulePath(_joined(path, name))
    for further in FURTHER_MODULES.get(library, ()) if value is _ABSENT else ():
        value = getattr(module_named(further), name, _ABSENT) if value is _ABSENT else value
    if value is _ABSENT:
        raise AttributeError(name)
    return value


def _below_version_2(path: str) -> bool:
    """Return whether `path` is `tf.compat.v2` or a module below it."""
    return path == VERSION_2 or path.startswith(f"{VERSION_2}.")


def _in_version_1(path: str) -> str:
    """Return the path of the version 1 module that has the names of a version 2 module."""
    return path[len(VERSION_2) + 1 :]


def _find_in_version_2(path: str, name: str) -> Any:
    """Return the value of a name in `tf.compat.v2`. It is version 2's own value, or the value in
    version 1 with the parameters of version 2.
    """
    inner = _in_version_1(path)
    if _joined(path, name) in ROWS:
        return ModulePath(_joined(path, name))
    if path in ROWS or path in TENSORFLOW_PATHS:
        with suppress(AttributeError):
            value = _find(path, path, name)
            if not reason_of(value) and not isinstance(value, ModulePath):
                return value
        if not is_module(inner):
            return _refused(name, _joined(path, name))
    try:
        value = find(inner, name)
    except AttributeError:
        return _refused(name, _joined(path, name))
    if isinstance(value, ModulePath):
        return ModulePath(_joined(path, name))
    return version_2(_joined(inner, name), value)


def _find(here: str, path: str, name: str) -> Any:
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
    try:
        return _refused(name, _joined(here, name), _joined(path, name))
    except AttributeError:
        imported = imported_module(here, name)
        if imported is None:
            raise
        return ModulePath(imported)


def _refused(name: str, *paths: str) -> Any:
    """Return the placeholder for the first refused path. Raises AttributeError if no path is
    refused.
    """
    for path in () if name.startswith("__") else paths:
        if reason := refusal_at_call(path):
            return refused(path, reason)
    raise AttributeError(name)


@functools.cache
def _public_paths() -> dict[str, str]:
    return {f"{_PACKAGE}.{module_path}": path for path, module_path in TENSORFLOW_PATHS.items()}


def names(path: str) -> list[str]:
    """Return a sorted list of the public names in a module, including its submodules."""
    here = canonical(path)
    if (library := library_module(here)) is not None:
        return [name for name in dir(module_named(library)) if not name.startswith("_")]
    inner = names(_in_version_1(here)) if _below_version_2(here) else ()
    known = set(inner) | set(ROWS[here].names) if here in ROWS else set()
    below = f"{here}." if here else ""
    known |= {
        other[len(below) :].partition(".")[0]
        for other in (*module_paths(), *TREES, *_installed_libraries())
        if other != here and other.startswith(below)
    }
    known |= PUBLIC_MESSAGES.get(here, frozenset())
    for source in sources(here):
        known |= {
            name
            for name in dir(source)
            if not name.startswith("_") and not isinstance(getattr(source, name), ModuleType)
        }
    return sorted(known - {""})


def sources(path: str) -> Iterator[Any]:
    """Yield the objects whose attributes are a module's names.

    Args:
      path: the module's path as returned by `canonical`.
    """
    if path in ROWS:
        yield from map(target, ROWS[path].sources)
    if path == "":
        yield sys.modules[_PACKAGE]
    elif path in TENSORFLOW_PATHS:
        yield public_module(path)


def target(text: str) -> Any:
    """Return the value that a target in the table names. `module_table` describes targets.

    Raises an error if there is no such value.
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
    if root in _ABBREVIATIONS:
        return pkgutil.resolve_name(_ABBREVIATIONS[root] + text[len(root) :])
    return pkgutil.resolve_name(text)


def _attribute(value: Any, path: str) -> Any:
    for name in filter(None, path.split(".")):
        value = getattr(value, name)
    return value
