"""Inspection of Python functions through the functions of TensorFlow's `tf_inspect` and
`function_utils`.
"""

from __future__ import annotations

import functools
import inspect
from collections import namedtuple
from typing import Any

ArgSpec = namedtuple("ArgSpec", ["args", "varargs", "keywords", "defaults"])
"""The result type of `inspect.getargspec` of older Pythons."""


def getfullargspec(obj: Any) -> inspect.FullArgSpec:
    """Return the result of `inspect.getfullargspec` for a function. For a decorated function,
    inspect the function that it wraps (`__wrapped__`).

    The result has no annotations. Programs compare results, and functions of TensorFlow 1 have no
    annotations.
    """
    spec = inspect.getfullargspec(inspect.unwrap(obj) if callable(obj) else obj)
    return spec._replace(annotations={})


def getargspec(obj: Any) -> ArgSpec:
    """Return the arguments of a function, method or class. For a `partial`, return the arguments of
    the function that it calls.

    Raises ValueError for keyword-only arguments, as Python's former function of this name did.
    """
    function = obj.func if isinstance(obj, functools.partial) else obj
    if inspect.isclass(function):
        function = function.__init__
    spec = getfullargspec(function)
    if spec.kwonlyargs:
        raise ValueError("Function has keyword-only parameters: use getfullargspec")
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


def fn_args(fn: Any) -> tuple[str, ...]:
    """Return the names of the parameters that a caller of `fn` can set.

    These exclude the `self` of a bound method, keywords that a `partial` sets, `*args` and
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
    """Return the name of a function. For a `partial`, return the name of its function. For any
    other object, return its type as text.
    """
    if isinstance(func, functools.partial):
        return get_func_name(func.func)
    return getattr(inspect.unwrap(func), "__name__", None) or str(type(func))


def get_func_code(func: Any) -> Any:
    """Return the code object of a function. If the function has no code object, return None."""
    return getattr(inspect.unwrap(func), "__code__", None)
