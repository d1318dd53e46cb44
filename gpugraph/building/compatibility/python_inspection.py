"""What programs ask about Python's functions by TensorFlow's `tf_inspect` and `function_utils`."""

from __future__ import annotations

import functools
import inspect
from collections import namedtuple
from typing import Any

ArgSpec = namedtuple("ArgSpec", ["args", "varargs", "keywords", "defaults"])
"""What older Python's `inspect.getargspec` gave."""


def getfullargspec(obj: Any) -> inspect.FullArgSpec:
    """As `inspect.getfullargspec`, of what a wrapper wraps."""
    return inspect.getfullargspec(inspect.unwrap(obj) if callable(obj) else obj)


def getargspec(obj: Any) -> ArgSpec:
    """The arguments of a function, method or class; of a `partial`, those of its function.

    ValueError for arguments by keyword alone, as in older Python.
    """
    function = obj.func if isinstance(obj, functools.partial) else obj
    if inspect.isclass(function):
        function = function.__init__
    spec = getfullargspec(function)
    if spec.kwonlyargs:
        raise ValueError("Function has keyword-only parameters: use getfullargspec")
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


def fn_args(fn: Any) -> tuple[str, ...]:
    """The names of the arguments that a call can give: without `self`, and without those bound."""
    return tuple(
        name
        for name, parameter in inspect.signature(fn).parameters.items()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        and not (isinstance(fn, functools.partial) and name in fn.keywords)
    )


def has_kwargs(fn: Any) -> bool:
    """Whether a function takes `**kwargs`. TypeError for what can't be called."""
    if not callable(fn):
        raise TypeError(f"fn should be a function-like object, but is of type {type(fn)}.")
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(fn).parameters.values())


def get_func_name(func: Any) -> str:
    """The name of a function, also of a `partial` and of an object that can be called."""
    if isinstance(func, functools.partial):
        return get_func_name(func.func)
    return getattr(inspect.unwrap(func), "__name__", None) or str(type(func))


def get_func_code(func: Any) -> Any:
    """The code of a function; None where it has none."""
    return getattr(inspect.unwrap(func), "__code__", None)
