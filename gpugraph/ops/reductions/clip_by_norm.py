"""The clipping of tensors: of each element to limits, or of all elements together by their norm.

For IndexedSlices, the values are clipped, and the result is IndexedSlices. If an index is repeated,
each of its rows contributes to the norm separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base import dtypes
from gpugraph.graph.client.default_graph_functions import colocate_with
from gpugraph.graph.client.indexed_slices import IndexedSlices
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import stack
from gpugraph.ops.arrays.constants_and_placeholders import ones_like
from gpugraph.ops.elementwise.arithmetic_functions import maximum, minimum, multiply
from gpugraph.ops.elementwise.comparison_and_select import where
from gpugraph.ops.elementwise.unary_functions import rsqrt, sqrt
from gpugraph.ops.framework.identity_and_shape import identity, rank, size
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.reductions.ranges_and_running_sums import range as range_of
from gpugraph.ops.reductions.reduction_functions import l2_loss, reduce_sum


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """Return `t` with its elements clipped to [clip_value_min, clip_value_max].

    The limits are scalars, or tensors that are broadcast to the shape of `t`. Raises ValueError if
    the broadcast result would not have the shape of `t`.

    >>> session.run(tf.clip_by_value([-2.0, 0.5, 3.0], -1.0, 1.0))
    array([-1. ,  0.5,  1. ], dtype=float32)
    """
    with op_scope(name, "clip_by_value", t, clip_value_min, clip_value_max) as scope:
        values = _values(t)
        lowered = minimum(values, clip_value_max)
        values.shape.assert_is_compatible_with(lowered.shape)
        clipped = maximum(lowered, clip_value_min, name=scope)
        values.shape.assert_is_compatible_with(clipped.shape)
        return _like(t, clipped)


def _values(t: Any) -> Tensor:
    """Return the tensor to clip. For IndexedSlices, it is their values."""
    return convert_to_tensor(_rows(t), name="t")


def _like(t: Any, values: Tensor) -> Any:
    """Return the clipped `values`, as IndexedSlices if `t` is IndexedSlices."""
    if isinstance(t, IndexedSlices):
        return IndexedSlices(values, t.indices, t.dense_shape)
    return values


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """Return `t`, or t * clip_norm / norm where the l2 norm of `t` exceeds `clip_norm`.

    If `t` is zeros, it is returned unchanged, and has a finite gradient. Raises ValueError if the
    result would not have the shape of `t`.

    Args:
      axes: the axes over which norms are computed, by default all axes, which gives a single norm.
      clip_norm: a scalar above 0, or a tensor that is broadcast against the norms.
    """
    with op_scope(name, "clip_by_norm", t, clip_norm) as scope:
        values = _values(t)
        squares = reduce_sum(values * values, axes, keepdims=True)
        some = squares > 0
        norm = where(some, sqrt(where(some, squares, ones_like(squares))), squares)
        scaled = values * clip_norm
        values.shape.assert_is_compatible_with(scaled.shape)
        return _like(t, identity(scaled / maximum(norm, clip_norm), name=scope))


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """Return `t`, scaled down if its l2 norm divided by its number of elements exceeds `clip_norm`.

    As in TensorFlow, the result is t * clip_norm * min(number of elements / norm, 1 / clip_norm).

    Args:
      clip_norm: a scalar above 0.
    """
    with op_scope(name, "clip_by_average_norm", t, clip_norm) as scope:
        values = convert_to_tensor(t, name="t")
        count = cast(size(values), dtypes.float32)
        inverse = rsqrt(reduce_sum(values * values, range_of(rank(values))))
        scaled = values * clip_norm
        factor = minimum(inverse * count, constant(1.0) / clip_norm)
        return identity(scaled * factor, name=scope)


def global_norm(t_list: Any, name: str | None = None) -> Tensor:
    """Return the l2 norm of all elements of all tensors together, a scalar.

    Raises TypeError if `t_list` is not a sequence.

    Args:
      t_list: a sequence of tensors of the same floating-point dtype. Items that are None are
        skipped.
    """
    _check_sequence(t_list)
    with op_scope(name, "global_norm", *t_list):
        halves = []
        for tensor in _tensors(t_list):
            if tensor is not None:
                with colocate_with(tensor.op):
                    halves.append(l2_loss(tensor))
        half = reduce_sum(stack(halves))
        return sqrt(multiply(half, constant(2.0, half.dtype)), name="global_norm")


def clip_by_global_norm(
    t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Tensor | None], Tensor]:
    """Scale all tensors down by the same factor, so that their global norm is at most `clip_norm`.

    Args:
      t_list: a sequence of tensors of the same floating-point dtype. An item may be None.
      clip_norm: a scalar above 0.
      use_norm: the global norm, if the caller has already computed it.

    >>> clipped, norm = tf.clip_by_global_norm([[3.0, 4.0]], 1.0)
    >>> session.run(norm)
    np.float32(5.0)

    Return two values: the list of `t * clip_norm / max(norm, clip_norm)`, in which an item None
    stays None, and the global norm. If the norm is infinite or NaN, all elements become NaN, which
    makes the failure visible. Raises TypeError if `t_list` is not a sequence. Source: Pascanu et
    al., arXiv:1211.5063.
    """
    _check_sequence(t_list)
    norm: Tensor = global_norm(t_list, name) if use_norm is None else convert_to_tensor(use_norm)
    with op_scope(name, "clip_by_global_norm", *t_list, clip_norm) as scope:
        one = constant(1.0, norm.dtype)
        scale = clip_norm * minimum(1.0 / norm, one / clip_norm)
        scale = scale + (norm - norm)  # adds 0, or NaN if the norm is not finite
        clipped: list[Any] = []
        for index, (item, tensor) in enumerate(zip(t_list, _tensors(t_list))):
            if tensor is None:
                clipped.append(None)
                continue
            with colocate_with(tensor.op):
                clipped.append(_like(item, identity(tensor * scale, name=f"{scope}_{index}")))
    return clipped, norm


def _check_sequence(t_list: Any) -> None:
    if not isinstance(t_list, Sequence) or isinstance(t_list, str):
        raise TypeError(f"t_list should be a sequence of tensors, but it is {t_list!r}")


def _tensors(t_list: Sequence[Any]) -> list[Tensor | None]:
    """Return the items as tensors or None. IndexedSlices are replaced by their values."""
    return [
        None if item is None else convert_to_tensor(_rows(item), name=f"t_{index}")
        for index, item in enumerate(t_list)
    ]


def _rows(t: Any) -> Any:
    return t.values if isinstance(t, IndexedSlices) else t
