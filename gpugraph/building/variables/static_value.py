"""`tf.get_static_value`: values that are available at graph construction."""

from __future__ import annotations

from typing import Any

from gpugraph.building.variables.variable_collections import is_tensor
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.constant_value import value_for_programs


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """Return the array that a tensor holds in every run, or None if that isn't known.

    A tensor whose value was returned can't be fed any more. Variables, SparseTensors and
    IndexedSlices have no static value. A value that is not a tensor is returned unchanged.

    Args:
      partial: whether to return an array of objects for a stack along axis 0 with unknown parts.
        Each unknown part is None.
    """
    if not isinstance(tensor, Tensor):
        return None if is_tensor(tensor) else tensor
    value = value_for_programs(tensor, partial)
    if value is not None:
        tensor.graph.prevent_feeding(tensor)
    return value


constant_value = get_static_value  # its name in tf.contrib.util
