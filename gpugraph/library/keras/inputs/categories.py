"""Arrays as a training takes them: classes as rows of one 1, rows of length 1."""

from __future__ import annotations

from typing import Any

import numpy as np


def to_categorical(y: Any, num_classes: int | None = None, dtype: Any = "float32") -> Any:
    """Classes 0, 1, ... as rows with a 1 at the class, of `num_classes` columns.

    A last axis of 1 becomes the new one. IndexError for a class that is none.
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
    """An array divided by its norms of an order along an axis; by 1 where they are 0."""
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    return x / np.expand_dims(norms, axis)
