"""TensorSpec: what is known of a tensor before there is one: shape, dtype and name."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import DType, as_dtype, float32
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor


class TensorSpec:
    """A shape, a dtype and perhaps a name. Equal ones are equal in all three.

    shape: a TensorShape or what becomes one; None where nothing is known of it.
    """

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(self, shape: Any, dtype: Any = float32, name: str | None = None) -> None:
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)
        self._name = name

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """The same shape and dtype, and the name too unless another is given."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> TensorSpec:
        """What is known of a tensor; its operation's name unless another is given."""
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name, or None."""
        return self._name

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Whether a tensor, or another spec, may be of this shape and dtype."""
        return self._dtype.is_compatible_with(spec_or_tensor.dtype) and (
            self._shape.is_compatible_with(spec_or_tensor.shape)
        )

    def _key(self) -> tuple[Any, ...]:
        return self._shape.sizes, self._dtype, self._name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorSpec, (self._shape, self._dtype, self._name)
