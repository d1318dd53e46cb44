"""Functions of `tf.compat.v2` that compute something else than those of version 1."""

from __future__ import annotations

from typing import Any

from gpugraph.api import top_level as tf
from gpugraph.ops.framework.op_declaration import raw_ops


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Return x or y by the elements of the condition; all three are broadcast.

    Without x and y, return the indices where the condition is true.
    """
    if x is None and y is None:
        return tf.where(condition, name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return raw_ops.SelectV2(condition, x, y, name=name)
