"""The conversion of a user's `feed_dict` to tensors, and to arrays of the tensors' dtypes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import string
from gpugraph.config import TensorConnection
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.numpy_conversion import constant_array
from gpugraph.session.fetch_structures import feed_conversion, feed_parts


def flatten_feeds(feed_dict: Mapping[Any, Any]) -> tuple[list[Any], list[Any]]:
    """Return the keys and values of a feed_dict as two flat lists.

    Keys that are nested tuples are replaced by their elements. Keys of types that were registered
    with `register_session_run_conversion_functions` are replaced by their tensors. Raises TypeError
    if a value and its key have different structures.
    """
    keys: list[Any] = []
    values: list[Any] = []
    for key, value in feed_dict.items():
        _flatten(key, value, keys, values)
    return keys, values


def _flatten(key: Any, value: Any, keys: list[Any], values: list[Any]) -> None:
    convert = feed_conversion(key)
    if convert is not None:
        for inner, item in convert(key, value):
            keys.append(inner)
            values.append(item)
        return
    if not isinstance(key, tuple):
        keys.append(key)
        values.append(value)
        return
    if not isinstance(value, (list, tuple)) or len(value) != len(key):
        raise TypeError(f"The feed key {key!r} needs one value per element, but it has {value!r}")
    for inner, item in zip(key, value):
        _flatten(inner, item, keys, values)


def flatten_feed_keys(feeds: Any) -> list[Any]:
    """Return a flat list of the keys that a partial run feeds.

    Keys of registered types are replaced by their tensors. Raises TypeError if a type was
    registered without a function for partial runs.

    Args:
      feeds: a key or a list of keys.
    """
    keys: list[Any] = []
    for key in feeds if isinstance(feeds, (list, tuple)) else [feeds]:
        parts = feed_parts(key)
        keys += [key] if parts is None else parts
    return keys


def feed_tensors(graph: Graph, keys: Sequence[Any]) -> list[Tensor]:
    """Return the tensors to which the keys of a feed_dict refer.

    Raises TypeError if a key does not refer to a tensor of this graph, and ValueError if a tensor
    cannot be fed or is fed twice.
    """
    tensors: dict[Tensor, None] = {}
    for key in keys:
        try:
            tensor = graph.as_graph_element(key, allow_operation=False)
        except (TypeError, ValueError, KeyError) as error:
            message = error.args[0] if error.args else error
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {message}") from None
        assert isinstance(tensor, Tensor)
        if not graph.is_feedable(tensor):
            raise ValueError(f"Tensor {tensor} may not be fed.")
        if tensor in tensors:
            raise ValueError(f"Tensor {tensor} is fed twice.")
        tensors[tensor] = None
    return list(tensors)


def connected_tensors(
    graph: Graph, connections: Iterable[TensorConnection], fed: Sequence[Tensor]
) -> dict[Tensor, Tensor]:
    """Return a dict from the connected tensors to the tensors that supply their values.

    Raises the errors of `feed_tensors`, and TypeError if the tensors of a pair have different
    dtypes.

    Args:
      connections: pairs of tensor names.
      fed: the tensors that the caller feeds.
    """
    connections = list(connections)
    targets = feed_tensors(graph, [connection.to_tensor for connection in connections])
    sources = [graph.get_tensor_by_name(connection.from_tensor) for connection in connections]
    for target, source in zip(targets, sources):
        if target in fed:
            raise ValueError(f"Tensor {target} is fed twice.")
        if target.dtype.base_dtype is not source.dtype.base_dtype:
            raise TypeError(f"Tensor {source} cannot be fed to {target}: their dtypes differ")
    return dict(zip(targets, sources))


def feed_array(tensor: Tensor, value: Any) -> Any:
    """Return `value` as an array of the tensor's dtype. Raises TypeError or ValueError if the
    conversion is impossible.
    """
    if isinstance(value, Tensor):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include "
            f"Python scalars, strings, lists, NumPy arrays. (For '{tensor.name}' the tensor "
            f"'{value.name}' was given: fetch it first.)"
        )
    dtype = tensor.dtype.base_dtype
    try:
        if dtype is string:
            if isinstance(value, int):
                raise _incompatible(tensor, value)
            return constant_array(value, string)
        array = np.asarray(value, dtype.as_numpy_dtype)
        if isinstance(value, int) and array != value:
            raise _incompatible(tensor, value)
        return array
    except OverflowError:
        raise _incompatible(tensor, value) from None
    except TypeError as error:
        raise TypeError(f"{error} (fed to '{tensor.name}', made at {tensor.op.origin})") from None
    except ValueError as error:
        raise ValueError(f"{error} (fed to '{tensor.name}', made at {tensor.op.origin})") from None


def _incompatible(tensor: Tensor, value: Any) -> TypeError:
    return TypeError(
        f"Type of feed value {value!r} with type {type(value)} is not compatible with Tensor type "
        f"{tensor.dtype.base_dtype.as_numpy_dtype} of '{tensor.name}'. Try explicitly setting the "
        "type of the feed tensor to a larger type (e.g. int64)."
    )


def refuse_shape(tensor: Tensor, shape: tuple[int, ...]) -> None:
    """Raise ValueError if a value of `shape` cannot be fed to the tensor."""
    if not tensor.shape.is_compatible_with(shape):
        raise ValueError(
            f"Cannot feed value of shape {shape} for Tensor '{tensor.name}', which has shape "
            f"'{tensor.shape}' (made at {tensor.op.origin})"
        )
