"""Functions that convert the arguments of `padded_batch`, padded shapes and padding values, to
tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base.dtypes import int64, string
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.library.data import data_nest
from gpugraph.ops.framework.constant_value import constant_value_as_shape
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor


def padded_shape(shape: Any, shape_of_input: TensorShape) -> tuple[Tensor, TensorShape]:
    """Return a padded shape twice: as an int64 vector, with -1 for unknown sizes, and as a static
    shape.

    Raises ValueError if the padded shape does not fit the component, or is not a shape.

    Args:
      shape_of_input: the static shape of the component.
    """
    if isinstance(shape, Tensor):
        if shape.shape.rank not in (None, 1):
            raise ValueError(
                f"Padded shape {shape} must be a 1-D tensor of tf.int64 values, but its shape was "
                f"{shape.shape}."
            )
        if shape.dtype != int64:
            raise TypeError(
                f"Padded shape {shape} must be a 1-D tensor of tf.int64 values, but its element "
                f"type was {shape.dtype.name}."
            )
        return shape, constant_value_as_shape(shape) or TensorShape(None)
    if isinstance(shape, (TensorShape, int)) or shape is None:
        static = as_shape([shape] if isinstance(shape, int) else shape)
    else:
        sizes = [None if size is None else int(getattr(size, "value", size) or 0) for size in shape]
        sizes = [None if size is not None and size < 0 else size for size in sizes]
        static = TensorShape(sizes)
    if static.rank is None:
        raise ValueError(
            f"Padded shape {shape} must be a 1-D tensor of tf.int64 values or a known rank"
        )
    if shape_of_input.rank is not None and shape_of_input.rank != static.rank:
        raise ValueError(
            f"The padded shape {static} is not compatible with the corresponding input component "
            f"shape {shape_of_input}."
        )
    for size, wanted in zip(shape_of_input.sizes or (), static.sizes or ()):
        if size is not None and wanted is not None and wanted < size:
            raise ValueError(
                f"The padded shape {static} is not compatible with the corresponding input "
                f"component shape {shape_of_input}."
            )
    values = np.array([-1 if size is None else size for size in static.sizes or ()], np.int64)
    return constant(values, dtype=int64, name="padded_shape"), static


def padding_values_of(values: Any, spec: Any) -> list[Tensor]:
    """Return the padding value of each component. The defaults are zeros and empty strings.

    Raises TypeError for a component that can't be padded, and for a value of the wrong dtype.
    """
    specs = data_nest.flatten(spec)
    for one in specs:
        if not isinstance(one, TensorSpec):
            raise TypeError("Padded batching of sparse tensors is not supported.")
    if values is None:
        flat: list[Any] = [None] * len(specs)
    elif not data_nest.is_sequence(values):
        flat = [values] * len(specs)
    else:
        flat = data_nest.flatten_up_to(spec, values)
    return [_value(value, one) for value, one in zip(flat, specs)]


def _value(value: Any, spec: TensorSpec) -> Tensor:
    dtype = spec.dtype.base_dtype
    if value is None:
        if dtype == string:
            value = ""
        elif dtype.name == "variant":
            raise TypeError("Unable to create padding for field of type 'variant'")
        else:
            value = np.zeros((), dtype.as_numpy_dtype)
    tensor = convert_to_tensor(value, name="padding_value")
    if tensor.shape.rank not in (None, 0):
        raise ValueError(f"Padding value should be a scalar, but is not: {tensor}")
    if tensor.dtype != dtype:
        raise TypeError(f"Padding value type ({tensor.dtype}) does not match output type ({dtype})")
    return tensor
