"""Functions that are composed of reductions: variance, norms, counts, sums and products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.shapes import as_shape
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import zeros, zeros_like
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.framework.identity_and_shape import identity, size
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_n_to_tensor, convert_to_tensor
from gpugraph.ops.reductions.reduction_functions import either, reduce_mean, reduce_sum, reduce_with


def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return the variance along `axis`: the mean of the squared distances from the mean.

    Raises TypeError if the dtype is an integer dtype.

    Args:
      axis, keepdims: see `reduce_sum`.
    """
    with op_scope(name, "reduce_variance"):
        x = convert_to_tensor(input_tensor)
        if x.dtype.is_integer:
            raise TypeError(f"There is no variance of integers, but x is {x.dtype.name}")
        return reduce_mean(raw_ops.Square(x - reduce_mean(x, axis, True)), axis, keepdims)


def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return the standard deviation along `axis`. See `reduce_variance` for the arguments and
    errors.
    """
    with op_scope(name, "reduce_std"):
        return raw_ops.Sqrt(reduce_variance(input_tensor, axis, keepdims))


def reduce_euclidean_norm(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return the square root of the sum of the squares along `axis` (see `reduce_sum`).

    For integers, the root is truncated. For complex numbers, the absolute values are squared.
    """
    source = convert_to_tensor(input_tensor)
    if source.dtype.is_complex:
        with op_scope(name, "EuclideanNorm", source) as scope:
            real = raw_ops.Real(source * conj(source), Tout=source.dtype.real_dtype)
            squares = reduce_sum(real, axis, keepdims)
            return cast(raw_ops.Sqrt(squares), source.dtype.base_dtype, name=scope)
    return reduce_with(raw_ops.EuclideanNorm, input_tensor, axis, keepdims, name)


def count_nonzero(
    input_tensor: Any = None,
    axis: Any = None,
    keepdims: bool | None = None,
    dtype: Any = dtypes.int64,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: bool | None = None,
    input: Any = None,
) -> Tensor:
    """Return the number of nonzero elements along `axis` as a tensor of `dtype`. See `reduce_sum`
    for the arguments.

    `input` is another name of `input_tensor`. Raises ValueError unless exactly one of these two
    arguments is passed.

    >>> session.run(tf.count_nonzero([0, 1, 2]))
    np.int64(2)
    """
    keep = bool(either(keepdims, keep_dims, "keepdims", "keep_dims"))
    source = either(input, input_tensor, "input", "input_tensor")
    if source is None:
        raise ValueError("count_nonzero needs an input")
    where = either(axis, reduction_indices, "axis", "reduction_indices")
    with op_scope(name, "count_nonzero"):
        x = convert_to_tensor(source, name="input")
        there = raw_ops.NotEqual(x, zeros([], x.dtype.base_dtype))
        total = reduce_sum(cast(there, dtypes.int64), where, keep)
        return cast(total, dtype)


_NO_SUM = "inputs must be a list of at least one Tensor with the same dtype and shape"


def accumulate_n(
    inputs: Sequence[Any], shape: Any = None, tensor_dtype: Any = None, name: str | None = None
) -> Tensor:
    """Return the sum of a list of tensors with the same shape and dtype.

    Unlike `add_n`, it does not accept IndexedSlices. Raises ValueError if the list is empty, or if
    an item is not a tensor. Also raises ValueError if the shape or dtype of a tensor differs from
    that of the first tensor, or from `shape` and `tensor_dtype`.
    """
    items = list(inputs) if isinstance(inputs, (list, tuple)) else []
    if not items:
        raise ValueError(_NO_SUM)
    if any(isinstance(item, IndexedSlices) for item in items):
        raise ValueError("accumulate_n adds tensors, but one is IndexedSlices")
    tensors = convert_n_to_tensor(items)
    first = tensors[0].dtype.base_dtype
    if any(tensor.dtype.base_dtype is not first for tensor in tensors):
        raise ValueError(f"{_NO_SUM}: {[tensor.dtype.name for tensor in tensors]}")
    if tensor_dtype is not None and tensor_dtype != first:
        raise TypeError(f"tensor_dtype is {tensor_dtype}, but the inputs are {first.name}")
    known = as_shape(shape)
    for tensor in tensors:
        known = known.merge_with(tensor.shape)
    if len(tensors) == 1:
        return tensors[0] if name is None else raw_ops.Identity(tensors[0], name=name)
    total = raw_ops.AddN(tensors, name=name or "AccumulateNV2")
    total.set_shape(known)
    return total


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """Return `scalar` times a tensor, or times the values of IndexedSlices.

    Raises ValueError if `scalar` is not a scalar.
    """
    slices = isinstance(x, IndexedSlices)
    wanted = x.values.dtype if slices else getattr(x, "dtype", None)
    number = convert_to_tensor(scalar, getattr(wanted, "base_dtype", wanted), name="scalar")
    if number.shape.rank not in (None, 0):
        raise ValueError(f"Only a scalar multiplies here, but its shape is {number.shape}")
    if slices:
        return IndexedSlices(raw_ops.Mul(number, x.values, name=name), x.indices, x.dense_shape)
    return raw_ops.Mul(number, x, name=name)


def lbeta(x: Any, name: str | None = None) -> Tensor:
    """Return the logarithm of the beta function along the last axis, which is sum(lgamma(x)) -
    lgamma(sum(x)).

    The result has the shape x.shape[:-1]. If the axis is empty, it is -inf.
    """
    with op_scope(name, "lbeta", x):
        tensor = convert_to_tensor(x, name="x")
        last = np.array([-1], np.int32)
        logs = raw_ops.Sum(raw_ops.Lgamma(tensor), last)
        return logs - raw_ops.Lgamma(raw_ops.Sum(tensor, last))


def polyval(coeffs: Any, x: Any, name: str | None = None) -> Tensor:
    """Evaluate the polynomial c[0] x ** (n - 1) + ... + c[n - 1], elementwise, by Horner's scheme.

    Raises ValueError if `coeffs` is not a list.

    Args:
      coeffs: the list c of numbers or tensors. The coefficient of the highest power comes first.
    """
    if not isinstance(coeffs, list):
        raise ValueError(f"coeffs must be a list, but is of type {type(coeffs).__name__}")
    with op_scope(name, "polyval", coeffs, x):
        tensor = convert_to_tensor(x, name="x")
        if not coeffs:
            return zeros_like(tensor)
        terms = [
            convert_to_tensor(coefficient, name=f"coeff_{index}")
            for index, coefficient in enumerate(coeffs)
        ]
        total = terms[0]
        for term in terms[1:]:
            total = term + total * tensor
        return total


def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """Return the fraction of the elements that are 0, a float32 scalar. For an empty tensor, it is
    NaN.

    >>> session.run(tf.nn.zero_fraction([0, 1, 0, 2]))
    np.float32(0.5)
    """
    with op_scope(name, "zero_fraction", value):
        tensor = convert_to_tensor(value, name="value")
        count = size(tensor, out_type=dtypes.int64)
        zeros = cast(count - count_nonzero(tensor), dtypes.float32)
        return identity(zeros / cast(count, dtypes.float32), name="fraction")
