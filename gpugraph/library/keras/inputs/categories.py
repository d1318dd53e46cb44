"""Preparation of NumPy arrays for training: one-hot rows for classes, and normalization."""

from __future__ import annotations

from typing import Any

import numpy as np


def to_categorical(y: Any, num_classes: int | None = None, dtype: Any = "float32") -> Any:
    """Convert an array of classes 0, 1, ... to one-hot vectors of length `num_classes`.

    The vectors are a new last axis, which replaces a last axis of size 1.

    Raises IndexError for a class out of range.

    Args:
      num_classes: by default the largest class + 1.
    """
    classes = np.array(y, dtype="int")
    shape = classes.shape
    if shape and shape[-1] == 1 and len(shape) > 1:
        shape = shape[:-1]
    flat = classes.ravel()
    count = num_classes or (int(flat.max()) + 1 if flat.size else 0)
    rows = np.zeros((flat.size, count), dtype=dtype)
    rows[np.arange(flat.size), flat] = 1
    return rows.reshape((*shape, count))


def normalize(x: Any, axis: int = -1, order: int = 2) -> Any:
    """Divide the vectors along `axis` of an array by their norms of the given order. A zero vector
    is unchanged.
    """
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    return x / np.expand_dims(norms, axis)
