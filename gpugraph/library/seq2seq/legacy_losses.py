"""The losses of `tf.contrib.legacy_seq2seq`, whose arguments are lists with one tensor for each
step, and its models for several sequence lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.building.variable_scope import get_variable_scope, variable_scope
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.elementwise.arithmetic_functions import add_n
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.nn.losses.cross_entropy_ops import sparse_softmax_cross_entropy_with_logits
from gpugraph.ops.reductions.reduction_functions import reduce_sum


def sequence_loss_by_example(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the weighted cross entropy [batch] of each sequence, summed or averaged over the
    steps.

    Raises ValueError if the lists have different lengths.

    Args:
      logits, targets, weights: lists with one tensor for each step. Logits are [batch, classes].
        Targets and weights are [batch].
      softmax_loss_function: a function of `labels` and `logits` to use instead of the cross
        entropy.
    """
    if not len(targets) == len(logits) == len(weights):
        raise ValueError(
            "Lengths of logits, weights, and targets must be the same "
            f"{len(logits)}, {len(weights)}, {len(targets)}."
        )
    with name_scope(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        losses = []
        for logit, target, weight in zip(logits, targets, weights):
            if softmax_loss_function is None:
                flat = reshape(target, [-1])
                crossent = sparse_softmax_cross_entropy_with_logits(labels=flat, logits=logit)
            else:
                crossent = softmax_loss_function(labels=target, logits=logit)
            losses.append(crossent * weight)
        total = add_n(losses)
        if average_across_timesteps:
            total = total / (
                add_n(list(weights)) + 1e-12
            )  # avoids division by 0 if all weights are 0
        return total


def sequence_loss(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the scalar sum or average of `sequence_loss_by_example` over the batch."""
    with name_scope(name, "sequence_loss", [*logits, *targets, *weights]):
        cost = reduce_sum(
            sequence_loss_by_example(
                logits,
                targets,
                weights,
                average_across_timesteps=average_across_timesteps,
                softmax_loss_function=softmax_loss_function,
            )
        )
        return cost / cast(shape(targets[0])[0], cost.dtype) if average_across_batch else cost


def model_with_buckets(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    buckets: Sequence[tuple[int, int]],
    seq2seq: Callable[[Any, Any], tuple[Any, Any]],
    softmax_loss_function: Callable[..., Any] | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[Any]]:
    """Return two lists with an item for each bucket: the model's outputs, and its loss.

    Raises ValueError if there are no buckets, or if there are fewer inputs, targets or weights than
    the last bucket has steps.

    Args:
      buckets: pairs (encoder steps, decoder steps).
      seq2seq: a function from the encoder's and the decoder's inputs to outputs and state. All
        buckets share its variables.
    """
    if not buckets:
        raise ValueError("buckets must have at least one pair of encoder and decoder steps")
    last = buckets[-1]
    for steps, length, what, which in (
        (encoder_inputs, last[0], "encoder_inputs", 0),
        (targets, last[1], "targets", 1),
        (weights, last[1], "weights", 1),
    ):
        if len(steps) < length:
            raise ValueError(
                f"Length of {what} ({len(steps)}) must be at least that of last bucket "
                f"({last[which]})."
            )
    losses, outputs = [], []
    loss = sequence_loss_by_example if per_example_loss else sequence_loss
    with name_scope(name, "model_with_buckets", [*encoder_inputs, *decoder_inputs]):
        for number, (encoder_steps, decoder_steps) in enumerate(buckets):
            with variable_scope(get_variable_scope(), reuse=True if number else None):
                bucket_outputs, _ = seq2seq(
                    encoder_inputs[:encoder_steps], decoder_inputs[:decoder_steps]
                )
            outputs.append(bucket_outputs)
            losses.append(
                loss(
                    bucket_outputs,
                    targets[:decoder_steps],
                    weights[:decoder_steps],
                    softmax_loss_function=softmax_loss_function,
                )
            )
    return outputs, losses
