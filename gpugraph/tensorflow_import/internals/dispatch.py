"""`tensorflow.python.util.dispatch`: in TensorFlow, handlers can take over calls with other
argument types. Here they are never called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.building.compatibility.deprecation_decorators import (
    unchanged as add_dispatch_list,  # noqa: F401
    unchanged as add_dispatch_support,  # noqa: F401
)


class OpDispatcher:
    """Base class of handlers of calls of a function. This package never calls a handler."""

    NOT_SUPPORTED = object()

    def handle(self, args: Any, kwargs: Any) -> Any:
        """Return NOT_SUPPORTED."""
        return self.NOT_SUPPORTED

    def register(self, op: Callable[..., Any]) -> None:
        """Accept a function, and ignore it."""


def dispatch(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Return NOT_SUPPORTED: there are no handlers."""
    return OpDispatcher.NOT_SUPPORTED


def dispatch_for_types(op: Any, *types: type) -> Callable[[Any], Any]:
    """Return a decorator that returns its function unchanged."""
    return lambda function: function
