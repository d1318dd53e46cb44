"""Cases of Python functions as tables: results and errors of calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpugraph as tf

__all__ = ["fetched", "refuses", "same"]


def fetched(make: Callable[[], Any]) -> Any:
    """Build a fetch in a new graph, run it, and check its inferred shapes."""
    with tf.Graph().as_default(), tf.Session() as session:
        output = make()
        tensors = list(output) if isinstance(output, (list, tuple)) else [output]
        values = session.run(tensors)
        for tensor, value in zip(tensors, values, strict=True):
            assert tensor.shape.is_compatible_with(np.shape(value))
        return values if isinstance(output, (list, tuple)) else values[0]


def same(make: Callable[[], Any], wanted: Any, tolerance: float = 0.0) -> None:
    """Check that the fetch has these values (a list: several tensors)."""
    result = fetched(make)
    assert not isinstance(result, list) or len(result) == len(wanted)
    for one, other in zip(result, wanted) if isinstance(result, list) else [(result, wanted)]:
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, tolerance, tolerance)


def refuses(make: Callable[[], Any], error: type[Exception], what: str) -> None:
    """Making it, or running it, raises this error, whose message has `what`."""
    with pytest.raises(error, match=what):
        fetched(make)
