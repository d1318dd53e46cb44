"""`tensorflow.python.util.dispatch`. In TensorFlow, a handler replaces a function if the function
does not support the type of an argument. In this package, handlers are never called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.building.compatibility.deprecation_decorators import (
    unchanged as add_dispatch_list,  # noqa: F401
    unchanged as add_dispatch_support,  # noqa: F401
)


class OpDispatcher:
    """Base class of the handlers of a function. This package never calls a handler."""

    NOT_SUPPORTED = object()

    def handle(self, args: Any, kwargs: Any) -> Any:
        """Return NOT_SUPPORTED."""
        return self.NOT_SUPPORTED

    def register(self, op: Callable[..., Any]) -> None:
        """Accept a function, and ignore it."""


def dispatch(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Return NOT_SUPPORTED, because there are no handlers."""
    return OpDispatcher.NOT_SUPPORTED


def dispatch_for_types(op: Any, *types: type) -> Callable[[Any], Any]:
    """Return a decorator that returns its function unchanged."""
    return lambda function: function
