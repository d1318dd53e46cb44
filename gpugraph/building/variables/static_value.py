"""`tf.get_static_value`: the values of tensors that are known at graph construction."""

from __future__ import annotations

from typing import Any

from gpugraph.building.variables.variable_collections import is_tensor
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.constant_value import value_for_programs


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """Return the array that a tensor holds in every run, or None if it is unknown.

    After its value was returned, a tensor can no longer be fed. Variables, SparseTensors and
    IndexedSlices have no static value. A value that is not a tensor is returned unchanged.

    Args:
      partial: whether to return an array of objects for a stack along axis 0 if only some of the
        stacked values are known. Each unknown value is None.
    """
    if not isinstance(tensor, Tensor):
        return None if is_tensor(tensor) else tensor
    value = value_for_programs(tensor, partial)
    if value is not None:
        tensor.graph.prevent_feeding(tensor)
    return value


constant_value = get_static_value  # its name in tf.contrib.util
