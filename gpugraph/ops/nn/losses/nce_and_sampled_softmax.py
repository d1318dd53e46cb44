"""Losses that sample a few of very many classes: NCE and the sampled softmax.

See Gutmann and Hyvarinen, "Noise-contrastive estimation", 2010, and Jean et al., "On using
very large target vocabulary", 2014.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import int32, int64
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.constants_and_placeholders import ones, ones_like, zeros_like
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape
from gpugraph.ops.elementwise.arithmetic_functions import multiply
from gpugraph.ops.elementwise.unary_functions import log
from gpugraph.ops.framework.changed_arguments.arguments_before_one import hint_at_old_arguments
from gpugraph.ops.framework.identity_and_shape import shape, stop_gradient
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.embedding_lookup import embedding_lookup
from gpugraph.ops.indexing.strided_slice import slice
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.nn.losses.candidate_samplers import (
    compute_accidental_hits,
    log_uniform_candidate_sampler,
)
from gpugraph.ops.nn.losses.cross_entropy_ops import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
)
from gpugraph.ops.sparse.sparse_functions import sparse_to_dense


@hint_at_old_arguments("nn.nce_loss")
def nce_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Tensor:
    """Return the noise-contrastive loss [batch] of the true classes against `num_sampled` drawn
    classes.

    Any float dtype is supported. Raises ValueError if the shapes do not match.

    Args:
      weights: a tensor of shape [num_classes, dim], or a list of tensors into which it is split.
        `partition_strategy` has the same meaning as in `embedding_lookup`.
      biases: a tensor of shape [num_classes].
      labels: the true classes, an int tensor of shape [batch, num_true].
      inputs: a tensor of shape [batch, dim].
      sampled_values: the result of a candidate sampler. By default, `log_uniform_candidate_sampler`
        is used, with unique candidates.
      remove_accidental_hits: whether to ignore candidates that are true classes of the same
        example.
    """
    logits, truth = sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, partition_strategy, name, None,
    )  # fmt: skip
    losses = sigmoid_cross_entropy_with_logits(labels=truth, logits=logits, name="sampled_losses")
    return _row_sums(losses)


@hint_at_old_arguments("nn.sampled_softmax_loss")
def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """Return the softmax cross entropy [batch] over only the true classes and `num_sampled` drawn
    classes.

    This loss is for training. A model should be evaluated with the loss over all classes. See
    `nce_loss` for the remaining arguments and the errors.

    Args:
      seed: the seed of the default sampler.
    """
    logits, truth = sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        remove_accidental_hits, partition_strategy, name, seed,
    )  # fmt: skip
    fixed = stop_gradient(truth, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=fixed, logits=logits)


def _row_sums(x: Tensor) -> Tensor:
    """Return the sum of each row of a matrix, computed as a matrix product, so that the gradient is
    also a matrix product.
    """
    columns = ones(stack([shape(x)[1], 1]), x.dtype)
    return reshape(matmul(x, columns), [-1])


def sampled_logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    remove_accidental_hits: bool,
    partition_strategy: str,
    name: str,
    seed: int | None,
    subtracts_log_q: bool = True,
) -> tuple[Tensor, Tensor]:
    """Return (logits, labels). Each has shape [batch, num_true + num_sampled], and the columns of
    the true classes come first.

    Args:
      subtracts_log_q: whether to subtract the logarithms of the expected counts of the classes.
    """
    parts = list(weights) if isinstance(weights, (list, tuple)) else [weights]
    with op_scope(name, "compute_sampled_logits", *parts, biases, inputs, labels):
        source, truth = convert_to_tensor(inputs), convert_to_tensor(labels)
        if truth.dtype != int64:
            truth = cast(truth, int64)
        flat = reshape(truth, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(
                truth, num_true, num_sampled, True, num_classes, seed
            )
        sampled, expected_true, expected = (stop_gradient(tensor) for tensor in sampled_values)
        sampled = cast(sampled, int64)
        ids = concat([flat, sampled], 0)
        rows = embedding_lookup(weights, ids, partition_strategy)
        if rows.dtype != source.dtype:
            rows = cast(rows, source.dtype)
        true_rows = slice(rows, [0, 0], stack([shape(flat)[0], -1]))
        sampled_rows = slice(rows, stack([shape(flat)[0], 0]), [-1, -1])
        other_logits = matmul(source, sampled_rows, transpose_b=True)
        offsets = embedding_lookup(biases, ids, partition_strategy)
        if offsets.dtype != source.dtype:
            offsets = cast(offsets, source.dtype)
        true_offsets = slice(offsets, [0], shape(flat))
        sampled_offsets = slice(offsets, shape(flat), [-1])
        true_logits = _true_logits(source, true_rows, num_true)
        true_logits += reshape(true_offsets, [-1, num_true])
        other_logits += sampled_offsets
        if remove_accidental_hits:
            other_logits += _hits(truth, sampled, num_true, num_sampled, other_logits.dtype)
        if subtracts_log_q:
            true_logits -= _log(expected_true, source.dtype)
            other_logits -= _log(expected, source.dtype)
        shares = ones_like(true_logits) / float(num_true)
        return (
            concat([true_logits, other_logits], 1),
            concat([shares, zeros_like(other_logits)], 1),
        )


def _log(counts: Tensor, dtype: Any) -> Tensor:
    logarithm = log(counts)
    return logarithm if logarithm.dtype == dtype else cast(logarithm, dtype)


def _true_logits(inputs: Tensor, rows: Tensor, num_true: int) -> Tensor:
    """Return the dot product of each input with the weights of its true classes, [batch, num_true].

    Args:
      rows: the weights of the true classes, [batch * num_true, dim].
    """
    width = shape(rows)[1:2]
    by_example = concat([[-1, num_true], width], 0)
    products = multiply(expand_dims(inputs, 1), reshape(rows, by_example))
    flat = reshape(products, concat([[-1], width], 0))
    return reshape(_row_sums(flat), [-1, num_true])


def _hits(truth: Tensor, sampled: Tensor, num_true: int, num_sampled: int, dtype: Any) -> Tensor:
    """Return a tensor to add to the candidates' logits. It is -FLT_MAX for candidates that are true
    classes of the example, and 0 elsewhere.
    """
    indices, ids, weights = compute_accidental_hits(truth, sampled, num_true)
    places = concat(
        [reshape(indices, [-1, 1]), reshape(cast(ids, int32), [-1, 1])], 1, "sparse_indices"
    )
    sizes = concat([shape(truth)[:1], expand_dims(num_sampled, 0)], 0)
    if weights.dtype != dtype:
        weights = cast(weights, dtype)
    return sparse_to_dense(places, sizes, weights, default_value=0.0, validate_indices=False)
