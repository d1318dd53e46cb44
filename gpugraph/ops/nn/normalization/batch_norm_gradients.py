"""The first and second gradients of batch normalization, computed from sums over each channel.

Let d = x - mean, r = 1 / sqrt(variance + epsilon), q = r * r, n the number of elements per channel,
and E[v] the mean of v over these elements. The first gradients of y = d r scale + offset for an
incoming dy are

    dx = scale r (dy - E[dy] - d q E[dy d])     dscale = r n E[dy d]     doffset = n E[dy]

if mean and variance are computed from the images (training). Otherwise dx is scale r dy. The second
gradients treat dy, x, scale, mean and variance as independent inputs. Mean and variance are outputs
of the forward op, and the gradient of this op adds their dependence on x.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import attrs_of, shape_of, size_at


class _Layout(NamedTuple):
    """The axes of images, for functions that sum over each channel, or broadcast one number for
    each channel.
    """

    axes: Any
    by_channel: Any
    is_last: bool

    def sum(self, value: Any) -> Any:
        """Return the sum of each channel."""
        return raw_ops.Sum(value, self.axes)

    def spread(self, vector: Any) -> Any:
        """Return `vector`, which has one number per channel, in a shape that broadcasts against
        images.
        """
        return vector if self.is_last else raw_ops.Reshape(vector, self.by_channel)


def _layout(op: Any) -> _Layout:
    if op.attrs["data_format"] in ("NHWC", b"NHWC"):
        return _Layout(np.array([0, 1, 2], np.int32), None, True)
    return _Layout(np.array([0, 2, 3], np.int32), np.array([1, -1, 1, 1], np.int32), False)


def _attrs_of(op: Any) -> dict[str, Any]:
    return attrs_of(op, ("epsilon", "data_format", "is_training"))


def _absent(grad: Any) -> bool:
    """Return whether a gradient is None, or zeros because the output is not used."""
    return grad is None or grad.op.type in ("ZerosLike", "Zeros")


def _count(images: Tensor, channels: Any, like: Any) -> Any:
    """Return the number of elements of one channel, in the dtype of `like`.

    Args:
      channels: a `_Layout`.
    """
    sizes = images.shape.sizes
    dtype = like.dtype.base_dtype
    if sizes is not None and None not in sizes:
        axis = 3 if channels.is_last else 1
        known = prod(size or 0 for index, size in enumerate(sizes) if index != axis)
        return np.asarray(known, dtype.as_numpy_dtype)
    parts = [size_at(images, int(axis)) for axis in channels.axes]
    return cast(raw_ops.Prod(raw_ops.Pack(parts), np.array([0], np.int32)), dtype)


def forward_gradient(backward: str, op: Any, dy: Any, *others: Any) -> list[Any]:
    """Return the gradients of FusedBatchNorm with respect to its five inputs.

    Args:
      backward: the op type that computes the gradients of the first three inputs.
      others: the gradients of the outputs batch_mean, batch_variance, reserve_space_1,
        reserve_space_2 and, if there is one, reserve_space_3.
    """
    x, scale = op.inputs[:2]
    training = op.attrs["is_training"]
    reserves = op.outputs[3:] if training else [*op.inputs[3:5], *op.outputs[5:]]
    gradients = getattr(raw_ops, backward)(dy, x, scale, *reserves, **_attrs_of(op))
    dx = gradients[0]
    if training and not all(_absent(grad) for grad in others[:4]):
        dx = raw_ops.Add(dx, _through_statistics(op, others))
    return [dx, gradients[1], gradients[2], None, None]


def _through_statistics(op: Any, grads: Any) -> Any:
    """Return the contribution of the outputs mean and variance to the gradient of x.

    Args:
      grads: the gradients of mean and variance.
    """
    x, mean = op.inputs[0], op.outputs[3]
    layout = _layout(op)
    by_mean, by_sample, by_reserve, by_variance = grads[:4]
    n = _count(x, layout, mean)
    one = np.asarray(1, mean.dtype.base_dtype.as_numpy_dtype)
    unbiased = raw_ops.RealDiv(n, raw_ops.Maximum(raw_ops.Sub(n, one), one))
    dmean = raw_ops.RealDiv(raw_ops.Add(by_mean, by_reserve), n)
    dvariance = raw_ops.Add(raw_ops.Mul(by_sample, unbiased), by_variance)
    twice = raw_ops.RealDiv(raw_ops.Add(dvariance, dvariance), n)
    centered = raw_ops.Sub(cast(x, mean.dtype.base_dtype), layout.spread(mean))
    moved = raw_ops.Add(layout.spread(dmean), raw_ops.Mul(centered, layout.spread(twice)))
    shaped = moved if x.shape.is_fully_defined() else raw_ops.BroadcastTo(moved, shape_of(x))
    return cast(shaped, x.dtype.base_dtype)


class _Values:
    """The terms that occur in several of the second gradients, in the dtype of the per-channel
    values.

    The module's docstring explains the names. In addition, a, b and c are the incoming gradients of
    dx, dscale and doffset.
    """

    def __init__(self, op: Any, grads: Any) -> None:
        dy, x, scale, mean, variance = op.inputs[:5]
        layout = _layout(op)
        self.sum, self.spread = layout.sum, layout.spread
        self.image_type, dtype = x.dtype.base_dtype, mean.dtype.base_dtype
        self.dy, self.a = cast(dy, dtype), cast(grads[0], dtype)
        self.b, self.c = grads[1], grads[2]  # incoming gradients of dscale and doffset
        self.scale = cast(scale, dtype)
        self.n = _count(x, layout, mean)
        self.d = raw_ops.Sub(cast(x, dtype), self.spread(mean))
        epsilon = np.asarray(op.attrs["epsilon"], dtype.as_numpy_dtype)
        self.r = raw_ops.Rsqrt(raw_ops.Add(variance, epsilon))
        self.q = raw_ops.Mul(self.r, self.r)
        self.dy_d = self.sum(raw_ops.Mul(self.dy, self.d))
        self.a_dy = self.sum(raw_ops.Mul(self.a, self.dy))


def _product(first: Any, *others: Any) -> Any:
    for factor in others:
        first = raw_ops.Mul(first, factor)
    return first


def gradient_of_gradient(op: Any, *grads: Any) -> list[Any]:
    """Return the gradients of FusedBatchNormGrad with respect to dy, x, scale, mean and
    variance.
    """
    v = _Values(op, grads)
    half = np.asarray(0.5, v.r.dtype.base_dtype.as_numpy_dtype)
    factor = raw_ops.Mul(v.scale, v.r)
    by_dy = raw_ops.Mul(v.a, v.spread(factor))
    inner = v.a_dy  # the sum of a * dx / (scale * r)
    by_d = raw_ops.Mul(v.dy, v.spread(raw_ops.Mul(v.b, v.r)))
    moving = None
    if op.attrs["is_training"]:
        sum_a, sum_dy = v.sum(v.a), v.sum(v.dy)
        share = raw_ops.RealDiv(v.q, v.n)
        a_d = v.sum(raw_ops.Mul(v.a, v.d))
        lost = raw_ops.Add(
            v.spread(raw_ops.RealDiv(sum_a, v.n)),
            raw_ops.Mul(v.d, v.spread(raw_ops.Mul(a_d, share))),
        )
        by_dy = raw_ops.Sub(by_dy, raw_ops.Mul(lost, v.spread(factor)))
        moving = _product(a_d, v.dy_d, share)
        inner = raw_ops.Sub(
            inner, raw_ops.Add(raw_ops.RealDiv(raw_ops.Mul(sum_a, sum_dy), v.n), moving)
        )
        both = raw_ops.Add(raw_ops.Mul(v.a, v.spread(v.dy_d)), raw_ops.Mul(v.dy, v.spread(a_d)))
        by_d = raw_ops.Sub(by_d, raw_ops.Mul(both, v.spread(raw_ops.Mul(factor, share))))
    slope = raw_ops.Add(raw_ops.Mul(v.d, v.spread(raw_ops.Mul(v.b, v.r))), v.spread(v.c))
    by_variance = _product(
        v.q, half, raw_ops.Add(_product(factor, inner), _product(v.b, v.dy_d, v.r))
    )
    by_variance = raw_ops.Neg(by_variance)
    if moving is not None:
        by_variance = raw_ops.Add(by_variance, _product(factor, moving, v.q))
    return [
        cast(raw_ops.Add(by_dy, slope), v.image_type),
        cast(by_d, v.image_type),
        cast(raw_ops.Mul(v.r, inner), op.inputs[2].dtype.base_dtype),
        raw_ops.Neg(v.sum(by_d)),
        by_variance,
        *[None] * (len(op.inputs) - 5),
    ]
