"""The loss of embeddings that compares the clusters of a batch with its classes."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.contrib.metric_learning.pair_losses import pairwise_distance
from gpugraph.library.summary.summary_functions import scalar
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.control.py_func import py_func
from gpugraph.ops.elementwise.arithmetic_functions import maximum
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.reductions.reduction_functions import reduce_min, reduce_sum

_SCORES = {
    "nmi": "normalized_mutual_info_score",
    "ami": "adjusted_mutual_info_score",
    "ari": "adjusted_rand_score",
    "vmeasure": "v_measure_score",
}
"""By margin type, the function of sklearn.metrics. The type "const" compares the labels."""

_ROUNDS = 5
"""How often all medoids are improved."""

_Array = np.ndarray[Any, Any]


def cluster_loss(
    labels: Any,
    embeddings: Any,
    margin_multiplier: float,
    enable_pam_finetuning: bool = True,
    margin_type: str = "nmi",
    print_losses: bool = False,
) -> Tensor:
    """Return the loss of the clustering of a batch whose score, plus a margin, is the highest.

    The score of a clustering is minus the sum of the distances to the medoids. The margin is
    `margin_multiplier` times the difference between the clustering and the labels. The clustering
    is found on the CPU. Gradients pass through the distances.

    Source: Song et al., 2017 (arXiv:1612.01213). Raises ImportError if scikit-learn is missing, and
    ValueError for other margin types.

    Args:
      labels: integers [batch] or [batch, 1].
      embeddings: a matrix.
      enable_pam_finetuning: whether to improve the medoids after the greedy search.
      margin_type: "nmi", "ami", "ari", "vmeasure" or "const".
      print_losses: has no effect. Use `tf.Print` to log tensors.
    """
    score = _score_function(margin_type)
    distances = pairwise_distance(convert_to_tensor(embeddings))
    labels = reshape(convert_to_tensor(labels), [-1])

    def search(lengths: _Array, classes: _Array) -> tuple[_Array, _Array, _Array]:
        chosen = _medoids(lengths, classes, margin_multiplier, score, enable_pam_finetuning)
        reached = score(classes, assigned(lengths, chosen))
        return chosen, np.array(reached, np.float32), _medoids_of_classes(lengths, classes)

    kinds = [dtypes.int32, dtypes.float32, dtypes.int32]
    chosen, reached, own = py_func(search, [distances, labels], kinds, stateful=False)
    chosen.set_shape([None])
    reached.set_shape([])
    own.set_shape([None, None])
    score_pred = -reduce_sum(reduce_min(gather(distances, chosen), axis=0))
    medoids = gather(reshape(distances, [-1]), own[:, 0] * shape(distances)[0] + own[:, 1])
    score_gt = -reduce_sum(medoids)
    scalar("losses/score_pred", score_pred)
    scalar(f"losses/{margin_type}", reached)
    scalar("losses/score_gt", score_gt)
    gap = score_pred + margin_multiplier * (1.0 - reached) - score_gt
    return maximum(gap, 0.0, name="clustering_loss")


def _score_function(margin_type: str) -> Callable[[_Array, _Array], float]:
    """Return the function that compares clusters with labels. The score of equal ones is 1."""
    if importlib.util.find_spec("sklearn") is None:
        raise ImportError("Cluster loss depends on sklearn. Install scikit-learn.")
    if margin_type == "const":
        return lambda labels, clusters: float(np.array_equal(labels, clusters))
    if margin_type not in _SCORES:
        known = ", ".join([*_SCORES, "const"])
        raise ValueError(f"Unrecognized margin_type: {margin_type}; it is one of {known}")
    metric = getattr(importlib.import_module("sklearn.metrics"), _SCORES[margin_type])
    if margin_type == "nmi":  # the default of scikit-learn before version 0.22
        metric = functools.partial(metric, average_method="geometric")
    return lambda labels, clusters: max(0.0, float(metric(labels, clusters)))


def assigned(distances: _Array, medoids: _Array) -> _Array:
    """Return the cluster of each row: the nearest medoid. A medoid belongs to its own cluster."""
    clusters = distances[medoids].argmin(axis=0)
    clusters[medoids] = np.arange(len(medoids))
    return clusters


def _medoids(
    distances: _Array,
    labels: _Array,
    factor: float,
    score: Callable[[_Array, _Array], float],
    is_improved: bool,
) -> _Array:
    """Return the rows of the medoids, one for each class in `labels`.

    Each medoid in turn is the row by which the score with the margin becomes the highest.

    Args:
      distances: between all rows.
      factor: of the margin.
      score: compares the clusters with the labels.
      is_improved: whether medoids are then exchanged for other rows of their clusters.
    """

    def margin(medoids: list[int]) -> float:
        return factor * (1.0 - score(labels, assigned(distances, np.array(medoids))))

    chosen: list[int] = []
    for _ in np.unique(labels):
        rows = [row for row in range(len(labels)) if row not in chosen]
        sums = [-distances[[*chosen, row]].min(axis=0).sum() for row in rows]
        values = [total + margin([*chosen, row]) for total, row in zip(sums, rows)]
        chosen.append(rows[int(np.argmax(values))])
    for _ in range(_ROUNDS if is_improved else 0):
        clusters = assigned(distances, np.array(chosen))
        for index in range(len(chosen)):
            members = np.flatnonzero(clusters == index)
            within = -distances[np.ix_(members, members)].sum(axis=0)
            others = [[*chosen[:index], row, *chosen[index + 1 :]] for row in members.tolist()]
            values = [total + margin(medoids) for total, medoids in zip(within, others)]
            chosen = others[int(np.argmax(values))]
    return np.array(chosen, np.int32)


def _medoids_of_classes(distances: _Array, labels: _Array) -> _Array:
    """Return the pairs (row, medoid) of all rows. The medoid of a class is its row with the
    smallest sum of distances.
    """
    pairs = []
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        sums = distances[np.ix_(members, members)].sum(axis=0)
        pairs += [(row, members[int(sums.argmin())]) for row in members]
    return np.array(pairs, np.int32)
