"""Decorators that programs import from `tensorflow.python.util`, which TensorFlow keeps private.

The deprecation decorators warn once per function, through `tf.logging`. `tf_export` and similar
decorators have no effect.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from gpugraph.platform import logging

_Function = TypeVar("_Function", bound=Callable[..., Any])
_silent = [0]


def _check(date: str | None, instructions: str) -> None:
    if date is not None and not re.match(r"20\d\d-[01]\d-[0123]\d", date):
        raise ValueError("Date must be YYYY-MM-DD.")
    if not instructions:
        raise ValueError("Don't deprecate things without conversion instructions!")


def _warn(text: str, date: str | None, instructions: str) -> None:
    if not _silent[0]:
        when = "in a future version" if date is None else f"after {date}"
        logging.warning("%s is deprecated and will be removed %s. %s", text, when, instructions)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Suppress deprecation warnings inside the `with` block."""
    _silent[0] += 1
    try:
        yield
    finally:
        _silent[0] -= 1


def _warning(
    function: _Function, is_deprecated: Callable[[dict[str, Any]], str], once: bool, *text: Any
) -> _Function:
    """Wrap a function so that a deprecated call logs a warning.

    Args:
      is_deprecated: receives the arguments by name, and returns a description of the deprecated
        use, or "" if nothing is deprecated.
      once: whether the wrapper logs each description only once.
      text: the date of removal and the instructions, for `_warn`.
    """
    warned: set[str] = set()
    signature = inspect.signature(function)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            arguments = signature.bind_partial(*args, **kwargs).arguments
        except TypeError:
            arguments = {}  # the call itself raises the error
        what = is_deprecated(arguments)
        if what and not (once and what in warned):
            warned.add(what)
            _warn(f"{function.__qualname__}{what.strip()}", *text)
        return function(*args, **kwargs)

    return wrapper  # type: ignore[return-value]


def deprecated(
    date: str | None, instructions: str, warn_once: bool = True
) -> Callable[[_Function], _Function]:
    """Return a decorator that logs a warning when the function is called.

    Raises ValueError if `date` is not of the form YYYY-MM-DD.

    Args:
      date: the day after which the function is to be removed, or None.
      instructions: text for the message that tells users which replacement to use.
    """
    _check(date, instructions)
    return lambda function: _warning(function, lambda _: " ", warn_once, date, instructions)


def deprecated_args(
    date: str | None, instructions: str, *deprecated_arg_names_or_tuples: Any, **kwargs: Any
) -> Callable[[_Function], _Function]:
    """Return a decorator that logs a warning if one of the named arguments is passed.

    For a pair `(name, value)`, passing `value` as the argument `name` logs no warning.
    """
    _check(date, instructions)
    once = kwargs.pop("warn_once", True)
    unknown = {
        (pair if isinstance(pair, str) else pair[0]): (pair if isinstance(pair, tuple) else None)
        for pair in deprecated_arg_names_or_tuples
    }

    def what(arguments: dict[str, Any]) -> str:
        for name, pair in unknown.items():
            if name in arguments and not (pair and pair[1:] == (arguments[name],)):
                return f": the argument '{name}'"
        return ""

    return lambda function: _warning(function, what, once, date, instructions)


def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: Any
) -> Callable[[_Function], _Function]:
    """Return a decorator that logs a warning if an argument has the value that `deprecated_kwargs`
    lists for it.
    """
    _check(date, instructions)

    def what(arguments: dict[str, Any]) -> str:
        for name, value in deprecated_kwargs.items():
            if name in arguments and _is_equal(arguments[name], value):
                return f": {name}={value!r}"
        return ""

    return lambda function: _warning(function, what, warn_once, date, instructions)


def _is_equal(given: Any, value: Any) -> bool:
    """Return whether an argument has a deprecated value. None is equal only to None."""
    if given is None or value is None:
        return given is value
    return bool(given == value)


def deprecated_alias(
    deprecated_name: str, name: str, func_or_class: Any, warn_once: bool = True
) -> Any:
    """Return a function, or a subclass of the class, that logs a warning when it is called.

    Args:
      deprecated_name: the old name, under which a program exports the result.
      name: the new name.
    """
    if inspect.isclass(func_or_class):
        init = deprecated(None, f"Use {name} instead.", warn_once)(func_or_class.__init__)
        return type(deprecated_name.rpartition(".")[2], (func_or_class,), {"__init__": init})
    return deprecated(None, f"Use {name} instead.", warn_once)(func_or_class)


def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """Return the argument that was passed under its new or its old name.

    Raises ValueError if both were passed.
    """
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old_value


def unchanged(*names: Any, **options: Any) -> Any:
    """Return the decorated function unchanged. If called with options, return a decorator that
    returns its function unchanged.

    This function replaces decorators that have no effect here, such as `@tf_export("nn.f")` and,
    without parentheses, `@should_use_result`.
    """
    del options
    if len(names) == 1 and callable(names[0]):
        return names[0]
    return lambda function: function


def keyword_args_only(func: _Function) -> _Function:
    """Wrap a function so that positional arguments raise ValueError."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise ValueError(f"Must use keyword args to call {func.__name__}.")
        return func(**kwargs)

    return wrapper  # type: ignore[return-value]


def make_decorator(
    target: Any,
    decorator_func: Any,
    decorator_name: str | None = None,
    decorator_doc: str = "",
    decorator_argspec: Any = None,
) -> Any:
    """Return `decorator_func` with the name, docstring and signature of `target`."""
    del decorator_name, decorator_doc, decorator_argspec
    return functools.update_wrapper(decorator_func, target)


def unwrap(maybe_tf_decorator: Any) -> tuple[list[Any], Any]:
    """Return two values: the wrappers around a function, outermost first, and the function
    itself.
    """
    wrappers = []
    while hasattr(maybe_tf_decorator, "__wrapped__"):
        wrappers.append(maybe_tf_decorator)
        maybe_tf_decorator = maybe_tf_decorator.__wrapped__
    return wrappers, maybe_tf_decorator


def make_all(module_name: str, doc_string_modules: Any = None) -> list[str]:
    """Return the names of a module that do not begin with an underscore."""
    del doc_string_modules
    return [name for name in vars(sys.modules[module_name]) if not name.startswith("_")]


def remove_undocumented(
    module_name: str, allowed_exception_list: Any = None, doc_string_modules: Any = None
) -> None:
    """Do nothing. TensorFlow's function deletes undocumented names from the module; here they
    remain.
    """
