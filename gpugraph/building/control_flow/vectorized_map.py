"""tf.vectorized_map: a function that is applied to each element of tensors. `map_fn` computes
it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.nest import flatten, map_structure
from gpugraph.building.control_flow.map_fold_scan import map_fn
from gpugraph.graph.client.default_graph_functions import get_default_graph, name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.reductions.ranges_and_running_sums import range as count_up


def _with_dense_gradient(value: Any) -> Tensor:
    """Return a tensor whose gradient is no IndexedSlices, although its rows are gathered."""
    tensor = convert_to_tensor(value)
    return reshape(tensor, shape(tensor))


def vectorized_map(fn: Callable[[Any], Any], elems: Any) -> Any:
    """Apply `fn` to each element of `elems` along the first axis, and stack the results.

    The function is not vectorized. A loop computes the results, as in `map_fn`. `fn` is called one
    additional time to determine the dtypes of its results.

    Raises TypeError if `fn` is not callable, and ValueError if `elems` contains a scalar.

    Args:
      fn: a function of one element, in the structure of `elems`. Its results must have the same
        structure and dtypes for all elements.
      elems: a tensor, or a structure of tensors whose first sizes are equal.
    """
    if not callable(fn):
        raise TypeError(f"fn must be callable, but it is {fn!r}")
    with name_scope("vectorized_map", None, flatten(elems)):
        tensors = map_structure(_with_dense_gradient, elems)
        if any(tensor.shape.rank == 0 for tensor in flatten(tensors)):
            raise ValueError("elems must be 1+ dimensional Tensors, not scalars")
        graph = get_default_graph()
        count = graph.version
        first = fn(map_structure(lambda tensor: tensor[0], tensors))
        dtypes = map_structure(lambda result: convert_to_tensor(result).dtype, first)
        added = graph.get_operations()[count:]

        def of_element(elements: Any) -> Any:
            return map_structure(convert_to_tensor, fn(elements))

        def of_place(place: Tensor) -> Any:
            return of_element(map_structure(lambda tensor: gather(tensor, place), tensors))

        if any(op.type == "StridedSliceGrad" for op in added):
            # `fn` takes gradients with respect to what its element comes from: they lead out of the
            # loop through a gather, but not through a TensorArray
            return map_fn(of_place, count_up(shape(flatten(tensors)[0])[0]), dtypes)
        return map_fn(of_element, tensors, dtypes)
