"""Summaries of the tensors in collections: weights, biases, activations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from gpugraph.base import dtypes
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.summary import histogram, scalar
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.reductions.reduction_functions import reduce_mean

_WITH_ZEROS = ("Relu", "Relu6", "Softplus")


def summarize_tensor(tensor: Any, tag: str | None = None) -> Tensor | None:
    """Return a scalar summary for a scalar, None for strings and bools, and a histogram for any
    other tensor.

    Args:
      tag: by default the name of the tensor's operation followed by `_summary`.
    """
    if not hasattr(tensor, "op"):
        tensor = convert_to_tensor(tensor)
    if tensor.dtype.base_dtype in (dtypes.string, dtypes.bool):
        return None
    summarize = scalar if tensor.shape.rank == 0 else histogram
    return summarize(tag or f"{tensor.op.name}_summary", tensor)


def summarize_activation(op: Tensor) -> Tensor:
    """Return a histogram of a layer's output, and add scalar summaries of the fraction of clipped
    elements.

    The fractions are the fraction of zeros (for Relu, Relu6 and Softplus) and the fraction of sixes
    (for Relu6).
    """
    if not hasattr(op, "op"):
        op = convert_to_tensor(op)
    name, op_type = op.op.name, op.op.type
    if op_type in _WITH_ZEROS:
        scalar(f"{name}/zeros", _share(raw_ops.Less, op.op.inputs[0], 0.0))
    if op_type == "Relu6":
        scalar(f"{name}/sixes", _share(raw_ops.Greater, op.op.inputs[0], 6.0))
    return histogram(f"{name}/activation", op)


def _share(compare: Callable[..., Tensor], tensor: Tensor, limit: float) -> Tensor:
    """Return the fraction of a tensor's elements for which compare(element, limit) is true."""
    return reduce_mean(cast(compare(tensor, cast(limit, tensor.dtype)), dtypes.float32))


def summarize_tensors(
    tensors: Iterable[Any], summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    """Return a list with the summary of each tensor."""
    return [summarizer(tensor) for tensor in tensors]


def summarize_collection(
    collection: Any,
    name_filter: str | None = None,
    summarizer: Callable[[Any], Any] = summarize_tensor,
) -> list[Any]:
    """Return a list with the summary of each tensor in a collection of the default graph.

    Args:
      name_filter: a regular expression that must match the start of a tensor's name.
    """
    tensors = get_default_graph().get_collection(collection)
    chosen = (t for t in tensors if name_filter is None or re.match(name_filter, t.op.name))
    return summarize_tensors(chosen, summarizer)


summarize_variables = partial(summarize_collection, GraphKeys.GLOBAL_VARIABLES)
summarize_weights = partial(summarize_collection, GraphKeys.WEIGHTS)
summarize_biases = partial(summarize_collection, GraphKeys.BIASES)


def summarize_activations(
    name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_activation
) -> list[Any]:
    """Call `summarize_collection` for the collection ACTIVATIONS."""
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)
