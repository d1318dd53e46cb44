"""`tf.contrib.layers.python.layers.utils`, with functions on collections of layers' outputs and on
the sizes of tensors.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from gpugraph.base.shapes import TensorShape
from gpugraph.building.control_flow.cond import cond
from gpugraph.building.control_flow.smart_cond import smart_cond as _smart_cond, static_bool
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.layers.configured_layer import numbers
from gpugraph.ops.framework.constant_value import constant_value as _constant_value


def append_tensor_alias(tensor: Any, alias: str) -> Any:
    """Add an alias to a tensor, and return the tensor."""
    tensor.aliases = [*getattr(tensor, "aliases", []), alias.rstrip("/")]
    return tensor


def get_tensor_aliases(tensor: Any) -> list[str]:
    """Return the aliases of a tensor. If it has none, return its name without the final ":0"."""
    return getattr(tensor, "aliases", None) or [tensor.name.removesuffix(":0")]


def gather_tensors_aliases(tensors: Any) -> list[str]:
    """Return a list of the aliases of all tensors."""
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def collect_named_outputs(collections: Any, alias: str, outputs: Any) -> Any:
    """Add a layer's output to collections under an alias, and return it."""
    if collections:
        append_tensor_alias(outputs, alias)
        get_default_graph().add_to_collections(collections, outputs)
    return outputs


def convert_collection_to_dict(
    collection: str, clear_collection: bool = False
) -> OrderedDict[str, Any]:
    """Return an OrderedDict from aliases to tensors. If several tensors have the same alias, it
    contains the last of them.
    """
    graph = get_default_graph()
    outputs = OrderedDict(
        (alias, tensor)
        for tensor in graph.get_collection(collection)
        for alias in get_tensor_aliases(tensor)
    )
    if clear_collection:
        graph.clear_collection(collection)
    return outputs


def constant_value(value_or_tensor_or_var: Any, dtype: Any = None) -> Any:
    """Return the value of a constant. Return None if the tensor is not a constant. Raises
    ValueError if the argument is None, or if the value is not an instance of `dtype`.
    """
    if value_or_tensor_or_var is None:
        raise ValueError("value_or_tensor_or_var cannot be None")
    value = value_or_tensor_or_var
    if isinstance(value, Tensor):
        value = _constant_value(value)
        value = value.item() if value is not None and value.ndim == 0 else value
    if value is not None and dtype is not None and not isinstance(value, dtype):
        raise ValueError(f"It has the wrong type {type(value)} instead of {dtype}")
    return value


def static_cond(pred: bool, fn1: Any, fn2: Any) -> Any:
    """Return `fn1()` if `pred` is true, and `fn2()` if it is false. Raises TypeError if one of them
    is not callable.
    """
    for name, function in (("fn1", fn1), ("fn2", fn2)):
        if not callable(function):
            raise TypeError(f"{name} must be callable.")
    return fn1() if pred else fn2()


def smart_cond(pred: Any, fn1: Any, fn2: Any, name: str | None = None) -> Any:
    """Return the result of one of the functions if the value of `pred` is known when the graph is
    built. If the value is unknown, return the result of `tf.cond`.
    """
    known = static_bool(pred)
    return cond(pred, fn1, fn2, name=name) if known is None else _smart_cond(known, fn1, fn2)


def get_variable_collections(variables_collections: Any, name: str) -> Any:
    """Return the collections for the variable `name`. They are an entry of a dict, or the list
    itself.
    """
    if isinstance(variables_collections, dict):
        return variables_collections.get(name)
    return variables_collections


def _get_dimension(shape: Any, dim: int, min_rank: int = 1) -> int:
    shape = TensorShape(shape)
    if shape.rank is None:
        raise ValueError("dims of shape must be known but is None")
    if shape.rank < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {shape.rank}")
    size = shape.as_list()[dim]
    if size is None:
        raise ValueError(f"dimension {dim} of shape must be known but is None: {shape}")
    return size


def channel_dimension(shape: Any, data_format: str, min_rank: int = 1) -> int:
    """Return the number of channels of a shape in the format "N...C" or "NC..."."""
    return _get_dimension(shape, 1 if data_format.startswith("NC") else -1, min_rank)


def last_dimension(shape: Any, min_rank: int = 1) -> int:
    """Return the size of the last dimension. Raises ValueError if it is unknown."""
    return _get_dimension(shape, -1, min_rank)


def two_element_tuple(int_or_tuple: Any) -> tuple[int, int]:
    """Return (n, n) for a number n. Return a pair as a tuple."""
    return n_positive_integers(2, int_or_tuple)  # type: ignore[return-value]


def n_positive_integers(n: int, value: Any) -> tuple[int, ...]:
    """Return a tuple of `n` numbers. The argument is one number or `n` numbers, which must be
    positive. Raises ValueError if it has any other value.
    """
    if isinstance(value, TensorShape):
        value = value.as_list()
    sizes = numbers(value, n, "value")
    if any(size < 1 for size in sizes):
        raise ValueError(f"Received `value`={value}, but its numbers must be positive")
    return sizes
