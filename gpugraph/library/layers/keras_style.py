"""Layers in the style of tf.keras: each has separate variables, named by name scopes.

Such a layer opens no variable scope, and shares no variables by name.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Style(threading.local):
    """The state of each thread: whether `keras_style_scope` is open, so that new layers follow the
    style of tf.keras.
    """

    in_scope = False


_STYLE = _Style()
_EVERYWHERE = [False]


def is_keras_style() -> bool:
    """Return whether layers that are created now follow the style of tf.keras."""
    return _STYLE.in_scope or _EVERYWHERE[0]


@contextmanager
def keras_style_scope() -> Iterator[None]:
    """Within the block, create layers and cells in the style of tf.keras: with separate variables.

    An argument of these layers that names or reuses a variable scope then raises ValueError.
    """
    outer, _STYLE.in_scope = _STYLE.in_scope, True
    try:
        yield
    finally:
        _STYLE.in_scope = outer


def set_keras_style() -> None:
    """Make all layers and cells that are created later, in any thread, follow the style of
    tf.keras.
    """
    _EVERYWHERE[0] = True
