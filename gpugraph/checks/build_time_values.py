"""What checks know while the graph is built, and how they say it."""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.constant_value import constant_value

_SEEN_THROUGH = {
    "Const", "Shape", "Size", "Rank", "Range", "Cast", "ConcatV2", "Pack", "Fill", "Equal",
    "NotEqual", "StopGradient", "Identity",
}  # fmt: skip
"""Ops of which TensorFlow knows the value beforehand. What comes of others is checked in the run
even where we know it: a check that fails while the graph is built ends the program."""


def static_value(tensor: Tensor) -> Any:
    """The array that `tensor` always holds, or None where that is for the run to say."""
    return constant_value(tensor) if tensor.op.type in _SEEN_THROUGH else None


def prefix(message: str | None) -> str:
    """A program's own message, as it stands before the words of a check."""
    return f"{message}.  " if message else ""


def shown_shape(tensor: Tensor) -> str:
    """A tensor's shape, for messages: (2, ?)."""
    return str(tensor.shape)
