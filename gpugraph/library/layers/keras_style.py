"""Layers in the style of tf.keras: each has variables of its own, named by name scopes.

Such a layer opens no variable scope, and shares its variables with no other one by a name.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Style(threading.local):
    """Whether new layers are in the style of tf.keras: in this thread, by a scope."""

    in_scope = False


_STYLE = _Style()
_EVERYWHERE = [False]


def is_keras_style() -> bool:
    """Whether layers that are made here are in the style of tf.keras."""
    return _STYLE.in_scope or _EVERYWHERE[0]


@contextmanager
def keras_style_scope() -> Iterator[None]:
    """Layers and cells that are made inside are in the style of tf.keras.

    ValueError for their arguments that name or reuse a variable scope.
    """
    outer, _STYLE.in_scope = _STYLE.in_scope, True
    try:
        yield
    finally:
        _STYLE.in_scope = outer


def set_keras_style() -> None:
    """All layers and cells from here on are in the style of tf.keras; see `keras_style_scope`."""
    _EVERYWHERE[0] = True
