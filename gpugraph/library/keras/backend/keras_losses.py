"""Cross entropies of probabilities or logits, for each example or element, and the hard sigmoid.

If the probabilities are the output of a softmax or sigmoid op, the loss is computed from the input
of that op, the logits. This computation avoids a loss of precision for probabilities near 0.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import int64
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.backend_config import epsilon
from gpugraph.library.keras.backend.keras_variables import place_of_axis
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.reshape_and_transpose import reshape, transpose
from gpugraph.ops.elementwise.unary_functions import log
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.losses.cross_entropy_ops import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from gpugraph.ops.reductions.clip_by_norm import clip_by_value
from gpugraph.ops.reductions.reduction_functions import reduce_sum


def categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """Return the cross entropy along `axis` of probabilities, or of logits if `from_logits` is
    true.

    The result does not have the axis `axis`. Probabilities are divided by their sum, and clipped to
    [epsilon(), 1 - epsilon()].

    Args:
      target, output: tensors of the same shape, which is [..., classes] if `axis` is the last axis.
    """
    output = convert_to_tensor(output)
    logits = output if from_logits else _logits_of(output, "Softmax")
    if logits is None:
        axis = axis % len(output.shape)
        output = _cut(output / reduce_sum(output, axis, True))
        return -reduce_sum(target * log(output), axis)
    return softmax_cross_entropy_with_logits_v2(labels=target, logits=logits, axis=axis)


def sparse_categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """Return the cross entropies of `categorical_crossentropy` for targets that are class indices.

    The result is a vector. If the output has three or more axes, the result has the output's shape
    without `axis` instead.

    Args:
      target: one index for each vector of `output` along `axis`, in any shape.
    """
    output = convert_to_tensor(output)
    logits = output if from_logits else _logits_of(output, "Softmax")
    if logits is None:
        logits = log(_cut(output))
    rank = len(logits.shape)
    axis = place_of_axis(logits, axis)
    if axis != rank - 1:
        logits = transpose(logits, [*range(axis), *range(axis + 1, rank), axis])
    classes = cast(reshape(target, [-1]), int64)
    losses = sparse_softmax_cross_entropy_with_logits(
        labels=classes, logits=reshape(logits, [-1, int(logits.shape[-1])])
    )
    return reshape(losses, shape(logits)[:-1]) if rank >= 3 else losses


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Tensor:
    """Return the cross entropy of each element of `output`, which is a probability of class 1, or a
    logit.

    Args:
      target: 0 or 1 for each element, or a probability.
    """
    output = convert_to_tensor(output)
    logits = output if from_logits else _logits_of(output, "Sigmoid")
    if logits is None:
        output = _cut(output)
        likelihood = target * log(output + epsilon())
        return -(likelihood + (1.0 - target) * log(1.0 - output + epsilon()))
    return sigmoid_cross_entropy_with_logits(labels=target, logits=logits)


def _logits_of(output: Tensor, op_type: str) -> Any:
    """Return the input of the op that computed `output`. If that op's type is not `op_type`, return
    None.
    """
    return output.op.inputs[0] if output.op.type == op_type else None


def _cut(output: Tensor) -> Tensor:
    small = convert_to_tensor(epsilon(), output.dtype.base_dtype)
    return clip_by_value(output, small, 1.0 - small)


def hard_sigmoid(x: Any) -> Tensor:
    """Return 0.2 * x + 0.5, clipped to the range from 0 to 1."""
    x = convert_to_tensor(x)
    return clip_by_value(0.2 * x + 0.5, 0.0, 1.0)
