"""Layers in the style of tf.keras. Each layer has its own variables, and name scopes determine
their names.

Such a layer opens no variable scope, and shares no variables by name.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Style(threading.local):
    """The state of each thread: whether `keras_style_scope` is active, so that new layers follow
    the style of tf.keras.
    """

    in_scope = False


_STYLE = _Style()
_EVERYWHERE = [False]


def is_keras_style() -> bool:
    """Return whether layers that are created now follow the style of tf.keras."""
    return _STYLE.in_scope or _EVERYWHERE[0]


@contextmanager
def keras_style_scope() -> Iterator[None]:
    """Create layers and cells in the style of tf.keras inside the block. Each has its own
    variables.

    If such a layer receives an argument that names or reuses a variable scope, it raises
    ValueError.
    """
    outer, _STYLE.in_scope = _STYLE.in_scope, True
    try:
        yield
    finally:
        _STYLE.in_scope = outer


def set_keras_style() -> None:
    """Make all layers and cells that are created from now on, in any thread, follow the style of
    tf.keras.
    """
    _EVERYWHERE[0] = True
