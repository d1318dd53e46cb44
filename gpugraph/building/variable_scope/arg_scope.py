"""`arg_scope`: default arguments of functions inside a `with` block.

    with arg_scope([conv2d, fully_connected], weights_regularizer=l2_regularizer(1e-4)):
        with arg_scope([conv2d], padding="SAME") as defaults:
            net = conv2d(images, 64, [3, 3])            # keyword arguments of a call win
    with arg_scope(defaults):                           # all of them again
        ...

An `arg_scope` applies only to functions decorated with `add_arg_scope`. Each thread has its own
stack of scopes, which is empty at first, so that threads can build models concurrently. In
TensorFlow, all threads share one stack. If entering a scope fails, the scopes around it remain
unchanged.
"""

from __future__ import annotations

import functools
import inspect
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

Scope = dict[Any, dict[str, Any]]
"""The default arguments of functions: by the key of a function, its arguments by name."""

_F = TypeVar("_F", bound=Callable[..., Any])


class _Scopes(threading.local):
    """The scopes of a thread, innermost last. Each scope holds all arguments that apply inside it,
    including those from outer scopes.
    """

    def __init__(self) -> None:
        self.stack: list[Scope] = [{}]


_SCOPES = _Scopes()
_DECORATED: weakref.WeakKeyDictionary[Any, tuple[str, ...]] = weakref.WeakKeyDictionary()
"""By decorated function, the names of its arguments that have defaults."""


def arg_scope_func_key(op: Any) -> Any:
    """Return the key of the function `op` in a scope. The key is the function before it was
    decorated.
    """
    return getattr(op, "_key_op", op)


def current_arg_scope() -> Scope:
    """Return the arguments of the current scope, by the key of each function. Callers must not
    change the arguments.
    """
    return _SCOPES.stack[-1]


def has_arg_scope(func: Any) -> bool:
    """Return whether `func` was decorated with `add_arg_scope`."""
    try:
        return arg_scope_func_key(func) in _DECORATED
    except TypeError:  # an unhashable object was never decorated
        return False


def arg_scoped_arguments(func: Any) -> tuple[str, ...]:
    """Return the names of those arguments of a decorated function that have defaults.

    Raises ValueError if the function is not decorated.
    """
    _check_decorated(func)
    return _DECORATED[arg_scope_func_key(func)]


@contextmanager
def arg_scope(list_ops_or_scope: Any, **kwargs: Any) -> Iterator[Scope]:
    """Make `kwargs` the default arguments of these functions inside a `with` block.

    Yields the scope. Raises TypeError if the first argument is neither a list or tuple nor a scope.
    Raises ValueError if `kwargs` are passed with a scope, or if a function is not decorated with
    `add_arg_scope`. If a function does not have one of the arguments, or if the call also passes
    it by position, the call raises TypeError.

    Args:
      list_ops_or_scope: a list or tuple of functions, or a scope from `with arg_scope(...) as
        scope`. For functions, `kwargs` are added to the current arguments. A scope replaces all
        current arguments, so `{}` removes all of them.
    """
    entered = _entered(list_ops_or_scope, kwargs)
    stack = _SCOPES.stack
    stack.append(entered)
    try:
        yield entered
    finally:
        stack.pop()


def _entered(target: Any, arguments: Mapping[str, Any]) -> Scope:
    """Return a new scope.

    Args:
      target: a scope, which is copied; or a list of functions, for which `arguments` are added to a
        copy of the current scope.
    """
    if isinstance(target, dict):
        if arguments:
            raise ValueError(
                "A scope that is entered again holds its own arguments, so kwargs must be empty, "
                f"but they are: {', '.join(arguments)}. Enter it first, then arg_scope([...], ...)."
            )
        return _copy(target)
    if not isinstance(target, (list, tuple)):
        raise TypeError(
            "list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict), but it is "
            f"{target!r}"
        )
    scope = _copy(current_arg_scope())
    for op in target:
        _check_decorated(op)
        scope.setdefault(arg_scope_func_key(op), {}).update(arguments)
    return scope


def _copy(scope: Scope) -> Scope:
    return {key: dict(arguments) for key, arguments in scope.items()}


def _check_decorated(op: Any) -> None:
    if not has_arg_scope(op):
        name = getattr(op, "__qualname__", None) or repr(op)
        raise ValueError(
            f"{getattr(op, '__module__', '')}.{name} is not decorated with @add_arg_scope: it "
            "takes no arguments from an arg_scope"
        )


def add_arg_scope(func: _F) -> _F:
    """Decorate a function so that `arg_scope` applies to it. The function keeps its name and
    docstring.
    """
    key = arg_scope_func_key(func)
    parameters = _parameters(func)

    @functools.wraps(func)
    def func_with_args(*args: Any, **kwargs: Any) -> Any:
        scoped = current_arg_scope().get(key)
        return func(*args, **{**scoped, **kwargs}) if scoped else func(*args, **kwargs)

    if key not in _DECORATED:
        with_default = (
            parameter
            for parameter in parameters
            if parameter.default is not inspect.Parameter.empty
        )
        _DECORATED[key] = tuple(parameter.name for parameter in with_default)
    func_with_args._key_op = key  # type: ignore[attr-defined]
    return func_with_args  # type: ignore[return-value]


def _parameters(func: Callable[..., Any]) -> Iterable[inspect.Parameter]:
    """Return the parameters of `func`. If the parameters are unknown, return an empty list. The
    parameters of some functions written in C are unknown.
    """
    try:
        return list(inspect.signature(func).parameters.values())
    except ValueError:
        return []
