"""The weighted cross entropy of a sequence of logits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.elementwise.division import div_no_nan
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.losses.cross_entropy_ops import sparse_softmax_cross_entropy_with_logits
from gpugraph.ops.reductions.composed_reductions import count_nonzero
from gpugraph.ops.reductions.reduction_functions import reduce_sum


def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    sum_over_timesteps: bool = False,
    sum_over_batch: bool = False,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the weighted cross entropy of sequences, averaged or summed over some of the axes.

    An average is divided by the sum of the weights, and a sum by the number of nonzero weights. If
    one axis is averaged, the other axis is not summed. The remaining axes are kept, so the result
    is a scalar, [time], [batch] or [batch, time].

    Raises ValueError if an argument has the wrong rank, or if an axis is to be both averaged and
    summed.

    Args:
      logits: [batch, time, classes].
      targets, weights: [batch, time].
      softmax_loss_function: a function of `labels` and `logits` to use instead of the cross
        entropy.
    """
    logits, targets, weights = map(convert_to_tensor, (logits, targets, weights))
    for value, rank, what in (
        (logits, 3, "Logits must be a [batch_size x sequence_length x logits] tensor"),
        (targets, 2, "Targets must be a [batch_size x sequence_length] tensor"),
        (weights, 2, "Weights must be a [batch_size x sequence_length] tensor"),
    ):
        if value.shape.ndims != rank:
            raise ValueError(what)
    for average, total, what in (
        (average_across_timesteps, sum_over_timesteps, "timesteps"),
        (average_across_batch, sum_over_batch, "batch"),
    ):
        if average and total:
            raise ValueError(
                f"average_across_{what} and sum_over_{what} cannot be set to True at same time."
            )
    with name_scope(name, "sequence_loss", [logits, targets, weights]):
        flat = reshape(targets, [-1]), reshape(logits, [-1, shape(logits)[2]])
        function = softmax_loss_function or sparse_softmax_cross_entropy_with_logits
        losses = function(labels=flat[0], logits=flat[1]) * reshape(weights, [-1])
        losses = reshape(losses, shape(logits)[:2])
        averaged = [average_across_batch, average_across_timesteps]
        summed = [sum_over_batch, sum_over_timesteps]
        if any(averaged) and not all(summed):
            axes = [axis for axis in (0, 1) if averaged[axis]]
            return div_no_nan(reduce_sum(losses, axes), reduce_sum(weights, axes))
        if any(summed):
            axes = [axis for axis in (0, 1) if summed[axis]]
            count = count_nonzero(weights, axes, dtype=losses.dtype)
            return div_no_nan(reduce_sum(losses, axes), count)
        return losses
