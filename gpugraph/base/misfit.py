"""What an op says of inputs that it refuses, while a graph is built and in a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.errors import InvalidArgumentError, OpError

INPUT_NAME = "<input 0>"
"""Stands for the name of an op's first input in the words of a run."""


class Misfit(ValueError):
    """Inputs or attrs that don't fit an op, in TensorFlow's words of each place that says so.

    Args:
      message: what Python's own checks say, and the others unless they have words of their own.
      in_run: what a run says, where it is not what the building of a graph says; `INPUT_NAME` in
        it stands for the first input.
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


class _Wording(str):
    """The message of a ValueError, with the words that shape inference and runs have for it."""

    in_graph: str
    in_run: str


def value_error(message: str, in_graph: str, in_run: str = "") -> ValueError:
    """A plain ValueError for programs that still holds the other words of a `Misfit`."""
    wording = _Wording(message)
    wording.in_graph, wording.in_run = in_graph, in_run
    return ValueError(wording)


def is_refusal(error: Exception) -> bool:
    """Whether it is a `Misfit` or holds the words of one."""
    return isinstance(error, Misfit) or isinstance(next(iter(error.args), None), _Wording)


def misfit_of(error: Exception) -> Misfit:
    """`error` as a `Misfit`, with all the words that it holds."""
    if isinstance(error, Misfit):
        return error
    wording = error.args[0] if error.args else ""
    if isinstance(wording, _Wording):
        return Misfit(wording, wording.in_run, in_graph=wording.in_graph)
    return Misfit(str(error))
