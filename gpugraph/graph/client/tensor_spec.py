"""TensorSpec: what is known of a tensor before there is one: shape, dtype and name."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import DType, as_dtype, float32
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.client.type_spec import TypeSpec, register_spec


class TensorSpec(TypeSpec):
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

    @property
    def value_type(self) -> type[Tensor]:
        """`tf.Tensor`."""
        return Tensor

    def most_specific_compatible_type(self, other: TypeSpec) -> TensorSpec:
        """What holds for both, without a name unless both have it; ValueError for other dtypes."""
        if not isinstance(other, TensorSpec) or self._dtype is not other._dtype:
            raise ValueError(f"No TypeSpec is compatible with both {self!r} and {other!r}")
        shape = self._shape.most_specific_compatible_shape(other._shape)
        return TensorSpec(shape, self._dtype, self._name if self._name == other._name else None)

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Whether a tensor, or another spec, may be of this shape and dtype."""
        return self._dtype.is_compatible_with(spec_or_tensor.dtype) and (
            self._shape.is_compatible_with(spec_or_tensor.shape)
        )

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._name

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


register_spec(Tensor, TensorSpec.from_tensor)
