"""tf.vectorized_map: a function of each element of tensors, computed by `map_fn`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.nest import flatten, map_structure
from gpugraph.building.control_flow.map_fold_scan import map_fn
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


def vectorized_map(fn: Callable[[Any], Any], elems: Any) -> Any:
    """Apply `fn` to each element of `elems` along the first axis, and stack the results.

    Raises TypeError if `fn` is not callable, and ValueError for scalars.

    Args:
      elems: a tensor, or a structure of tensors of the same first size. The result has the
        structure and the dtypes of the results of `fn`, which must be the same for all elements. A
        function on such elements is not vectorized but computed by a loop, see `map_fn`. `fn` is
        called once more to find the dtypes.
    """
    if not callable(fn):
        raise TypeError(f"fn must be callable, but it is {fn!r}")
    with name_scope("vectorized_map", None, flatten(elems)):
        tensors = map_structure(convert_to_tensor, elems)
        if any(tensor.shape.rank == 0 for tensor in flatten(tensors)):
            raise ValueError("elems must be 1+ dimensional Tensors, not scalars")
        first = fn(map_structure(lambda tensor: tensor[0], tensors))
        dtypes = map_structure(lambda result: convert_to_tensor(result).dtype, first)
        return map_fn(
            lambda elements: map_structure(convert_to_tensor, fn(elements)), tensors, dtypes
        )
