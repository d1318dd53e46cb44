"""Cross entropies of labels and logits, weighted and reduced."""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.losses.loss_reduction import Reduction, compute_weighted_loss
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.framework.identity_and_shape import shape, stop_gradient
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.losses.cross_entropy_ops import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from gpugraph.ops.nn.losses.loss_weights import remove_squeezable_dimensions, squeezed_weights

_BY_PRESENT = Reduction.SUM_BY_NONZERO_WEIGHTS


def _need(name: str, labels: Any, logits: Any) -> None:
    if labels is None:
        raise ValueError(f"{name} must not be None.")
    if logits is None:
        raise ValueError("logits must not be None.")


def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_PRESENT,
) -> Tensor:
    """`tf.nn.sigmoid_cross_entropy_with_logits`, weighted and reduced; see `compute_weighted_loss`.

    label_smoothing: how far labels of 0 and 1 are moved towards 1 / 2. ValueError where the
    shapes differ.
    """
    _need("multi_class_labels", multi_class_labels, logits)
    values = [logits, multi_class_labels, weights]
    with name_scope(scope, "sigmoid_cross_entropy_loss", values) as inside:
        found = convert_to_tensor(logits)
        wanted = cast(multi_class_labels, found.dtype.base_dtype)
        found.shape.assert_is_compatible_with(wanted.shape)
        if label_smoothing > 0:
            wanted = wanted * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = sigmoid_cross_entropy_with_logits(labels=wanted, logits=found, name="xentropy")
        return compute_weighted_loss(losses, weights, inside, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_PRESENT,
) -> Tensor:
    """`tf.nn.softmax_cross_entropy_with_logits_v2`, weighted and reduced.

    onehot_labels: distributions [batch size, classes], constants to gradients.
    weights: see `compute_weighted_loss`; for losses of the shape [batch size].
    label_smoothing: how much of 1 is spread evenly over all classes.

    ValueError where the shapes differ.
    """
    _need("onehot_labels", onehot_labels, logits)
    values = [logits, onehot_labels, weights]
    with name_scope(scope, "softmax_cross_entropy_loss", values) as inside:
        found = convert_to_tensor(logits)
        dtype = found.dtype.base_dtype
        wanted = cast(onehot_labels, dtype)
        found.shape.assert_is_compatible_with(wanted.shape)
        if label_smoothing > 0:
            classes = cast(shape(wanted)[-1], dtype)
            wanted = wanted * (1.0 - label_smoothing) + label_smoothing / classes
        fixed = stop_gradient(wanted, name="labels_stop_gradient")
        losses = softmax_cross_entropy_with_logits_v2(labels=fixed, logits=found, name="xentropy")
        return compute_weighted_loss(losses, weights, inside, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_PRESENT,
) -> Tensor:
    """`tf.nn.sparse_softmax_cross_entropy_with_logits`, weighted and reduced.

    labels: classes, of the shape of the logits without the last dimension, or with 1 there.
    weights: see `compute_weighted_loss`; a last dimension of 1 is left out likewise.

    ValueError for shapes that do not fit; InvalidArgumentError in a run for a label that is no
    class.
    """
    _need("labels", labels, logits)
    values = [logits, labels, weights]
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", values) as inside:
        wanted, found = remove_squeezable_dimensions(labels, logits, rank_difference=1)
        factors = squeezed_weights(weights, wanted)
        losses = sparse_softmax_cross_entropy_with_logits(
            labels=wanted, logits=found, name="xentropy"
        )
        return compute_weighted_loss(losses, factors, inside, loss_collection, reduction)
