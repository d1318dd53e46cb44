"""`tf.contrib.layers.python.layers.utils`, with functions on collections of layers' outputs and on
the sizes of tensors.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from gpugraph.api import top_level as tf
from gpugraph.base.shapes import TensorShape
from gpugraph.building.control_flow.cond import cond
from gpugraph.building.control_flow.smart_cond import smart_cond as _smart_cond, static_bool
from gpugraph.building.variable_scope import get_variable
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.layers.configured_layer import numbers
from gpugraph.ops.framework.constant_value import constant_value as _constant_value
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add
from gpugraph.ops.random.variable_initializers import Zeros


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
    """Return an OrderedDict from aliases to tensors. If several tensors have the same alias, the
    dict contains only the last of them.
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
    """Return the collections for the variable `name`. If the argument is a dict, they are its entry
    for this name. Otherwise they are the argument itself.
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
    """Return a pair of positive numbers as a tuple. A single number n becomes (n, n)."""
    return n_positive_integers(2, int_or_tuple)  # type: ignore[return-value]


def n_positive_integers(n: int, value: Any) -> tuple[int, ...]:
    """Return `value` as a tuple of `n` positive numbers. If `value` is a single number, the number
    is repeated. Raises ValueError if `value` is neither a positive number nor a sequence of `n`
    positive numbers.
    """
    if isinstance(value, TensorShape):
        value = value.as_list()
    sizes = numbers(value, n, "value")
    if any(size < 1 for size in sizes):
        raise ValueError(f"Received `value`={value}, but its numbers must be positive")
    return sizes


# -- rnn_cell_impl


class Linear:
    """A function that multiplies matrices by weights, and returns the sum of the products plus a
    bias.

    The variables `kernel` and `bias` are created in the current variable scope.

    Args:
      args: a tensor of shape [batch, size], or a list of such tensors.
      output_size: the number of columns of the result.
      build_bias: whether a bias is added.
    """

    def __init__(
        self,
        args: Any,
        output_size: int,
        build_bias: bool,
        bias_initializer: Any = None,
        kernel_initializer: Any = None,
    ) -> None:
        if args is None or (isinstance(args, (list, tuple)) and not args):
            raise ValueError("`args` must be specified")
        parts = args if isinstance(args, (list, tuple)) else [args]
        sizes = []
        for part in parts:
            shape = part.get_shape()
            if shape.ndims != 2:
                raise ValueError(f"linear is expecting 2D arguments: {shape}")
            if shape.dims[1].value is None:
                raise ValueError(f"linear expects shape[1] to be provided for shape {shape}")
            sizes.append(shape.dims[1].value)
        self._build_bias = build_bias
        dtype = parts[0].dtype
        shape = [sum(sizes), output_size]
        self._weights = get_variable("kernel", shape, dtype, kernel_initializer)
        if build_bias:
            initializer = bias_initializer or Zeros(dtype=dtype)
            self._biases = get_variable("bias", [output_size], dtype, initializer)

    def __call__(self, args: Any) -> Any:
        parts = list(args) if isinstance(args, (list, tuple)) else [args]
        result = tf.matmul(parts[0] if len(parts) == 1 else tf.concat(parts, 1), self._weights)
        return bias_add(result, self._biases) if self._build_bias else result


def linear(
    args: Any,
    output_size: int,
    bias: bool,
    bias_initializer: Any = None,
    kernel_initializer: Any = None,
) -> Any:
    """Create a `Linear` with the same arguments, and return its result for the matrices `args`."""
    return Linear(args, output_size, bias, bias_initializer, kernel_initializer)(args)
