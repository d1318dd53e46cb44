"""Cross entropies: of dense or sparse labels and the softmax of logits, and of labels and the
sigmoid of logits.

The softmax ops compute the loss and its gradient with respect to the logits together. The output
`backprop` is softmax - labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import FLOATING, DType
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, broadcast_shapes
from gpugraph.graph.attr_values import whole_number
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, Signature
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.framework.changed_arguments.arguments_before_one import hint_at_old_arguments
from gpugraph.ops.framework.formula_terms import Term, decomposition
from gpugraph.ops.framework.kernel_helpers import numpy_kernels
from gpugraph.ops.framework.numpy_derivation.numpy_terms import bind_rows, numpy_rows
from gpugraph.ops.framework.op_declaration import op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope, shape_of, size_at
from gpugraph.ops.framework.shape_functions import merge_sizes, of_rank
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.framework.unbroadcasting import unbroadcast
from gpugraph.ops.nn.activations.softmax import axis_moved_to_end, shifted_and_powers
from gpugraph.ops.reductions.reduction_functions import either
from gpugraph.ops.reductions.reduction_ops import SUM

# -- kernels


def _infer_dense(context: InferContext) -> Sequence[TensorShape]:
    both = broadcast_shapes(*context.shapes)
    sizes = of_rank(both, 2, "logits and labels")
    return [TensorShape.of(sizes[:1]), TensorShape.of(sizes)]


def _dense_terms(signature: Signature, features: Term, labels: Term) -> list[Term]:
    shifted, powers, total = shifted_and_powers(features.apply("x", labels))
    loss = (labels * (total.log() - shifted)).reduced(SUM, [-1])
    return [loss, powers / total - labels]


def _is_zero(tensor: Any) -> bool:
    """Return whether a gradient is None, or is zeros that were created because an output is not
    used.
    """
    return tensor is None or tensor.op.type in ("ZerosLike", "Zeros")


def _row_times(loss_grad: Any, rows: Any) -> Any:
    return raw_ops.Mul(raw_ops.ExpandDims(loss_grad, -1), rows)


def _logits_back(op: Any, dloss: Any, dbackprop: Any) -> Any:
    """Return the gradient with respect to the logits, given the gradients of the outputs `loss` and
    `backprop`.
    """
    grad = _row_times(dloss, op.outputs[1])
    if _is_zero(dbackprop):
        return grad
    softmax = raw_ops.Softmax(op.inputs[0])
    rows, columns = raw_ops.ExpandDims(dbackprop, 1), raw_ops.ExpandDims(softmax, 2)
    mean = raw_ops.Squeeze(raw_ops.BatchMatMulV2(rows, columns), squeeze_dims=[1])
    return raw_ops.Add(grad, raw_ops.Mul(raw_ops.Sub(dbackprop, mean), softmax))


def _may_be_repeated(source: Tensor, other: Tensor) -> bool:
    """Return whether the op broadcasts `source` against `other`, or may do so in a run."""
    sizes, other_sizes = source.shape.sizes, other.shape.sizes
    if sizes is None or other_sizes is None or len(sizes) < len(other_sizes):
        return True
    return any(
        size in (1, None) and other_size != 1
        for size, other_size in zip(sizes[::-1], other_sizes[::-1], strict=False)
    )


def _dense_back(op: Any, dloss: Any, dbackprop: Any) -> list[Any]:
    features, labels = op.inputs
    dfeatures = _logits_back(op, dloss, dbackprop)
    if labels.op.type == "StopGradient":
        dlabels = None
    else:
        dlabels = _row_times(dloss, raw_ops.Neg(raw_ops.LogSoftmax(features)))
        if not _is_zero(dbackprop):
            dlabels = raw_ops.Sub(dlabels, dbackprop)
        if _may_be_repeated(labels, features):
            dlabels = unbroadcast(dlabels, labels, features)
    if _may_be_repeated(features, labels):
        dfeatures = unbroadcast(dfeatures, features, labels)
    return [dfeatures, dlabels]


_dense = op(
    "SoftmaxCrossEntropyWithLogits",
    inputs="features: T, labels: T",
    outputs="loss: T, backprop: T",
    attrs={"T": FLOATING},
    infer=_infer_dense,
    **numpy_kernels(numpy_rows(_dense_terms), decomposition(_dense_terms)),
    grad=_dense_back,
    doc=(
        "For each row, loss = -sum(labels * log(softmax(features))) and backprop = "
        "softmax(features) - labels."
    ),
)


def _infer_sparse(context: InferContext) -> Sequence[TensorShape]:
    sizes = of_rank(context.shapes[0], 2, "logits")
    (count,) = _label_sizes(context.shapes[1])
    return [TensorShape.of((merge_sizes(sizes[0], count),)), TensorShape.of(sizes)]


def _label_sizes(shape: TensorShape) -> tuple[int | None, ...]:
    """Return the sizes of the labels. Raises a Misfit (an error for invalid inputs) unless the
    labels are a vector.
    """
    return of_rank(shape, 1, "labels", f"labels must be 1-D, but got shape {shape}")


def _check_labels(labels: Any, classes: int) -> None:
    if labels.size and (labels.min() < 0 or labels.max() >= classes):
        wrong = labels.min() if labels.min() < 0 else labels.max()
        shown = " ".join(map(str, labels[:_MAX_SHOWN_LABELS])) + " ..." * (
            labels.size > _MAX_SHOWN_LABELS
        )
        raise invalid_argument(
            f"Received a label value of {wrong} which is outside the valid range of "
            f"[0, {classes}).  Label values: {shown}"
        )


_MAX_SHOWN_LABELS = 100
"""The maximum number of labels in an error message."""


def _bind_sparse(
    context: KernelContext, features: Any, labels: Any, loss: Any, backprop: Any
) -> Callable[[], Any]:
    count, classes = backprop.shape
    if backprop.size == 0:
        return partial(_check_labels, labels, classes)
    dtype = context.output_types[0].base_dtype
    shifted, log_total = context.scratch((count, classes), dtype), context.scratch((count,), dtype)
    start = bind_rows(_softmax_terms, context, [features], [shifted, log_total, backprop])
    lines = np.arange(count, like=labels)

    def run() -> None:
        _check_labels(labels, classes)
        start()
        np.subtract(log_total, shifted[lines, labels], out=loss)
        backprop[lines, labels] -= 1

    return run


def _softmax_terms(_: Signature, features: Term) -> list[Term]:
    shifted, powers, total = shifted_and_powers(features)
    return [shifted, total.log(), powers / total]


def _sparse_terms(signature: Signature, features: Term, labels: Term) -> list[Term]:
    count, classes = features.shape
    outside = f"Received a label value which is outside the valid range of [0, {classes})"
    checked = labels.expanded((count, 1)).apply("x", fails=(f"x < 0 || x >= {classes}", outside))
    hit = checked.index(classes, checked.dtype).apply("x == y", checked, dtype=dtypes.bool)
    shifted, log_total, softmax = _softmax_terms(signature, features)
    chosen = shifted.apply("y ? x : (T)0", hit).reduced(SUM, [-1])
    return [log_total - chosen, softmax.apply("y ? x - (T)1 : x", hit)]


_sparse = op(
    "SparseSoftmaxCrossEntropyWithLogits",
    inputs="features: T, labels: Tlabels",
    outputs="loss: T, backprop: T",
    attrs={"T": FLOATING, "Tlabels": INDEX},
    infer=_infer_sparse,
    **numpy_kernels(Call(make=_bind_sparse), decomposition(_sparse_terms)),
    grad=lambda op, dloss, dbackprop: [_logits_back(op, dloss, dbackprop), None],
    doc=(
        "For each row, loss = -log(softmax(features))[label] and backprop = softmax(features) - "
        "one_hot(label)."
    ),
)


# -- losses of any rank


def _need_names(function: str, sentinel: Any, labels: Any, logits: Any) -> None:
    if sentinel is not None:
        raise ValueError(
            f"Only call `{function}` with named arguments (labels=..., logits=..., ...)"
        )
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")


_NARROW = (dtypes.float16, dtypes.bfloat16)


def _precise(logits: Tensor, narrow: Sequence[DType]) -> Any:
    """Cast logits to float32 if their dtype is in `narrow`, because sums of exponentials need the
    range of float32.
    """
    if logits.dtype.base_dtype in narrow:
        return raw_ops.Cast(logits, DstT=dtypes.float32)
    return logits


def _as_rows(tensor: Tensor) -> Any:
    """Return `tensor` reshaped to a matrix whose rows lie along the tensor's last axis."""
    sizes = tensor.shape.sizes
    if sizes is not None and len(sizes) == 2:
        return tensor
    if sizes == ():
        raise ValueError("Logits and labels must have a dimension of classes, but are scalars")
    if sizes is not None and None not in sizes:
        rows = prod(sizes[:-1])  # type: ignore[arg-type]
        return raw_ops.Reshape(tensor, np.array([rows, sizes[-1]], np.int32))
    return raw_ops.Reshape(tensor, raw_ops.Pack([-1, size_at(tensor, -1)]))


def _outer_shape(tensor: Tensor) -> Any:
    shape = shape_of(tensor)
    if isinstance(shape, np.ndarray):
        return shape[:-1].copy()
    zero, end, one = (np.array([bound], np.int32) for bound in (0, -1, 1))
    return raw_ops.StridedSlice(shape, zero, end, one, begin_mask=1)


def softmax_cross_entropy_with_logits_v2(
    labels: Any,
    logits: Any,
    axis: int | None = None,
    name: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """Return -sum(labels * log(softmax(logits))) along `axis` (older name: `dim`), by default the
    last axis.

    The result has the shape of the logits without `axis`. Labels and logits both have gradients.
    float16 and bfloat16 are computed in float32.

    Args:
      labels: probability distributions. They have the logits' shape, and are cast to the logits'
        dtype.

    >>> labels, logits = [[0.0, 1.0]], [[0.0, 0.0]]
    >>> session.run(tf.nn.softmax_cross_entropy_with_logits_v2(labels, logits))
    array([0.6931472], dtype=float32)
    """
    chosen = either(axis, dim, "axis", "dim")
    _need_names("softmax_cross_entropy_with_logits", None, labels, logits)
    with op_scope(name, "softmax_cross_entropy_with_logits", logits, labels) as scope:
        source = convert_to_tensor(logits, name="logits")
        wide = _precise(source, _NARROW)
        targets = convert_to_tensor(labels, name="labels")
        if targets.dtype.base_dtype is not wide.dtype.base_dtype:
            targets = raw_ops.Cast(targets, DstT=wide.dtype.base_dtype)
        if chosen not in (None, -1) and chosen != (wide.shape.rank or 0) - 1:
            wide, targets = (
                axis_moved_to_end(tensor, whole_number("axis", chosen))
                for tensor in (wide, targets)
            )
        return _shaped_loss(source, wide, targets, scope)


def _shaped_loss(source: Tensor, logits: Any, labels: Any, scope: str) -> Tensor:
    """Return the loss of each row, in the shape of the logits without their last axis.

    Args:
      source: the logits before the cast to float32 and the transposition. The result has the dtype
        of `source`.
    """
    narrow = source.dtype.base_dtype in _NARROW
    flat = logits.shape.rank == 2
    loss: Tensor = _dense(
        _as_rows(logits), _as_rows(labels), name=scope if flat and not narrow else None
    )[0]
    if not flat:
        outer = logits.shape[:-1] if logits.shape.sizes is not None else None
        loss = raw_ops.Reshape(loss, _outer_shape(logits), name=None if narrow else scope)
        loss.set_shape(outer)
    if narrow:
        loss = raw_ops.Cast(loss, DstT=source.dtype.base_dtype, name=scope)
    return loss


@hint_at_old_arguments("nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: Any = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Tensor:
    """Return the same loss as `softmax_cross_entropy_with_logits_v2`, but without a gradient for
    the labels.

    Raises ValueError unless `labels` and `logits` are passed by name.

    >>> labels, logits = [[0.0, 1.0]], [[0.0, 0.0]]
    >>> session.run(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    array([0.6931472], dtype=float32)
    """
    _need_names("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with op_scope(name, "softmax_cross_entropy_with_logits_sg", logits, labels) as scope:
        fixed = raw_ops.StopGradient(labels, name="labels_stop_gradient")
        return softmax_cross_entropy_with_logits_v2(
            labels=fixed, logits=logits, axis=dim if axis is None else axis, name=scope
        )


@hint_at_old_arguments("nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """Return -log(softmax(logits)) at each row's label.

    The result has the labels' shape. float16 is computed in float32. Raises ValueError if the
    shapes do not match, or if labels and logits are not passed by name. A run raises
    InvalidArgumentError if a label is out of range.

    Args:
      logits: floats of shape (..., classes).
      labels: int32 or int64 numbers in [0, classes), with the shape of the logits without the last
        axis.

    >>> losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1], logits=[[0.0, 0.0]])
    >>> session.run(losses)
    array([0.6931472], dtype=float32)
    """
    _need_names("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with op_scope(name, "SparseSoftmaxCrossEntropyWithLogits", labels, logits):
        targets = convert_to_tensor(labels, name="labels")
        source = convert_to_tensor(logits, name="logits")
        logits_rank, labels_rank = source.shape.rank, targets.shape.rank
        if logits_rank == 0:
            raise ValueError(f"Logits cannot be scalars - received shape {source.shape}.")
        if None not in (logits_rank, labels_rank) and labels_rank != (logits_rank or 0) - 1:
            raise ValueError(
                f"Rank mismatch: Rank of labels (received {labels_rank}) should equal rank of "
                f"logits minus 1 (received {logits_rank})."
            )
        return _sparse_loss(targets, source, name)


def _sparse_loss(labels: Tensor, logits: Tensor, name: str | None) -> Tensor:
    wide = _precise(logits, [dtypes.float16])
    loss: Tensor
    if logits.shape.rank == 2:
        loss = _sparse(wide, labels, name=name)[0]
    else:
        flat = raw_ops.Reshape(labels, np.array([-1], np.int32))
        loss = _sparse(_as_rows(wide), flat, name=name)[0]
        loss = raw_ops.Reshape(loss, shape_of(labels))
        loss.set_shape(labels.shape)
    if logits.dtype.base_dtype is dtypes.float16:
        loss = raw_ops.Cast(loss, DstT=dtypes.float16)
    return loss


@hint_at_old_arguments("nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """Return -labels * log(sigmoid(logits)) - (1 - labels) * log(1 - sigmoid(logits)), elementwise.

    With x = logits and z = labels, the result is computed as max(x, 0) - x * z + log(1 +
    exp(-|x|)), which never overflows. Raises ValueError if the shapes differ, or if labels and
    logits are not passed by name.

    >>> session.run(tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0], logits=[0.0]))
    array([0.6931472], dtype=float32)
    """
    _need_names("sigmoid_cross_entropy_with_logits", _sentinel, labels, logits)
    with op_scope(name, "logistic_loss", logits, labels) as scope:
        x = convert_to_tensor(logits, name="logits")
        z = convert_to_tensor(labels, name="labels")
        try:
            x.shape.merge_with(z.shape)
        except ValueError as error:
            raise ValueError(
                f"logits and labels must have the same shape ({x.shape} vs {z.shape})"
            ) from error
        zeros = raw_ops.ZerosLike(x)
        positive = raw_ops.GreaterEqual(x, zeros)
        relu = raw_ops.Select(positive, x, zeros)
        less = raw_ops.Select(positive, raw_ops.Neg(x), x)
        first = raw_ops.Sub(relu, raw_ops.Mul(x, z))
        return raw_ops.Add(first, raw_ops.Log1p(raw_ops.Exp(less)), name=scope)
