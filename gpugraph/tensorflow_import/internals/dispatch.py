"""`tensorflow.python.util.dispatch`: functions that other types of arguments can take over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.building.compatibility.deprecation_decorators import (
    unchanged as add_dispatch_list,  # noqa: F401
    unchanged as add_dispatch_support,  # noqa: F401
)


class OpDispatcher:
    """Base class of handlers of one function's calls; none is called here."""

    NOT_SUPPORTED = object()

    def handle(self, args: Any, kwargs: Any) -> Any:
        """Return NOT_SUPPORTED."""
        return self.NOT_SUPPORTED

    def register(self, op: Callable[..., Any]) -> None:
        """Accept a function."""


def dispatch(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Return NOT_SUPPORTED: there are no handlers."""
    return OpDispatcher.NOT_SUPPORTED


def dispatch_for_types(op: Any, *types: type) -> Callable[[Any], Any]:
    """Return a decorator that returns its function."""
    return lambda function: function
