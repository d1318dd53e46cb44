"""Functions that all checks use: values that are known at graph construction, and text for
messages.
"""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.constant_value import constant_value

_SEEN_THROUGH = {
    "Const", "Shape", "Size", "Rank", "Range", "Cast", "ConcatV2", "Pack", "Fill", "Equal",
    "NotEqual", "StopGradient", "Identity",
}  # fmt: skip
"""Op types whose outputs the checks evaluate at graph construction, as TensorFlow does.

The outputs of other op types are checked in the run, even where their values could be computed
earlier: a check that fails at graph construction raises there, and the program never runs.
"""


def static_value(tensor: Tensor) -> Any:
    """Return the constant array that `tensor` holds, or None if its value is known only in a
    run.
    """
    return constant_value(tensor) if tensor.op.type in _SEEN_THROUGH else None


def prefix(message: str | None) -> str:
    """Return the user's `message` with a separator after it, to be put before the text of an
    error.
    """
    return f"{message}.  " if message else ""


def shown_shape(tensor: Tensor) -> str:
    """Return a tensor's static shape in the notation of messages: (2, ?)."""
    return str(tensor.shape)
