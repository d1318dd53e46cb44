"""The names that a program used and gpugraph does not have, with the lines that used them and with
similar names.
"""

from __future__ import annotations

import difflib
import functools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from gpugraph.tensorflow_import.left_out import instead_of
from gpugraph.tensorflow_import.libraries.installed_libraries import library_of
from gpugraph.tensorflow_import.old_keras.module_table_of_keras import KERAS
from gpugraph.tensorflow_import.tensorflow_names import (
    ModulePath,
    canonical,
    find,
    module_paths,
    names,
)

_OURS = (str(Path(__file__).resolve().parent) + os.sep, "<frozen importlib")
_NOT_NAMES_OF_TENSORFLOW = ("typing", "collections", "__future__", "abc", "contextlib")
_NOT_SUGGESTED = ("python", "core", "test.mock", KERAS)


class MissingName(NamedTuple):
    """A missing name (relative to `tensorflow`), and the program's line that used it."""

    path: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{shown(self.path)}  {self.place}{advice(self.path)}"

    @property
    def place(self) -> str:
        """A text with the file and the line that used the name. If the file belongs to an installed
        library, the text starts with the library's name and version.
        """
        library = library_of(self.file)
        return f"{library and f'{library}, '}{self.file}:{self.line}"

    @staticmethod
    def here(path: str) -> MissingName:
        """Return the name with the innermost line of the stack that is outside this package."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
            frame = frame.f_back
        return MissingName(path, frame.f_code.co_filename, frame.f_lineno)


class MissingNames:
    """The missing names that a program used, in order of use.

    The finder that imports `tensorflow` calls `add` for each of them.
    """

    def __init__(self) -> None:
        self._names: dict[MissingName, None] = {}

    def add(self, path: str) -> None:
        """Record `tensorflow.<path>` as missing, with the innermost line of the stack that is
        outside this package.
        """
        self._names[MissingName.here(path)] = None

    def __iter__(self) -> Iterator[MissingName]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __str__(self) -> str:
        return "\n".join(map(str, self))


def shown(path: str) -> str:
    """Return a name in the spelling of programs. It is `tf.x`, the full path
    `tensorflow.python.x` for private modules, or `keras.x`.
    """
    if path == KERAS or path.startswith(f"{KERAS}."):
        return path.replace(KERAS, "keras", 1)
    return f"{'tensorflow' if path.startswith(('python.', 'core.')) else 'tf'}.{path}"


def advice(path: str) -> str:
    """Return a text that is appended to a message about a missing name. It consists of "; " and a
    replacement or similar names.

    The text is "" if there are neither replacements nor similar names.
    """
    if instead := instead_of(path) or instead_of(canonical(path)):
        return f"; {instead}"
    near = nearest(path)
    return f"; nearest: {', '.join(near)}" if near else ""


def nearest(path: str, count: int = 3) -> list[str]:
    """Return at most `count` public names that are similar to `tensorflow.<path>`. The most similar
    name is the first.

    Equal names in other modules precede names with a similar spelling.
    """
    path = canonical(path)
    module, _, name = path.rpartition(".")
    elsewhere = _modules_by_name().get(name, [])
    same = [f"{other}.{name}" if other else name for other in elsewhere if other != module]
    here = _public_names(module) if module in module_paths() else []
    similar = [
        f"{module}.{n}" if module else n for n in difflib.get_close_matches(name, here, cutoff=0.7)
    ]
    if not (same or similar):
        similar = [
            f"{other}.{n}" if other else n
            for n in difflib.get_close_matches(name, list(_modules_by_name()), cutoff=0.75)
            for other in _modules_by_name()[n][:1]
        ]
    near = [other for other in dict.fromkeys([*same, *similar]) if other != path]
    return [shown(other) for other in near][:count]


def _public_names(module: str) -> list[str]:
    """Return the names of values in a module. Names that its source imports from Python's library
    are omitted.
    """
    return [name for name in names(module) if _is_public(find(module, name))]


def _is_public(value: Any) -> bool:
    origin = str(getattr(value, "__module__", None) or type(value).__module__)
    is_foreign = origin.partition(".")[0] in _NOT_NAMES_OF_TENSORFLOW
    return not is_foreign and not isinstance(value, ModulePath | ModuleType)


@functools.cache
def _modules_by_name() -> dict[str, list[str]]:
    """Return the paths of public modules, grouped by the module's last name.

    In each group, the root is first, followed by short paths. Modules of `contrib` are last.
    """
    modules: dict[str, list[str]] = {}

    def rank(path: str) -> tuple[bool, int, int]:
        return path.startswith("contrib"), path.count("."), len(path)

    for module in sorted(module_paths(), key=rank):
        if not module.startswith(_NOT_SUGGESTED) and ".python." not in module:
            for name in _public_names(module):
                modules.setdefault(name, []).append(module)
    return modules
