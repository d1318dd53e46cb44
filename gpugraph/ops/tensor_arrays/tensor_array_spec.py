"""TensorArraySpec: what is known of a TensorArray before there is one."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import as_dtype, float32
from gpugraph.base.shapes import as_shape
from gpugraph.graph.client.type_spec import TypeSpec, register_spec
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray


class TensorArraySpec(TypeSpec):
    """The shape of the elements, their dtype, and whether the array grows and infers shapes."""

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
        """The spec of a TensorArray; TypeError for anything else."""
        if not isinstance(value, TensorArray):
            raise TypeError(f"Expected value to be a TensorArray, but got: `{type(value)}`")
        return cls(value.element_shape, value.dtype, value.dynamic_size, value._infer_shape)

    @property
    def value_type(self) -> type[TensorArray]:
        """`tf.TensorArray`."""
        return TensorArray

    def _serialize(self) -> tuple[Any, ...]:
        return self._element_shape, self._dtype, self._dynamic_size, self._infer_shape


register_spec(TensorArray, TensorArraySpec.from_value)
