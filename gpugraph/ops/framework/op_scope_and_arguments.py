"""Helpers of the functions that add ops and build gradients. They open name scopes, and convert
sizes and attrs to arguments of ops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.default_stacks import traced_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops


@contextmanager
def op_scope(name: str | None, default: str, *values: Any) -> Iterator[str]:
    """Open the name scope `name`, or `default`, in the graph of the first tensor among `values`.

    In a function that is being traced, use the graph of the function instead, which captures the
    tensor. This graph is the default graph within the block. Yield the full name of the scope.
    """
    graph = get_default_graph()
    for value in values:
        graph_of_value = getattr(value, "graph", None)
        if isinstance(graph_of_value, Graph):
            graph = traced_graph(graph_of_value)
            break
    with graph.as_default(), graph.name_scope(name or default) as scope:
        yield scope


def attrs_of(op: Any, keys: Iterable[str]) -> dict[str, Any]:
    """Return some attrs of an operation as keyword arguments for the function of another op."""
    return {key: op.attrs[key] for key in keys}


def int_argument(value: Any) -> Any:
    """Return sizes or axes as an argument of an op. An empty list, which has no dtype, becomes an
    int32 array.
    """
    if isinstance(value, (list, tuple)) and not value:
        return np.zeros(0, np.int32)
    return value


def shape_of(tensor: Tensor, dtype: Any = dtypes.int32) -> Any:
    """Return a tensor's shape as an argument of an op. It is an array if all sizes are known,
    otherwise the output of a Shape op.
    """
    sizes = tensor.shape.sizes
    if sizes is not None and None not in sizes:
        return np.array(sizes, dtype.as_numpy_dtype)
    return raw_ops.Shape(tensor, out_type=dtype)


def size_at(tensor: Tensor, axis: int) -> Any:
    """Return the size of an axis as an argument of an op. It is an int32 number if it is known,
    otherwise a slice of a Shape op's output.

    Raises ValueError if the axis is out of range.
    """
    sizes = tensor.shape.sizes
    if sizes is not None and not -len(sizes) <= axis < len(sizes):
        raise ValueError(f"A tensor of shape {tensor.shape} has no dimension {axis}")
    if sizes is not None and sizes[axis] is not None:
        return np.array(sizes[axis], np.int32)
    begin, end = np.array([axis], np.int32), np.array([axis + 1], np.int32)
    one = np.array([1], np.int32)
    return raw_ops.StridedSlice(raw_ops.Shape(tensor), begin, end, one, shrink_axis_mask=1)
