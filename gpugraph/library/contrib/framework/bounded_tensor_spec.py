"""A TensorSpec with the minimum and maximum of the elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.dtypes import as_dtype
from gpugraph.graph.client.tensor_spec import TensorSpec


class BoundedTensorSpec(TensorSpec):
    """A shape, a dtype, a name, and inclusive bounds of the elements.

    The bounds must broadcast to the shape. The constructor raises ValueError if a bound is None or
    does not broadcast to the shape.
    """

    __slots__ = ("_maximum", "_minimum")

    def __init__(
        self, shape: Any, dtype: Any, minimum: Any, maximum: Any, name: str | None = None
    ) -> None:
        super().__init__(shape, dtype, name)
        self._minimum = self._bound("minimum", minimum)
        self._maximum = self._bound("maximum", maximum)

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> BoundedTensorSpec:
        """Return a BoundedTensorSpec with the shape, dtype and bounds of `spec`.

        If `spec` has no bounds, the bounds are the limits of its dtype.
        """
        dtype = as_dtype(spec.dtype)
        minimum, maximum = getattr(spec, "minimum", dtype.min), getattr(spec, "maximum", dtype.max)
        return cls(spec.shape, dtype, minimum, maximum, name or spec.name)

    @property
    def minimum(self) -> np.ndarray[Any, Any]:
        """The minimum of each element: a read-only array that broadcasts to the shape."""
        return self._minimum

    @property
    def maximum(self) -> np.ndarray[Any, Any]:
        """The maximum of each element: a read-only array that broadcasts to the shape."""
        return self._maximum

    def _bound(self, kind: str, value: Any) -> np.ndarray[Any, Any]:
        if value is None:
            raise ValueError(f"{kind} can not be None.")
        bound: np.ndarray[Any, Any] = np.array(value, self.dtype.as_numpy_dtype)
        try:
            np.broadcast_shapes(bound.shape, [size or 0 for size in self.shape.as_list()])
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"{kind} is not compatible with shape. Message: {error}. ({bound.shape} and "
                f"{self.shape})"
            ) from None
        bound.setflags(write=False)
        return bound

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, BoundedTensorSpec)
            and super().__eq__(other)
            and np.array_equal(self.minimum, other.minimum)
            and np.array_equal(self.maximum, other.maximum)
        )

    __hash__ = TensorSpec.__hash__

    def __repr__(self) -> str:
        return (
            f"BoundedTensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r}, "
            f"minimum={self.minimum!r}, maximum={self.maximum!r})"
        )
