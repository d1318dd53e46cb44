"""What an op says of inputs that it refuses, while a graph is built and in a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.errors import InvalidArgumentError, OpError


class Misfit(ValueError):
    """Inputs or attrs that don't fit an op, in TensorFlow's words of each place that says so.

    Args:
      message: what Python's own checks say, and the others unless they have words of their own.
      in_run: what a run says, where it is not what the building of a graph says.
      shapes: those of the first outputs while the graph is built, where only the run refuses
        (those of the others are unknown); None: both refuse.
      error_class: that of the run's error.
      in_graph: what is said of an operation that is being made.
      detail: which input it is about, behind what TensorFlow says.
    """

    def __init__(
        self,
        message: str,
        in_run: str = "",
        shapes: Any = None,
        error_class: Callable[[Any, Any, str], OpError] = InvalidArgumentError,
        in_graph: str = "",
        detail: str = "",
    ) -> None:
        super().__init__(f"{message}: {detail}" if detail else message)
        self.in_graph = in_graph or message
        self.in_run = in_run or (str(self) if shapes is not None else "")
        self.shapes = shapes
        self.behind = f" ({detail})" if detail else ""
        self.error_class = error_class
