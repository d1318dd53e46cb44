"""Functions that tell programs whether they run in eager mode or graph mode, which here is always
graph mode.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NoReturn

from gpugraph.building.compatibility.tensorflow_versions import enable_eager_execution

GRAPH_MODE = 0
EAGER_MODE = 1


class Context:
    """The result of `context.context()`: the execution mode, which is graph mode."""

    def executing_eagerly(self) -> bool:
        """Return False: operations are built into a graph."""
        return False

    in_eager_mode = executing_eagerly

    def in_graph_mode(self) -> bool:
        """Return True: operations are built into a graph."""
        return True


_CONTEXT = Context()
executing_eagerly = in_eager_mode = _CONTEXT.executing_eagerly
in_graph_mode = _CONTEXT.in_graph_mode


def context() -> Context:
    """Return the `Context` that all callers share."""
    return _CONTEXT


@contextlib.contextmanager
def graph_mode() -> Iterator[None]:
    """Do nothing inside the `with` block, since operations are always built into a graph."""
    yield


def eager_mode() -> NoReturn:
    """Raise NotImplementedError: operations are built into a graph, and run by a session."""
    enable_eager_execution()
