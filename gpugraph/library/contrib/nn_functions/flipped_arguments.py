"""Cross entropies with the argument order (logits, labels), which was used before TensorFlow
1.0.
"""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.nn.losses.cross_entropy_ops import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)


def deprecated_flipped_softmax_cross_entropy_with_logits(
    logits: Any, labels: Any, dim: int = -1, name: str | None = None
) -> Tensor:
    """Return `tf.nn.softmax_cross_entropy_with_logits` of these labels and logits."""
    return softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim, name=name)


def deprecated_flipped_sparse_softmax_cross_entropy_with_logits(
    logits: Any, labels: Any, name: str | None = None
) -> Tensor:
    """Return `tf.nn.sparse_softmax_cross_entropy_with_logits` of these labels and logits."""
    return sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def deprecated_flipped_sigmoid_cross_entropy_with_logits(
    logits: Any, targets: Any, name: str | None = None
) -> Tensor:
    """Return `tf.nn.sigmoid_cross_entropy_with_logits` of these targets and logits."""
    return sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)
