"""Private functions on the shapes of weights, on names of devices and on structures."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpugraph.api import top_level as tf
from gpugraph.base import dtypes
from gpugraph.base.shapes import TensorShape
from gpugraph.building.gradients.backpropagation import gradients
from gpugraph.graph.device_names import DeviceSpec


def compute_fans(shape: Any) -> tuple[float, float]:
    """Return the numbers of inputs and outputs of a layer whose weights have a shape."""
    sizes: list[Any] = list(TensorShape(shape).as_list())
    if len(sizes) < 2:
        count = sizes[0] if sizes else 1
        return count, count
    area = functools.reduce(lambda product, size: product * size, sizes[:-2], 1)
    return sizes[-2] * area, sizes[-1] * area


def as_list(x: Any) -> list[Any]:
    """Return a list or tuple as a list, and any other object in a list."""
    return list(x) if isinstance(x, (list, tuple)) else [x]


def is_trainable(tensor: Any) -> bool:
    """Return whether the dtype of a tensor has gradients."""
    dtype = dtypes.as_dtype(tensor.dtype).base_dtype
    return bool(dtype.is_floating or dtype.is_complex)


def hessian_vector_product(ys: Any, xs: Sequence[Any], v: Sequence[Any]) -> list[Any]:
    """Return the products of vectors with the Hessians of `ys` with respect to `xs`. The Hessians
    themselves are not computed.

    Raises ValueError if the numbers of `xs` and vectors differ.

    Args:
      ys: a scalar tensor, or a list of tensors to add up.
      v: a list with a vector for each element of `xs`: a tensor of the same shape.
    """
    if len(v) != len(xs):
        raise ValueError("xs and v must have the same length.")
    products = [
        tf.multiply(slope, tf.stop_gradient(vector))
        for slope, vector in zip(gradients(ys, xs), v)
        if slope is not None
    ]
    return list(gradients(products, xs))


def canonical_name(device: Any) -> str:
    """Return the canonical text of a device's name or DeviceSpec. For None, return ""."""
    if device is None:
        return ""
    return str((DeviceSpec.from_string(device) if isinstance(device, str) else device).to_string())


def yield_value(iterable: Any) -> Iterator[Any]:
    """Yield the elements of a sequence, or the values of a dict in the order of its keys."""
    if isinstance(iterable, Mapping):
        yield from (iterable[key] for key in sorted(iterable))
    else:
        yield from iterable


def deduplicate_indexed_slices(values: Any, indices: Any) -> tuple[Any, Any]:
    """Return (the sums of the slices with equal indices, the unique indices)."""
    unique, places = tf.unique(indices)
    return tf.unsorted_segment_sum(values, places, tf.shape(unique)[0]), unique


def row_sums(x: Any) -> Any:
    """Return the sum of each row of a matrix."""
    return tf.reshape(tf.matmul(x, tf.ones(tf.stack([tf.shape(x)[1], 1]), x.dtype)), [-1])


def name_from_scope_name(name: str) -> str:
    """Return the name of a scope without the slash at its end."""
    return name.removesuffix("/")
