"""`tf.keras.constraints`: functions that training applies to a variable after each update."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.library.keras.backend import (
    cast,
    clip,
    epsilon,
    greater_equal,
    sqrt,
    square,
    sum as sum_of,
)
from gpugraph.library.keras.keras_objects import deserialize_keras_object, serialize_keras_object
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.indexing.gather import gather


class Constraint:
    """Base class of constraints. `constraint(w)` returns the new value of `w`. The base class
    returns `w` unchanged.
    """

    def __call__(self, w: Any) -> Any:
        return w

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return dict(vars(self))

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Create a constraint from a configuration that `get_config` returned."""
        return cls(**config)


def _norms(w: Any, axis: Any) -> Any:
    return sqrt(sum_of(square(w), axis=axis, keepdims=True))


class MaxNorm(Constraint):
    """A constraint that shortens vectors along `axis` to the length `max_value` if they are
    longer.
    """

    def __init__(self, max_value: float = 2, axis: Any = 0) -> None:
        self.max_value, self.axis = max_value, axis

    def __call__(self, w: Any) -> Any:
        norms = _norms(w, self.axis)
        return w * (clip(norms, 0, self.max_value) / (epsilon() + norms))


class NonNeg(Constraint):
    """A constraint that replaces negative elements by 0."""

    def __call__(self, w: Any) -> Any:
        return w * cast(greater_equal(w, 0.0), w.dtype.base_dtype)


class UnitNorm(Constraint):
    """A constraint that scales vectors along `axis` to length 1."""

    def __init__(self, axis: Any = 0) -> None:
        self.axis = axis

    def __call__(self, w: Any) -> Any:
        return w / (epsilon() + _norms(w, self.axis))


class MinMaxNorm(Constraint):
    """A constraint that scales vectors along `axis` towards lengths in [min_value, max_value].

    Args:
      rate: the strength of the constraint: the new length is rate * (length clipped to the range) +
        (1 - rate) * length.
    """

    def __init__(
        self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: Any = 0
    ) -> None:
        self.min_value, self.max_value = min_value, max_value
        self.rate, self.axis = rate, axis

    def __call__(self, w: Any) -> Any:
        norms = _norms(w, self.axis)
        wanted = self.rate * clip(norms, self.min_value, self.max_value) + (1 - self.rate) * norms
        return w * (wanted / (epsilon() + norms))


class RadialConstraint(Constraint):
    """A constraint that makes kernels [size, size, in, out] radially symmetric.

    All elements of a square ring get the value of the ring's element on the diagonal. A call raises
    ValueError for a kernel whose rank is not 4 or whose sizes are not all known.
    """

    def __call__(self, w: Any) -> Any:
        sizes = w.shape.as_list()
        if w.shape.rank != 4 or None in sizes:
            raise ValueError(f"The weight tensor must be of rank 4, but is of shape {w.shape}")
        rows, columns, *channels = sizes
        places = np.abs(
            np.indices((rows, columns)) * 2 - np.array([rows - 1, columns - 1])[:, None, None]
        )
        rings = places.max(0) // 2  # ring 0 is in the middle
        middle = rows // 2
        diagonal = np.where(rings == 0, middle - 1, middle + rings - 1 + (rows + 1) % 2)
        if rows == 1:
            return w
        flat = reshape(w, [rows * columns, *channels])
        return reshape(gather(flat, (diagonal * columns + diagonal).ravel()), sizes)


non_neg, unit_norm, max_norm = NonNeg, UnitNorm, MaxNorm
min_max_norm, radial_constraint = MinMaxNorm, RadialConstraint

_CONSTRAINTS: dict[str, Any] = {
    "maxnorm": MaxNorm,
    "nonneg": NonNeg,
    "unitnorm": UnitNorm,
    **{
        kind.__name__: kind
        for kind in (MaxNorm, NonNeg, UnitNorm, MinMaxNorm, RadialConstraint, Constraint)
    },
    "max_norm": MaxNorm,
    "non_neg": NonNeg,
    "unit_norm": UnitNorm,
    "min_max_norm": MinMaxNorm,
    "radial_constraint": RadialConstraint,
}


def serialize(constraint: Any) -> Any:
    """Return the name of a function, or the class name and configuration of a constraint."""
    return serialize_keras_object(constraint)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Return the constraint that a name or a configuration describes. Raises ValueError for an
    unknown name.
    """
    return deserialize_keras_object(config, _CONSTRAINTS, custom_objects, "constraint")


def get(identifier: Any) -> Any:
    """Return the constraint that a name or a configuration describes. None and callables are
    returned unchanged.

    Raises ValueError for anything else.
    """
    if identifier is None:
        return None
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret constraint identifier: {identifier!r}")
