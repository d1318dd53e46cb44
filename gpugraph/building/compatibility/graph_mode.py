"""What programs ask that are to run with eager execution too: here there are graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NoReturn

from gpugraph.building.compatibility.tensorflow_versions import enable_eager_execution

GRAPH_MODE = 0
EAGER_MODE = 1


class Context:
    """What `context.context()` gives: the mode, which is that of graphs."""

    def executing_eagerly(self) -> bool:
        """False: operations are built into a graph."""
        return False

    in_eager_mode = executing_eagerly

    def in_graph_mode(self) -> bool:
        """True: operations are built into a graph."""
        return True


_CONTEXT = Context()
executing_eagerly = in_eager_mode = _CONTEXT.executing_eagerly
in_graph_mode = _CONTEXT.in_graph_mode


def context() -> Context:
    """The context, of which there is one."""
    return _CONTEXT


@contextlib.contextmanager
def graph_mode() -> Iterator[None]:
    """Within it operations are built into a graph, as everywhere."""
    yield


def eager_mode() -> NoReturn:
    """NotImplementedError: operations are built into a graph, and run by a session."""
    enable_eager_execution()
