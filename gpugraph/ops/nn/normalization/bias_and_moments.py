"""bias_add, which adds a bias to each channel, moments, and batch_normalization, which normalizes
by mean and variance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import NUMERIC
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, Elementwise, KernelContext, OpMemory, Signature
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.formula_terms import Term, decomposition
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.kernel_registry import add_kernel
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import int_argument, op_scope, shape_of
from gpugraph.ops.framework.shape_functions import UNKNOWN, of_rank
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.nn.activations.relu_and_elu import relu
from gpugraph.ops.reductions.reduction_ops import SUM

# -- bias


def _channel_axis(attrs: Any, rank: int) -> int:
    """Return the channel axis of a tensor of this rank. Raises ValueError if the rank is below
    2.
    """
    if rank < 2:
        raise ValueError(f"Shape must be at least rank 2 but is rank {rank}")
    data_format = attrs["data_format"]
    return 1 if data_format in ("NCHW", b"NCHW") else rank - 1


def _infer_bias_add(context: InferContext) -> Sequence[TensorShape]:
    sizes = context.shapes[0].sizes
    channels = of_rank(context.shapes[1], 1, "bias")[0]
    if sizes is None:
        return [UNKNOWN]
    axis = _channel_axis(context.attrs, len(sizes))
    if channels is not None and sizes[axis] not in (None, channels):
        raise ValueError(f"Dimensions must be equal, but are {sizes[axis]} and {channels}")
    merged = channels if sizes[axis] is None else sizes[axis]
    return [TensorShape.of((*sizes[:axis], merged, *sizes[axis + 1 :]))]


def _bind_bias_add(context: KernelContext, value: Any, bias: Any, out: Any) -> Callable[[], Any]:
    after = value.ndim - 1 - _channel_axis(context.attrs, value.ndim)
    return partial(np.add, value, bias.reshape((-1, *(1,) * after)) if after else bias, out)


def _bias_terms(signature: Signature, value: Term, bias: Term) -> list[Term]:
    rank = len(value.shape)
    after = rank - 1 - _channel_axis(signature.attrs, rank)
    return [value + (bias.expanded((*bias.shape, *(1,) * after)) if after else bias)]


def _bias_add_back(op: Any, dy: Any) -> list[Any]:
    return [dy, raw_ops.BiasAddGrad(dy, data_format=op.attrs["data_format"])]


_BIAS_ATTRS = {"T": NUMERIC, "data_format": Attr("string", "NHWC", allowed=("NHWC", "NCHW"))}

_bias_add = op(
    "BiasAdd",
    inputs="value: T, bias: T",
    outputs="output: T",
    attrs=_BIAS_ATTRS,
    infer=_infer_bias_add,
    memory=OpMemory(alias={0: 0}),
    **numpy_kernels(Call(make=_bind_bias_add), decomposition(_bias_terms)),
    grad=_bias_add_back,
    doc=(
        "value + bias, with one bias per channel. The channels are the last axis (NHWC) or the "
        "second axis (NCHW)."
    ),
)

# Along the last axis, this is ordinary broadcasting, so that an elementwise kernel can be fused.
_LAST_AXIS: Any = {"data_format": ["NHWC", b"NHWC"]}
add_kernel(
    "BiasAdd", "GPU", Elementwise("x + y", Call(make=_bind_bias_add)), types=_LAST_AXIS, priority=1
)


def _infer_bias_grad(context: InferContext) -> Sequence[TensorShape]:
    sizes = context.shapes[0].sizes
    if sizes is None:
        return [TensorShape.of((None,))]
    return [TensorShape.of((sizes[_channel_axis(context.attrs, len(sizes))],))]


def _bind_bias_grad(context: KernelContext, dy: Any, out: Any) -> Callable[[], Any]:
    axis = _channel_axis(context.attrs, dy.ndim)
    rows, after = prod(dy.shape[:axis]), prod(dy.shape[axis + 1 :])
    if after != 1:
        return partial(dy.reshape(rows, dy.shape[axis], after).sum, (0, 2), None, out)
    matrix = dy.reshape(rows, dy.shape[axis])
    if context.input_types[0].base_dtype in (dtypes.float32, dtypes.float64):
        ones = np.ones(
            rows, dy.dtype, like=dy
        )  # a product with ones, because BLAS sums columns several times faster
        return partial(np.matmul, ones, matrix, out)
    return partial(matrix.sum, 0, None, out)


def _channel_sum_terms(signature: Signature, dy: Term) -> list[Term]:
    rank = len(dy.shape)
    channels = _channel_axis(signature.attrs, rank)
    return [dy.reduced(SUM, [axis for axis in range(rank) if axis != channels])]


def _channels_then_ones(source: Tensor) -> Any:
    """Return the shape (-1, 1, ..., 1), with one dimension less than the rank of `source`."""
    rank = source.shape.rank
    if rank is not None:
        return np.array((-1, *(1,) * (rank - 2)), np.int32)
    ones = raw_ops.Fill(raw_ops.ExpandDims(raw_ops.Sub(raw_ops.Rank(source), 2), 0), 1)
    return raw_ops.ConcatV2([np.array([-1], np.int32), ones], 0)


def _bias_grad_back(op: Any, ddy: Any) -> Any:
    """Broadcast `ddy`, which has one number per channel, along all axes except the channel axis."""
    source, data_format = op.inputs[0], op.attrs["data_format"]
    if data_format in ("NCHW", b"NCHW"):
        ddy = raw_ops.Reshape(ddy, _channels_then_ones(source))
    return raw_ops.BroadcastTo(ddy, shape_of(source))


op(
    "BiasAddGrad",
    inputs="out_backprop: T",
    outputs="output: T",
    attrs=_BIAS_ATTRS,
    infer=_infer_bias_grad,
    **numpy_kernels(Call(make=_bind_bias_grad), decomposition(_channel_sum_terms)),
    grad=_bias_grad_back,
    doc="The sum over all axes except the channel axis.",
)


def bias_add(value: Any, bias: Any, data_format: Any = None, name: str | None = None) -> Tensor:
    """Return `value` + `bias`. The bias is a vector with an element for each channel of `value`.

    Channels are the last axis (data_format "N...C" or "NHWC", the default) or the second axis
    ("NC..." or "NCHW"). Raises ValueError if `data_format` is unknown, if the value has rank 0 or
    1, or if the numbers of channels differ.

    >>> session.run(tf.nn.bias_add([[1.0, 2.0]], [10.0, 20.0]))
    array([[11., 22.]], dtype=float32)
    """
    if data_format is None or data_format in ("NHWC", "NWC", "NDHWC", "N...C"):
        layout = "NHWC"
    elif data_format in ("NCHW", "NCW", "NCDHW", "NC..."):
        layout = "NCHW"
    else:
        raise ValueError("data_format must be of the form `N...C` or `NC...`")
    return _bias_add(value, bias, data_format=layout, name=name or "BiasAdd")


def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """Return matmul(x, weights) + biases, for two matrices and a vector of biases."""
    with op_scope(name, "xw_plus_b", x, weights, biases) as scope:
        return bias_add(matmul(x, weights), biases, name=scope)


def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """Return relu(matmul(x, weights) + biases), for two matrices and a vector of biases."""
    with op_scope(name, "relu_layer", x, weights, biases) as scope:
        source = convert_to_tensor(x, name="x")
        matrix = convert_to_tensor(weights, name="weights")
        added = convert_to_tensor(biases, name="biases")
        return relu(bias_add(matmul(source, matrix), added), name=scope)


# -- moments


def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Return (mean, variance) of `x` over `axes`. The variance is divided by n, not by n - 1.

    float16 is averaged in float32. `shift` has no effect. If `keepdims` (older name: `keep_dims`)
    is true, the reduced axes are kept with size 1.

    >>> session.run(tf.nn.moments(tf.constant([1.0, 3.0]), axes=[0]))
    (np.float32(2.0), np.float32(1.0))
    """
    del shift
    keep = bool(keep_dims if keepdims is None else keepdims)
    with op_scope(name, "moments", x):
        source = convert_to_tensor(x, name="x")
        narrow = source.dtype.base_dtype is dtypes.float16
        wide = raw_ops.Cast(source, DstT=dtypes.float32) if narrow else source
        over = int_argument(axes)
        mean = raw_ops.Mean(wide, over, keep_dims=True, name="mean")
        distance = raw_ops.SquaredDifference(wide, raw_ops.StopGradient(mean))
        variance = raw_ops.Mean(distance, over, keep_dims=True, name="variance")
        if not keep:
            mean, variance = (_without(value, over) for value in (mean, variance))
        if narrow:
            mean, variance = (raw_ops.Cast(v, DstT=dtypes.float16) for v in (mean, variance))
        return mean, variance


def _without(value: Tensor, axes: Any) -> Any:
    """Return `value` without `axes`, all of which must have size 1."""
    if isinstance(axes, Tensor):
        return raw_ops.Sum(value, axes)  # this drops the axes, whose size is 1
    chosen = [int(axis) for axis in np.atleast_1d(np.asarray(axes, np.int64))]
    return raw_ops.Squeeze(value, squeeze_dims=chosen) if chosen else value


def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: float,
    name: str | None = None,
) -> Tensor:
    """Return (x - mean) / sqrt(variance + variance_epsilon) * scale + offset.

    All arguments are broadcast against `x`. `offset` and `scale` may be None.

    >>> y = tf.nn.batch_normalization([1.0, 3.0], 2.0, 1.0, 0.0, 1.0, variance_epsilon=0.0)
    >>> session.run(y)
    array([-1.,  1.], dtype=float32)
    """
    with op_scope(name, "batchnorm", x, mean, variance, scale, offset):
        source = convert_to_tensor(x, name="x")
        factor = raw_ops.Rsqrt(convert_to_tensor(variance) + variance_epsilon)
        if scale is not None:
            factor = factor * scale
        scaled = source * cast(factor, source.dtype.base_dtype)
        moved = -convert_to_tensor(mean) * factor if offset is None else offset - mean * factor
        return scaled + cast(moved, source.dtype.base_dtype)
