"""The default graph and the default session: each thread has a stack of graphs and a stack of
sessions.

Each thread has its own global default graph at the bottom of its graph stack. `reset_default_graph`
replaces the thread's global default graph. To share a graph, each thread must enter
`graph.as_default()`.

For this module, a session is any object with `run` and `graph`. `Tensor.eval` can therefore run a
session without importing the session package.
"""

from __future__ import annotations

import threading
from contextlib import ContextDecorator
from typing import Any


class DefaultStack(threading.local):
    """A per-thread stack of defaults. The default that was entered last must be exited first."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.stack: list[Any] = []

    def top(self) -> Any:
        """Return the innermost default of this thread, or None."""
        return self.stack[-1] if self.stack else None

    def using(self, default: Any) -> DefaultBlock:
        """Return a context manager that makes `default` the thread's default.

        The exit of the context manager raises AssertionError if a default that was entered later is
        still active.
        """
        return DefaultBlock(self, default)

    def remove(self, default: Any) -> None:
        """Remove `default`. Raises AssertionError unless `default` is the innermost default."""
        if not self.stack:
            return  # the stack was reset inside the block
        if self.stack[-1] is not default:
            raise AssertionError(f"Nesting violated for default stack of {self.kind} objects")
        self.stack.pop()


class DefaultBlock(ContextDecorator):
    """A `with` block inside which an object is the thread's default."""

    def __init__(self, stack: DefaultStack, default: Any) -> None:
        self._stack = stack
        self._default = default

    def __enter__(self) -> Any:
        self._stack.stack.append(self._default)
        return self._default

    def __exit__(self, *error: Any) -> None:
        self._stack.remove(self._default)


class _GraphStack(DefaultStack):
    """The stack of default graphs.

    At its bottom is the thread's global default graph, which is None before its first use.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.bottom: Any = None

    def top(self) -> Any:
        """Return the innermost default of this thread, or the thread's global default graph."""
        return self.stack[-1] if self.stack else self.bottom

    def reset(self) -> None:
        """Drop the global default graph. Raises AssertionError inside `with graph.as_default()`."""
        if self.stack:
            raise AssertionError(
                "Do not use tf.reset_default_graph() to clear nested graphs. Leave the "
                "`with graph.as_default():` block first, or make a new tf.Graph()."
            )
        self.bottom = None


graph_stack = _GraphStack("<class 'gpugraph.Graph'>")
TRACED: list[Any] = []
"""The graphs of functions that any thread is tracing; almost always empty."""


def traced_graph(graph: Any) -> Any:
    """Return the graph in which to create an op on tensors of `graph`.

    If the thread's default graph is the graph of a function inside `graph`, return the default
    graph. Otherwise return `graph`.
    """
    default = outer = graph_stack.top()
    while outer is not None and outer is not graph:
        outer = getattr(outer, "outer_graph", None)
    return graph if outer is None else default


session_stack = DefaultStack("<class 'gpugraph.Session'>")


def session_for(graph: Any, session: Any, purpose: str) -> Any:
    """Return `session`, or the default session if `session` is None.

    Raises ValueError if there is no session, or if the session has another graph than `graph`.

    Args:
      purpose: the purpose that the error message states, such as "evaluate tensor using `eval()`".
    """
    if session is not None:
        if session.graph is not graph:
            raise ValueError(
                f"Cannot use the given session to {purpose}: its graph is not the graph that this "
                "was made in."
            )
        return session
    default = session_stack.top()
    if default is None:
        raise ValueError(
            f"Cannot {purpose}: No default session is registered. Use `with "
            "sess.as_default()` or pass an explicit session."
        )
    if default.graph is not graph:
        raise ValueError(
            f"Cannot use the default session to {purpose}: the tensor's graph is different from "
            "the session's graph. Pass an explicit session that runs it."
        )
    return default
