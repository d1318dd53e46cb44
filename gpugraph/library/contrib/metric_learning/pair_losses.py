"""Losses that reduce the distance between embeddings of the same class, and increase the distance
between different classes.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base import dtypes
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import ones_like
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims, reshape, transpose
from gpugraph.ops.elementwise.arithmetic_functions import maximum
from gpugraph.ops.elementwise.comparison_and_select import (
    equal,
    greater,
    less_equal,
    logical_and,
    logical_not,
    where,
)
from gpugraph.ops.elementwise.unary_functions import exp, log, sqrt, square
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.linalg.matrix_diagonals_v2 import matrix_set_diag
from gpugraph.ops.nn.losses.cross_entropy_ops import softmax_cross_entropy_with_logits
from gpugraph.ops.reductions.reduction_functions import (
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_sum,
)


def _distances(embeddings: Tensor, squared: bool = False) -> Tensor:
    """Return the matrix of the Euclidean distances between rows. If `squared` is true, return the
    squares of the distances.

    A distance of 0 has a gradient of 0.
    """
    norms = reduce_sum(square(embeddings), axis=1, keepdims=True)
    products = matmul(embeddings, embeddings, transpose_b=True)
    squares = maximum(norms + transpose(norms) - 2.0 * products, 0.0)
    none = less_equal(squares, 0.0)
    if not squared:
        roots = sqrt(squares + cast(none, squares.dtype) * 1e-16)
        squares = roots * cast(logical_not(none), squares.dtype)
    return matrix_set_diag(squares, reduce_sum(squares, axis=1) * 0.0)


def _same_class(labels: Any) -> Tensor:
    """Return a bool matrix: whether rows i and j have the same label."""
    column = reshape(convert_to_tensor(labels), [-1, 1])
    return equal(column, transpose(column))


def _other_pairs(same: Tensor) -> Tensor:
    """Return a matrix whose element (i, j) is 1 if rows i and j have the same label and i != j,
    else 0.
    """
    pairs = cast(same, dtypes.float32)
    return matrix_set_diag(pairs, raw_ops.ZerosLike(pairs[0]))


def contrastive_loss(
    labels: Any, embeddings_anchor: Any, embeddings_positive: Any, margin: float = 1.0
) -> Tensor:
    """Return the mean over pairs of d^2 for the label 1, and of max(margin - d, 0)^2 for the label
    0.

    Args:
      embeddings_anchor, embeddings_positive: matrices. Corresponding rows are a pair, and d is the
        distance between the two rows.
    """
    difference = convert_to_tensor(embeddings_anchor) - embeddings_positive
    distances = sqrt(reduce_sum(square(difference), 1))
    labels = cast(labels, distances.dtype)
    far = square(maximum(margin - distances, 0.0))
    return reduce_mean(labels * square(distances) + (1.0 - labels) * far, name="contrastive_loss")


def triplet_semihard_loss(labels: Any, embeddings: Any, margin: float = 1.0) -> Tensor:
    """Return the triplet loss. A triplet is an anchor, a positive example and a negative example.

    The negative example is the nearest one that is farther from the anchor than the positive
    example. If no negative example is farther, the farthest negative example is used. Distances are
    squared.

    Source: Schroff et al., 2015 (arXiv:1503.03832).

    Args:
      labels: integers [batch].
      embeddings: a matrix whose rows should have length 1.
    """
    with name_scope("triplet_semihard_loss"):
        same = _same_class(labels)
        other = logical_not(same)
        distances = _distances(convert_to_tensor(embeddings), squared=True)
        third = expand_dims(distances, 1) * ones_like(expand_dims(distances, 2))
        farther = logical_and(expand_dims(other, 1), greater(third, expand_dims(distances, 2)))
        top = reduce_max(third, axis=2, keepdims=True)
        outside = reduce_min((third - top) * cast(farther, third.dtype), axis=2) + top[:, :, 0]
        least = reduce_min(distances, axis=1, keepdims=True)
        weights = cast(other, distances.dtype)
        inside = reduce_max((distances - least) * weights, axis=1, keepdims=True) + least
        negatives = where(reduce_any(farther, axis=2), outside, inside * ones_like(distances))
        positives = _other_pairs(same)
        losses = maximum((margin + distances - negatives) * positives, 0.0)
        return raw_ops.RealDiv(reduce_sum(losses), reduce_sum(positives))


def npairs_loss(
    labels: Any,
    embeddings_anchor: Any,
    embeddings_positive: Any,
    reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> Tensor:
    """Return the N-pairs loss, in which each pair is compared with all other pairs of the batch.

    L2 regularization is added. Source: Sohn, 2016.

    Args:
      print_losses: has no effect. Use `tf.Print` to log tensors.
    """
    anchors, positives = (
        convert_to_tensor(item) for item in (embeddings_anchor, embeddings_positive)
    )
    with name_scope("npairs_loss"):
        size = sum(reduce_mean(reduce_sum(square(item), 1)) for item in (anchors, positives))
        similar = matmul(anchors, positives, transpose_b=True)
        same = cast(_same_class(labels), dtypes.float32)
        wanted = same / reduce_sum(same, 1, keepdims=True)
        losses = softmax_cross_entropy_with_logits(logits=similar, labels=wanted)
        return 0.25 * reg_lambda * size + reduce_mean(losses, name="xentropy")


def lifted_struct_loss(labels: Any, embeddings: Any, margin: float = 1.0) -> Tensor:
    """Return the lifted structured loss.

    The loss compares each pair of rows of the same class with all rows of other classes.

    Source: Song et al., 2015 (arXiv:1511.06452).

    Args:
      labels: integers [batch].
      embeddings: a matrix.
    """
    with name_scope("lifted_struct_loss"):
        same = _same_class(labels)
        other = cast(logical_not(same), dtypes.float32)
        distances = _distances(convert_to_tensor(embeddings))
        close = margin - distances
        least = reduce_min(close, 1, keepdims=True)
        top = reduce_max((close - least) * other, 1, keepdims=True) + least
        top = maximum(top, transpose(top))
        terms = exp(expand_dims(close, 0) - expand_dims(top, 2)) * expand_dims(other, 0)
        left = reduce_sum(terms, 2)
        losses = top + log(left + transpose(left)) + distances
        positives = _other_pairs(same)
        total = reduce_sum(square(maximum(losses * positives, 0.0)))
        return raw_ops.RealDiv(0.25 * total, reduce_sum(positives) / 2.0)
