"""Input functions for the estimators of `tf.contrib.learn`, which return batches of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base.nest import map_structure
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.library.train.inputs.input_producers import limit_epochs
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.tensor_conversion import constant
from gpugraph.tensorflow_import.tensorflow_names import find

InputFunction = Callable[[], Any]


def _array(values: Any) -> Any:
    """Return the values as an array or a dict of arrays. Arrays of float64 are converted to
    float32.
    """
    if isinstance(values, dict):
        return {key: _array(value) for key, value in values.items()}
    array = np.asarray(values)
    return array.astype(np.float32) if array.dtype == np.float64 else array


def _length(values: Any) -> int:
    return len(next(iter(values.values())) if isinstance(values, dict) else values)


def input_function(
    x: Any, y: Any, input_fn: InputFunction | None, batch_size: int | None, is_training: bool
) -> InputFunction:
    """Return `input_fn` if it is given. Otherwise return a function that yields batches of arrays.

    In training, the examples are shuffled and repeated. Otherwise each example occurs once, in
    order. Raises ValueError if both arrays and `input_fn` are given, or neither.

    Args:
      x: the features as an array or a dict of arrays.
      y: the labels, or None.
      batch_size: the size of a batch, by default the number of examples.
    """
    if input_fn is not None:
        if x is not None or y is not None:
            raise ValueError("Can not provide both input_fn and x or y.")
        return input_fn
    if x is None:
        raise ValueError("Must provide input_fn.")
    features = _array(x)
    inputs = find("estimator.inputs", "numpy_input_fn")
    result: InputFunction = inputs(
        features,
        None if y is None else _array(y),
        batch_size=batch_size or _length(features),
        num_epochs=None if is_training else 1,
        shuffle=is_training,
        queue_capacity=max(1000, 2 * (batch_size or _length(features))),
    )
    return result


def once_if_constant(inputs: InputFunction) -> InputFunction:
    """Return an input function whose constant tensors have values in only one run, so that the
    input ends.

    Tensors from queues and datasets are not changed, because queues and datasets end by themselves.
    """

    def limited() -> Any:
        result = inputs()
        graph = get_default_graph()
        types = {operation.type for operation in graph.get_operations()}
        if graph.get_collection(GraphKeys.QUEUE_RUNNERS) or types & _ITERATORS:
            return result
        with graph.control_dependencies([limit_epochs(constant(0), 1)]):
            return map_structure(_identity, result, expand_composites=True)

    return limited


def _identity(tensor: Any) -> Any:
    return None if tensor is None else identity(tensor)


_ITERATORS = {"IteratorGetNext", "IteratorGetNextSync"}
