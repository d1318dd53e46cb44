"""Rules for the functions that AutoGraph calls without converting them."""

from __future__ import annotations

import functools
import inspect
import sys
import unittest
from typing import Any

_UNCONVERTED = frozenset(
    [
        "collections",
        "copy",
        "cProfile",
        "inspect",
        "ipdb",
        "linecache",
        "mock",
        "pathlib",
        "pdb",
        "posixpath",
        "pstats",
        "re",
        "threading",
        "numpy",
        "tensorflow",
        "tensorflow_probability",
        "gpugraph",
        "malt",
        "functools",
        "contextlib",
        "importlib",
        "logging",
    ]
)
"""Modules whose functions, and the functions of modules below them, are not converted."""

_ARTIFACT = "autograph_info__"


def as_artifact(function: Any) -> Any:
    """Mark a function as one that needs no conversion, and return it."""
    target = function.__func__ if inspect.ismethod(function) else function
    setattr(target, _ARTIFACT, None)
    return function


def is_artifact(function: Any) -> bool:
    """Return whether a function needs no conversion, because a conversion created the function, or
    because the user excluded the function from conversion.
    """
    return hasattr(function, _ARTIFACT)


def is_unsupported(function: Any) -> bool:
    """Return whether a callable is of a kind that is never converted: a class, an `lru_cache`, or a
    `wrapt` wrapper.
    """
    if inspect.isclass(function):
        return True
    if isinstance(function, functools._lru_cache_wrapper):
        return True
    wrapt: Any = sys.modules.get("wrapt")
    return wrapt is not None and isinstance(
        function, (wrapt.FunctionWrapper, wrapt.BoundFunctionWrapper)
    )


def is_allowed(function: Any) -> bool:
    """Return whether AutoGraph calls a function without converting it, unless the user requests its
    conversion.
    """
    called = getattr(function, "__func__", function)
    if not inspect.isroutine(called):  # an object with __call__
        called = type(function).__call__ if callable(function) else function
    module = getattr(called, "__module__", None) or ""
    if module.partition(".")[0] in _UNCONVERTED or module.startswith("tensorflow_datasets.core"):
        return True
    if hasattr(called, "__code__") and inspect.isgeneratorfunction(called):
        return True
    owner = getattr(function, "__self__", None)
    return isinstance(owner, unittest.TestCase)
