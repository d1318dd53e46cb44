"""Cross entropies of labels and logits, weighted and reduced."""

from __future__ import annotations

from typing import Any

from gpugraph.library.losses.loss_reduction import WeightedLosses, reduced_loss
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.identity_and_shape import shape, stop_gradient
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.losses.cross_entropy_ops import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from gpugraph.ops.nn.losses.loss_weights import remove_squeezable_dimensions, squeezed_weights


@reduced_loss("sigmoid_cross_entropy_loss")
def sigmoid_cross_entropy(
    multi_class_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0
) -> WeightedLosses:
    """Return `tf.nn.sigmoid_cross_entropy_with_logits`, weighted and reduced.

    For the other arguments, see `compute_weighted_loss`.

    Raises ValueError if the shapes differ.

    Args:
      label_smoothing: a number s. The labels are replaced by labels * (1 - s) + s / 2.
    """
    logits = convert_to_tensor(logits)
    labels = cast(multi_class_labels, logits.dtype.base_dtype)
    logits.shape.assert_is_compatible_with(labels.shape)
    if label_smoothing > 0:
        labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
    losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
    return losses, weights


@reduced_loss("softmax_cross_entropy_loss")
def softmax_cross_entropy(
    onehot_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0
) -> WeightedLosses:
    """Return `tf.nn.softmax_cross_entropy_with_logits_v2`, weighted and reduced.

    For the other arguments, see `compute_weighted_loss`. Raises ValueError if the shapes differ.

    Args:
      onehot_labels: distributions [batch size, classes], which receive no gradients.
      weights: see `compute_weighted_loss`. The losses have the shape [batch size].
      label_smoothing: the fraction of each label distribution that is spread evenly over all
        classes.
    """
    logits = convert_to_tensor(logits)
    dtype = logits.dtype.base_dtype
    labels = cast(onehot_labels, dtype)
    logits.shape.assert_is_compatible_with(labels.shape)
    if label_smoothing > 0:
        classes = cast(shape(labels)[-1], dtype)
        labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
    labels = stop_gradient(labels, name="labels_stop_gradient")
    losses = softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, name="xentropy")
    return losses, weights


@reduced_loss("sparse_softmax_cross_entropy_loss")
def sparse_softmax_cross_entropy(labels: Any, logits: Any, weights: Any = 1.0) -> WeightedLosses:
    """Return `tf.nn.sparse_softmax_cross_entropy_with_logits`, weighted and reduced.

    Raises ValueError for incompatible shapes. A run raises InvalidArgumentError for a label that is
    not a class.

    Args:
      labels: class indices, in the shape of the logits without the last axis, or with a last axis
        of size 1.
      weights: see `compute_weighted_loss`. A last axis of size 1 is removed.

    >>> session.run(tf.losses.sparse_softmax_cross_entropy([1], [[0.0, 0.0]]))
    np.float32(0.6931472)
    """
    labels, logits = remove_squeezable_dimensions(labels, logits, rank_difference=1)
    weights = squeezed_weights(weights, labels)
    losses = sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
    return losses, weights
