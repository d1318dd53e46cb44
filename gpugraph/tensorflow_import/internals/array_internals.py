"""Internal functions of `tensorflow.python.ops` on tensors and their shapes."""

from __future__ import annotations

import hashlib
from typing import Any

from gpugraph.api import top_level as tf
from gpugraph.base import dtypes
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.op_declaration import raw_ops


def shape_internal(
    input: Any, name: Any = None, optimize: bool = True, out_type: Any = None
) -> Any:
    """Return the shape as a tensor of type `out_type`, which is int32 by default."""
    return tf.shape(input, name, out_type or dtypes.int32)


def size_internal(input: Any, name: Any = None, optimize: bool = True, out_type: Any = None) -> Any:
    """Return the number of elements as a tensor of type `out_type`, which is int32 by default."""
    return tf.size(input, name, out_type or dtypes.int32)


def rank_internal(input: Any, name: Any = None, optimize: bool = True) -> Any:
    """Return the number of dimensions as an int32 tensor."""
    return tf.rank(input, name)


def boolean_mask_v2(tensor: Any, mask: Any, axis: Any = None, name: str = "boolean_mask") -> Any:
    """Call `tf.boolean_mask` with the arguments of version 2."""
    return tf.boolean_mask(tensor, mask, name, axis)


def bucketize(input: Any, boundaries: Any, name: str | None = None) -> Any:
    """Return a tensor that contains, for each element, the index of its bucket.

    Args:
      boundaries: ascending numbers.
    """
    return raw_ops.Bucketize(input, boundaries=boundaries, name=name)


def _as_vector(size: Any, name: str) -> tuple[Any, list[int | None] | None]:
    """Return a pair of a vector tensor and a list, which both contain the numbers of `size`. The
    tensor is None if `size` is not a tensor and a number is unknown. In the list, unknown numbers
    are None. The list is None if the rank of a shape or the value of a tensor is unknown.
    """
    if not isinstance(size, Tensor):
        shape = TensorShape(size if isinstance(size, TensorShape | list | tuple) else [size])
        known = shape.as_list() if shape.rank is not None else None
        is_known = known is not None and None not in known
        return (tf.constant(known, dtypes.int32) if is_known else None), known
    known = constant_value(size)
    if size.shape.rank == 0:
        size = tf.expand_dims(size, 0)
    elif size.shape.rank != 1:
        raise ValueError(f"{name} tensor must be either a scalar or vector, but saw tensor: {size}")
    return size, None if known is None else known.reshape(-1).tolist()


def concat_sizes(prefix: Any, suffix: Any, static: bool = False) -> Any:
    """Return the numbers in `prefix`, followed by the numbers in `suffix`, as a tensor. If `static`
    is true, return a list, or None if the numbers are unknown.

    Each argument is a number, a TensorShape or a tensor. Raises ValueError if a tensor is requested
    and a number is unknown.
    """
    (first, first_known), (last, last_known) = (
        _as_vector(prefix, "prefix"),
        _as_vector(suffix, "suffix"),
    )
    if static:
        unknown = first_known is None or last_known is None
        return None if unknown else [*(first_known or []), *(last_known or [])]
    if first is None or last is None:
        raise ValueError(f"Provided a prefix or suffix of None: {prefix} and {suffix}")
    return tf.concat([first, last], 0)


def transpose_batch_time(x: Any) -> Any:
    """Return the tensor with its first two dimensions exchanged. A scalar or vector is returned
    unchanged.
    """
    x = tf.convert_to_tensor(x)
    if x.shape.rank is not None and x.shape.rank < 2:
        return x
    result = tf.transpose(x, tf.concat([[1, 0], tf.range(2, tf.rank(x))], 0))
    sizes = x.shape.sizes
    if sizes is not None:
        result.set_shape([sizes[1], sizes[0], *sizes[2:]])
    return result


def assert_float_dtype(dtype: Any) -> Any:
    """Return the dtype. Raises ValueError if it is not floating point."""
    if not dtype.is_floating:
        raise ValueError(f"Expected floating point type, got {dtype}.")
    return dtype


def shape_to_tensor(
    s: TensorShape, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    """Return a known shape as a tensor of type int32 or int64."""
    return tf.constant(s.as_list(), dtype or dtypes.int32, name=name or "Const")


def record_gradient(*arguments: Any) -> None:
    """Do nothing, because in graph mode gradients are computed from the graph."""


def gen_new_seed(seed: int | None, salt: str) -> int | None:
    """Return a seed that is computed from `seed` and `salt`. Return None if `seed` is None."""
    if seed is None:
        return None
    digest = hashlib.md5(f"{seed}{salt}".encode()).hexdigest()
    return int(digest[:8], 16) & 0x7FFFFFFF


def numpy_text(tensor: Any, is_repr: bool = False) -> str:
    """Return a text in place of a tensor's value, because the value is unknown in a graph."""
    return "<unprintable>"


def _in_place(op: Any, x: Any, i: Any, v: Any) -> Any:
    """Apply an op to rows of `x`: the rows in the vector `i`, the row in the scalar `i`, or all of
    them if `i` is None.
    """
    source = tf.convert_to_tensor(x)
    values = tf.convert_to_tensor(v, source.dtype)
    if i is None:
        whole = op(tf.reshape(source, [1, -1]), [0], tf.reshape(values, [1, -1]))
        return tf.reshape(whole, tf.shape(source))
    rows = tf.cast(i, dtypes.int32)
    if rows.shape.rank == 0:
        return op(source, tf.reshape(rows, [1]), tf.expand_dims(values, 0))
    return op(source, rows, values)


def alias_inplace_update(x: Any, i: Any, v: Any) -> Any:
    """Return `x` with the rows `i` replaced by `v`. `x` may lose its value."""
    return _in_place(raw_ops.InplaceUpdate, x, i, v)


def alias_inplace_add(x: Any, i: Any, v: Any) -> Any:
    """Return `x` with `v` added to the rows `i`. `x` may lose its value."""
    return _in_place(raw_ops.InplaceAdd, x, i, v)


def alias_inplace_sub(x: Any, i: Any, v: Any) -> Any:
    """Return `x` with `v` subtracted from the rows `i`. `x` may lose its value."""
    return _in_place(raw_ops.InplaceSub, x, i, v)


def inplace_update(x: Any, i: Any, v: Any) -> Any:
    """Return a copy of `x` with the rows `i` replaced by `v`."""
    return alias_inplace_update(raw_ops.DeepCopy(x), i, v)


def inplace_add(x: Any, i: Any, v: Any) -> Any:
    """Return a copy of `x` with `v` added to the rows `i`."""
    return alias_inplace_add(raw_ops.DeepCopy(x), i, v)


def inplace_sub(x: Any, i: Any, v: Any) -> Any:
    """Return a copy of `x` with `v` subtracted from the rows `i`."""
    return alias_inplace_sub(raw_ops.DeepCopy(x), i, v)
