"""What checks share: values that are known while the graph is built, and parts of messages."""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.constant_value import constant_value

_SEEN_THROUGH = {
    "Const", "Shape", "Size", "Rank", "Range", "Cast", "ConcatV2", "Pack", "Fill", "Equal",
    "NotEqual", "StopGradient", "Identity",
}  # fmt: skip
"""Ops whose value TensorFlow knows while the graph is built. Values of other ops are checked in the
run even where they are known here: a check that fails while the graph is built ends the program."""


def static_value(tensor: Tensor) -> Any:
    """The array that `tensor` always holds, or None if only a run can show it."""
    return constant_value(tensor) if tensor.op.type in _SEEN_THROUGH else None


def prefix(message: str | None) -> str:
    """The program's message, as it precedes that of a check."""
    return f"{message}.  " if message else ""


def shown_shape(tensor: Tensor) -> str:
    """A tensor's shape, for messages: (2, ?)."""
    return str(tensor.shape)
