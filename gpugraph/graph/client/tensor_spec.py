"""TensorSpec: the static type of a tensor: shape, dtype and name."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import DType, as_dtype, float32
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.client.type_spec import (
    ShapedTypeSpec,
    TypeSpec,
    register_type_spec_from_value_converter,
)
from gpugraph.graph.op_library import as_tensor


class TensorSpec(ShapedTypeSpec):
    """A shape, a dtype and optionally a name. Specs are equal if all three are equal.

    Args:
      shape: a TensorShape or a value convertible to a TensorShape. None means an unknown shape.
    """

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(self, shape: Any, dtype: Any = float32, name: str | None = None) -> None:
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)
        self._name = name

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """Return a spec with the shape and dtype of `spec`. If `name` is None, the returned spec
        also has the name of `spec`.
        """
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> TensorSpec:
        """Return the spec of a tensor. If `name` is None, the spec has the name of the tensor's
        operation.
        """
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
        """Return the most specific spec with which both specs are compatible.

        The result has a name only if both names are equal. Raises ValueError for different dtypes.
        """
        if type(other) is not type(self) or self._dtype is not other._dtype:
            raise ValueError(f"Types are not compatible: {self!r} vs {other!r}")
        shape = self._shape.most_specific_compatible_shape(other._shape)
        return TensorSpec(shape, self._dtype, self._name if self._name == other._name else None)

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Return whether the dtype and shape of a tensor or spec are compatible with this spec."""
        return (
            isinstance(spec_or_tensor, (TensorSpec, Tensor))
            and self._dtype.is_compatible_with(spec_or_tensor.dtype)
            and self._shape.is_compatible_with(spec_or_tensor.shape)
        )

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._name

    @property
    def _component_specs(self) -> TensorSpec:
        return self

    @property
    def _flat_tensor_specs(self) -> list[Any]:
        return [self]

    def _to_components(self, value: Any) -> Tensor:
        """Return `value` as a tensor. Raises ValueError unless the tensor has the spec's dtype and
        shape.
        """
        try:
            tensor: Tensor = as_tensor(value, self._dtype)
        except (TypeError, ValueError):
            tensor = None  # type: ignore[assignment]
        if tensor is None or not tensor.shape.is_compatible_with(self._shape):
            raise ValueError(
                f"Value {value!r} is not convertible to a tensor with dtype {self._dtype} and "
                f"shape {self._shape}."
            )
        return tensor

    def _from_components(self, components: Any) -> Any:
        return components

    def _from_compatible_tensor_list(self, tensor_list: Any) -> Tensor:
        [tensor] = tensor_list
        tensor.set_shape(self._shape)
        result: Tensor = tensor
        return result

    def _to_batchable_tensor_list(self, value: Any, batched: bool = False) -> Tensor:
        """Return `value` as a tensor. Raises ValueError if `batched` is true and the tensor is a
        scalar.
        """
        if batched and self._shape.merge_with(value.shape).rank == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return self._to_components(value)

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


register_type_spec_from_value_converter(Tensor, lambda x: TensorSpec(x.shape, x.dtype), True)
