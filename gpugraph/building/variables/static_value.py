"""`tf.get_static_value`: values that a program may ask for while it builds a graph."""

from __future__ import annotations

from typing import Any

from gpugraph.building.variables.variable_collections import is_tensor
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.constant_value import value_for_programs


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The array that a tensor holds at every run, or None where that isn't known.

    partial: of tensors stacked along axis 0, an array of objects, None for each unknown one.

    A tensor whose value was returned may not be fed any more. Variables, SparseTensors and
    IndexedSlices have no static value; what is no tensor is its own.
    """
    if not isinstance(tensor, Tensor):
        return None if is_tensor(tensor) else tensor
    value = value_for_programs(tensor, partial)
    if value is not None:
        tensor.graph.prevent_feeding(tensor)
    return value


constant_value = get_static_value  # its name in tf.contrib.util
