"""TensorArraySpec, a TypeSpec with the static properties of a TensorArray."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType, as_dtype, float32, variant
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.graph.client.type_spec import (
    TypeSpec,
    register_type_spec_from_value_converter,
    type_spec_from_value,
)
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray


class TensorArraySpec(TypeSpec):
    """The elements' shape and dtype, whether the array may grow, and whether it infers shapes."""

    __slots__ = ("_dtype", "_dynamic_size", "_element_shape", "_infer_shape")

    def __init__(
        self,
        element_shape: Any = None,
        dtype: Any = float32,
        dynamic_size: bool = False,
        infer_shape: bool = True,
    ) -> None:
        self._element_shape = as_shape(element_shape)
        self._dtype = as_dtype(dtype)
        self._dynamic_size = dynamic_size
        self._infer_shape = infer_shape

    @classmethod
    def from_value(cls, value: Any) -> TensorArraySpec:
        """Return the spec of a TensorArray. Raises TypeError if the value is not a TensorArray."""
        if not isinstance(value, TensorArray):
            raise TypeError(f"Expected value to be a TensorArray, but got: `{type(value)}`")
        return cls(value.element_shape, value.dtype, value.dynamic_size, value._infer_shape)

    @property
    def value_type(self) -> type[TensorArray]:
        """The class of the values, `tf.TensorArray`."""
        return TensorArray

    def _serialize(self) -> tuple[Any, ...]:
        return self._element_shape, self._dtype, self._dynamic_size, self._infer_shape

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether another spec or array has a compatible shape and dtype, and the same
        ability to grow.

        `infer_shape` is ignored.
        """
        other = type_spec_from_value(spec_or_value)
        return (
            isinstance(other, TensorArraySpec)
            and self._dtype.is_compatible_with(other._dtype)
            and self._element_shape.is_compatible_with(other._element_shape)
            and self._dynamic_size == other._dynamic_size
        )

    def most_specific_compatible_type(self, other: TypeSpec) -> TensorArraySpec:
        """Return the most specific spec with which both specs are compatible.

        Raises ValueError if there is none, because shapes or dtypes are incompatible, or only one
        of the arrays may grow.
        """
        if not isinstance(other, TensorArraySpec) or not self.is_compatible_with(other):
            raise ValueError("Types are not compatible")
        shape = self._element_shape.most_specific_compatible_shape(other._element_shape)
        infer_shape = self._infer_shape and other._infer_shape
        return TensorArraySpec(shape, self._dtype, self._dynamic_size, infer_shape)

    @property
    def _component_specs(self) -> list[TensorSpec]:
        return [TensorSpec([], variant)]

    def _to_components(self, value: Any) -> list[Any]:
        """Return the elements as a list of tensors in one variant tensor."""
        if not isinstance(value, TensorArray):
            raise TypeError(f"value must be a TensorArray, but saw: {type(value)}")
        sizes = [-1 if size is None else size for size in value.element_shape.sizes or ()]
        element_shape = -1 if value.element_shape.sizes is None else np.array(sizes, np.int32)
        return [raw_ops.TensorListFromTensor(value.stack(), element_shape)]

    def _from_components(self, components: Any) -> TensorArray:
        """Return a new TensorArray with the elements of a list of tensors, a variant tensor."""
        [elements] = components
        sizes = self._element_shape.sizes
        known = [-1 if size is None else size for size in sizes or ()]
        element_shape = -1 if sizes is None else np.array(known, np.int32)
        array = TensorArray(
            self._dtype,
            size=raw_ops.TensorListLength(elements),
            dynamic_size=self._dynamic_size,
            clear_after_read=False,  # reads of a list never clear
            infer_shape=self._infer_shape,
            element_shape=self._element_shape,
        )
        stacked = raw_ops.TensorListStack(elements, element_shape, element_dtype=self._dtype)
        filled: TensorArray = array.unstack(stacked)
        return filled

    def _to_legacy_output_types(self) -> DType:
        return self._dtype

    def _to_legacy_output_shapes(self) -> TensorShape:
        """Return a shape whose first two sizes encode the flags `dynamic_size` and `infer_shape`.
        The elements' shape follows.
        """
        flags = TensorShape([self._dynamic_size, self._infer_shape])
        return flags.concatenate(self._element_shape)


register_type_spec_from_value_converter(TensorArray, TensorArraySpec.from_value, True)
