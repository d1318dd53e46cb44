"""Errors for inputs that an op rejects. TensorFlow words such an error differently at graph
construction and in a run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.errors import InvalidArgumentError, OpError

INPUT_NAME = "<input 0>"
"""A placeholder in a run's message for the name of the op's first input."""


class Misfit(ValueError):
    """The error for inputs or attrs that an op rejects, with TensorFlow's wording at graph
    construction and in a run.

    Args:
      message: the error's text, and the default for the other wordings.
      in_run: the wording in a run. `INPUT_NAME` in it represents the name of the first input.
      shapes: the shapes of the first outputs if TensorFlow rejects the inputs only in a run. Graph
        construction then continues with these shapes, and the shapes of all further outputs are
        unknown. If None, graph construction fails as well.
      error_class: the class of the error in a run.
      in_graph: the wording of shape inference at graph construction.
      detail: a description of the rejected input, appended to TensorFlow's wording.
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
    """The message of a ValueError, which also carries the wordings for shape inference and runs."""

    in_graph: str
    in_run: str


def value_error(message: str, in_graph: str, in_run: str = "") -> ValueError:
    """Return a ValueError that also carries the wordings of a `Misfit` for graph construction and
    for runs.
    """
    wording = _Wording(message)
    wording.in_graph, wording.in_run = in_graph, in_run
    return ValueError(wording)


def is_refusal(error: Exception) -> bool:
    """Return whether the error is a `Misfit`, or a ValueError created by `value_error`."""
    return isinstance(error, Misfit) or isinstance(next(iter(error.args), None), _Wording)


def misfit_of(error: Exception) -> Misfit:
    """Return `error` as a `Misfit`, with all wordings that `error` carries."""
    if isinstance(error, Misfit):
        return error
    wording = error.args[0] if error.args else ""
    if isinstance(wording, _Wording):
        return Misfit(wording, wording.in_run, in_graph=wording.in_graph)
    return Misfit(str(error))
