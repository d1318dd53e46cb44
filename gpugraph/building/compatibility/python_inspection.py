"""Inspection of Python functions, as TensorFlow's `tf_inspect` and `function_utils` offer it."""

from __future__ import annotations

import functools
import inspect
from collections import namedtuple
from typing import Any

ArgSpec = namedtuple("ArgSpec", ["args", "varargs", "keywords", "defaults"])
"""The result type of `inspect.getargspec` of older Pythons."""


def getfullargspec(obj: Any) -> inspect.FullArgSpec:
    """Do as `inspect.getfullargspec`, for the function that decorators wrap (`__wrapped__`).

    There are no annotations: functions of TensorFlow 1 have none, and programs compare the results.
    """
    spec = inspect.getfullargspec(inspect.unwrap(obj) if callable(obj) else obj)
    return spec._replace(annotations={})


def getargspec(obj: Any) -> ArgSpec:
    """Return the arguments of a function, method or class. For a `partial`, return those of its
    function.

    Raises ValueError for keyword-only arguments, as in older Python.
    """
    function = obj.func if isinstance(obj, functools.partial) else obj
    if inspect.isclass(function):
        function = function.__init__
    spec = getfullargspec(function)
    if spec.kwonlyargs:
        raise ValueError("Function has keyword-only parameters: use getfullargspec")
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


def fn_args(fn: Any) -> tuple[str, ...]:
    """Return the names of the parameters that a call of `fn` can set.

    These exclude the `self` of a bound method, keywords that a `partial` binds, `*args` and
    `**kwargs`.
    """
    return tuple(
        name
        for name, parameter in inspect.signature(fn).parameters.items()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        and not (isinstance(fn, functools.partial) and name in fn.keywords)
    )


def has_kwargs(fn: Any) -> bool:
    """Return whether a function takes `**kwargs`. Raises TypeError if `fn` is not callable."""
    if not callable(fn):
        raise TypeError(f"fn should be a function-like object, but is of type {type(fn)}.")
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(fn).parameters.values())


def get_func_name(func: Any) -> str:
    """Return the name of a function. For a `partial`, return the name of its function; for other
    objects, their type as text.
    """
    if isinstance(func, functools.partial):
        return get_func_name(func.func)
    return getattr(inspect.unwrap(func), "__name__", None) or str(type(func))


def get_func_code(func: Any) -> Any:
    """Return the code object of a function. If the function has no code object, return None."""
    return getattr(inspect.unwrap(func), "__code__", None)
