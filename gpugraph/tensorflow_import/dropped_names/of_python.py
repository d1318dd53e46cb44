"""Functions that Python's standard library has removed."""

from __future__ import annotations

import functools
import html
import importlib
import importlib.machinery
import importlib.util
import inspect
import os
import sys
import types
import unittest
from collections import namedtuple
from collections.abc import Callable
from typing import Any

ArgSpec = namedtuple("ArgSpec", "args varargs keywords defaults")
STRING_TYPES = (str,)
PY_SOURCE, C_EXTENSION, PKG_DIRECTORY = 1, 3, 5


def getargspec(func: Callable[..., Any]) -> ArgSpec:
    """Return the positional parameters of a function, as a tuple (args, varargs, keywords,
    defaults).
    """
    spec = inspect.getfullargspec(func)
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


def formatargspec(*arguments: Any, **options: Any) -> str:
    """Return the result of `getargspec` as text in parentheses."""
    args, varargs, varkw, defaults = (*arguments, None, None, None, None)[:4]
    shown = list(args or [])
    for place, value in enumerate(reversed(defaults or ()), 1):
        shown[-place] = f"{shown[-place]}={value!r}"
    shown += [f"*{varargs}"] if varargs else []
    shown += [f"**{varkw}"] if varkw else []
    return f"({', '.join(shown)})"


def getmoduleinfo(path: str) -> tuple[str, str, str, int] | None:
    """Return (name, suffix, mode, kind) for a file that is a module, or None for any other file."""
    name, suffix = os.path.splitext(os.path.basename(path))
    return (name, suffix, "r", PY_SOURCE) if suffix == ".py" else None


def coroutine(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a version of a generator function that is a coroutine function."""
    if inspect.iscoroutinefunction(function):
        return function

    @functools.wraps(function)
    @types.coroutine
    def run(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return (yield from result) if inspect.isgenerator(result) else result

    return run


def do_nothing(*arguments: Any, **options: Any) -> None:
    """Accept any arguments and do nothing."""


def readfp(parser: Any, fp: Any, filename: str | None = None) -> None:
    """Read settings from an open file."""
    parser.read_file(fp, filename)


def unescape(parser: Any, text: str) -> str:
    """Replace the character references of HTML."""
    return html.unescape(text)


def is_sequence(value: Any) -> bool:
    """Return whether a value is a sequence."""
    return hasattr(value, "__getitem__")


def string_join(words: Any, separator: str = " ") -> str:
    """Return the words joined by a separator."""
    return separator.join(words)


def array_tostring(array: Any) -> bytes:
    """Return the bytes of an array."""
    return array.tobytes()


def array_fromstring(array: Any, text: bytes) -> None:
    """Append items from bytes."""
    array.frombytes(text)


def linux_distribution(*arguments: Any, **options: Any) -> tuple[str, str, str]:
    """Return the (name, version, code name) of the operating system, as in its file
    `os-release`.
    """
    try:
        with open("/etc/os-release", encoding="utf-8") as file:
            pairs = dict(line.strip().split("=", 1) for line in file if "=" in line)
    except OSError:
        return "", "", ""
    keys = ("NAME", "VERSION_ID", "VERSION_CODENAME")
    name, version, code = (pairs.get(key, "").strip('"') for key in keys)
    return name, version, code


def element_iter(element: Any, tag: str | None = None) -> list[Any]:
    """Return a list of the elements with this tag below an element."""
    return list(element.iter(tag))


def assert_dict_contains_subset(
    case: unittest.TestCase, expected: Any, actual: Any, msg: Any = None
) -> None:
    """Fail unless `actual` has all items of the dict `expected`."""
    case.assertEqual({**actual, **expected}, dict(actual), msg)


def make_suite(test_case: Any, *arguments: Any, **options: Any) -> unittest.TestSuite:
    """Return a suite of the tests in a class."""
    return unittest.defaultTestLoader.loadTestsFromTestCase(test_case)


def find_loader(name: str, path: Any = None) -> Any:
    """Return the loader of a module, or None."""
    spec = importlib.util.find_spec(name)
    return spec.loader if spec else None


class ImpImporter:
    """A finder that finds nothing. Some packages refer to this class when they are imported."""

    def __init__(self, path: Any = None) -> None:
        self.path = path

    def find_module(self, fullname: str, path: Any = None) -> None:
        """Return None."""


# -- imp


def load_source(name: str, path: str, file: Any = None) -> types.ModuleType:
    """Import a file as the module `name`."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file", name=name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def find_module(name: str, path: Any = None) -> tuple[Any, str, tuple[str, str, int]]:
    """Return (open file, path, (suffix, mode, kind)) for a module. Raises ImportError if the module
    is missing.
    """
    spec = importlib.machinery.PathFinder.find_spec(name, path)
    if spec is None or (spec.origin is None and not spec.submodule_search_locations):
        raise ImportError(f"No module named {name!r}", name=name)
    if spec.submodule_search_locations:
        return None, next(iter(spec.submodule_search_locations)), ("", "", PKG_DIRECTORY)
    origin = str(spec.origin)
    suffix = os.path.splitext(origin)[1]
    kind = PY_SOURCE if suffix == ".py" else C_EXTENSION
    return open(origin, "rb"), origin, (suffix, "r", kind)  # as `imp` did


def load_module(name: str, file: Any, filename: str, details: Any) -> types.ModuleType:
    """Import the module that `find_module` has found."""
    if details[2] == PKG_DIRECTORY:
        filename = os.path.join(filename, "__init__.py")
    return load_source(name, filename)


def get_suffixes() -> list[tuple[str, str, int]]:
    """Return the suffixes of module files, each with its mode and kind."""
    return [(suffix, "r", PY_SOURCE) for suffix in importlib.machinery.SOURCE_SUFFIXES]
