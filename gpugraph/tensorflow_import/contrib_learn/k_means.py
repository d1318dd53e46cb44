"""`tf.contrib.factorization.KMeans`, which creates the graph of k-means clustering.

The algorithm is Lloyd's. For batches it is the algorithm of Sculley (Web-Scale K-Means Clustering,
WWW 2010). Centers are chosen at random or by k-means++ (Arthur and Vassilvitskii, SODA 2007).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpugraph.api import top_level as tf
from gpugraph.base import dtypes
from gpugraph.base.shapes import TensorShape
from gpugraph.building.control_flow.cond import cond
from gpugraph.building.control_flow.while_loop import while_loop
from gpugraph.building.variables.variable import Variable
from gpugraph.graph.client.default_graph_functions import control_dependencies, name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.control.group_and_no_op import no_op
from gpugraph.ops.indexing.top_k import top_k

SQUARED_EUCLIDEAN_DISTANCE = "squared_euclidean"
COSINE_DISTANCE = "cosine"
RANDOM_INIT = "random"
KMEANS_PLUS_PLUS_INIT = "kmeans_plus_plus"


class KMeans:
    """The graph of k-means clustering, which computes distances and assignments, and trains the
    centers.

    Args:
      inputs: a matrix of points in rows, or a list of such matrices.
      num_clusters: the number of clusters.
      initial_clusters: "random", "kmeans_plus_plus", the centers, or a function of the inputs and
        `num_clusters` that returns the centers.
      distance_metric: "squared_euclidean" or "cosine".
      use_mini_batch: whether each step moves the centers toward the points of its batch. Otherwise
        each step replaces the centers by the means of their points.
      mini_batch_steps_per_iteration: ignored, because each step updates the centers.
      random_seed: the seed for the initial centers.
      kmeans_plus_plus_num_retries: ignored, because one point is drawn for each center.
      kmc2_chain_length: ignored, because centers are never approximated by chains.
    """

    def __init__(
        self,
        inputs: Any,
        num_clusters: Any,
        initial_clusters: Any = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        use_mini_batch: bool = False,
        mini_batch_steps_per_iteration: int = 1,
        random_seed: int | None = 0,
        kmeans_plus_plus_num_retries: int = 2,
        kmc2_chain_length: int = 200,
    ) -> None:
        if isinstance(initial_clusters, str) and initial_clusters not in (
            RANDOM_INIT,
            KMEANS_PLUS_PLUS_INIT,
        ):
            raise ValueError(f"Unsupported initialization algorithm '{initial_clusters}'")
        if distance_metric not in (SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE):
            raise ValueError(f"Unsupported distance metric '{distance_metric}'")
        matrices = inputs if isinstance(inputs, list) else [inputs]
        self._inputs = [tf.convert_to_tensor(entry) for entry in matrices]
        self._num_clusters = num_clusters
        self._initial = initial_clusters
        self._is_cosine = distance_metric == COSINE_DISTANCE
        self._use_mini_batch = use_mini_batch
        self._seed = random_seed

    def training_graph(self) -> tuple[Any, Any, Any, Any, Any, Any]:
        """Create the variables and operations of clustering.

        Returns:
          A tuple (scores, nearest, smallest, is_initialized, init_op, train_op). The first three
          are tuples with one tensor for each input. They have the distances of the points to all
          centers, the index of the nearest center, and the distance to this center.
          `is_initialized` states whether the centers are initialized. `init_op` initializes the
          centers, unless they are already initialized. `train_op` is a training step.
        """
        points = [_unit(entry) if self._is_cosine else entry for entry in self._inputs]
        shape = [self._num_clusters, points[0].shape[1]]
        if isinstance(self._num_clusters, Tensor) or points[0].shape.as_list()[1] is None:
            shape = None  # type: ignore[assignment]
        centers = Variable(
            tf.zeros([0] if shape is None else shape, points[0].dtype),
            validate_shape=shape is not None,
            trainable=False,
            name="clusters",
        )
        counts = Variable(
            tf.zeros([self._num_clusters], points[0].dtype), trainable=False, name="total_counts"
        )
        is_initialized = Variable(False, dtype=dtypes.bool, trainable=False, name="initialized")
        init_op = cond(
            is_initialized,
            no_op,
            lambda: self._initialize(points, centers, is_initialized),
            name="initialize",
        )
        scores = [_distances(entry, centers, self._is_cosine) for entry in points]
        nearest = [tf.argmin(entry, 1) for entry in scores]
        smallest = [tf.reduce_min(entry, 1) for entry in scores]
        if self._use_mini_batch:
            train = self._move(points, nearest, centers, counts)
        else:
            train = self._replace(points, nearest, centers)
        return tuple(scores), tuple(nearest), tuple(smallest), is_initialized, init_op, train

    def _initialize(self, points: list[Tensor], centers: Variable, flag: Variable) -> Any:
        """Return an operation that sets the initial centers."""
        every = tf.concat(points, 0)
        if callable(self._initial):
            chosen = tf.convert_to_tensor(self._initial(self._inputs, self._num_clusters))
        elif not isinstance(self._initial, str):
            chosen = tf.convert_to_tensor(self._initial, every.dtype)
        elif self._initial == RANDOM_INIT:
            order = tf.random_shuffle(tf.range(tf.shape(every)[0]), seed=self._seed)
            chosen = tf.gather(every, order[: self._num_clusters])
        else:
            chosen = k_means_plus_plus(every, self._num_clusters, self._seed)
        if self._is_cosine:
            chosen = _unit(chosen)
        assigned = tf.assign(centers, chosen, validate_shape=False)
        with control_dependencies([assigned]):
            return tf.assign(flag, True).op

    def _replace(self, points: list[Tensor], nearest: list[Tensor], centers: Variable) -> Any:
        """Return an operation that replaces each center by the mean of its points. A center without
        points does not change.
        """
        every, indices = tf.concat(points, 0), tf.concat(nearest, 0)
        sums = tf.unsorted_segment_sum(every, indices, self._num_clusters)
        ones = tf.ones_like(indices, every.dtype)
        counts = tf.unsorted_segment_sum(ones, indices, self._num_clusters)[:, None]
        means = tf.where(
            tf.broadcast_to(counts > 0, tf.shape(sums)), sums / tf.maximum(counts, 1), centers
        )
        if self._is_cosine:
            means = _unit(means)
        return tf.assign(centers, means, validate_shape=False).op

    def _move(
        self, points: list[Tensor], nearest: list[Tensor], centers: Variable, counts: Variable
    ) -> Any:
        """Return an operation that moves each center toward the mean of its points in the batch.
        The center moves by a fraction of the way to the mean. The fraction is the number of these
        points divided by the number of all points that the center has had so far.
        """
        every, indices = tf.concat(points, 0), tf.concat(nearest, 0)
        sums = tf.unsorted_segment_sum(every, indices, self._num_clusters)
        ones = tf.ones_like(indices, every.dtype)
        added = tf.unsorted_segment_sum(ones, indices, self._num_clusters)
        old = tf.identity(centers)
        with control_dependencies([sums, added, old]):
            total = tf.identity(tf.assign_add(counts, added))
        steps = (sums - added[:, None] * old) / tf.maximum(total, 1)[:, None]
        moved = _unit(old + steps) if self._is_cosine else old + steps
        return tf.assign(centers, moved, validate_shape=False).op


def k_means_plus_plus(points: Tensor, num_clusters: Any, seed: int | None) -> Tensor:
    """Return rows of `points` as centers. The first row is drawn at random. The probability of each
    further row is proportional to the squared distance between the row and the nearest center so
    far.
    """
    first = tf.random_uniform([1], 0, tf.shape(points)[0], dtypes.int32, seed)
    start = tf.gather(points, first)

    def draw(chosen: Tensor, distance: Tensor) -> tuple[Tensor, Tensor]:
        logits = tf.log(tf.maximum(distance, 1e-30))[None]
        index = tf.multinomial(logits, 1, seed, output_dtype=dtypes.int32)[0]
        new = tf.gather(points, index)
        nearer = tf.minimum(distance, tf.reduce_sum(tf.squared_difference(points, new), 1))
        return tf.concat([chosen, new], 0), nearer

    distance = tf.reduce_sum(tf.squared_difference(points, start), 1)
    size = points.shape[1]
    result, _ = while_loop(
        lambda chosen, _: tf.shape(chosen)[0] < num_clusters,
        draw,
        (start, distance),
        shape_invariants=(TensorShape([None, size]), distance.shape),
    )
    return result


class NearestNeighbors(NamedTuple):
    """The nearest centers of each point."""

    nearest_center_indices: Tensor
    nearest_center_distances: Tensor


def nearest_neighbors(points: Any, centers: Any, k: Any, name: str | None = None) -> Any:
    """Return the indices (int64) of the `k` nearest centers of each point, the nearest one first,
    and the squared distances to them.

    Args:
      points, centers: float32 matrices with a point in each row.
      k: the number of centers. If there are fewer, all are returned.
    """
    with name_scope(name, "NearestNeighbors", [points, centers, k]):
        points = tf.convert_to_tensor(points, dtypes.float32)
        centers = tf.convert_to_tensor(centers, dtypes.float32)
        count = tf.minimum(tf.cast(k, dtypes.int32), tf.shape(centers)[0])
        values, indices = top_k(-_distances(points, centers, False), count)
        return NearestNeighbors(tf.cast(indices, dtypes.int64), -values)


def _unit(rows: Tensor) -> Tensor:
    """Scale each row to length 1."""
    squares = tf.reduce_sum(tf.square(rows), 1, keepdims=True)
    return rows * tf.rsqrt(tf.maximum(squares, 1e-12))


def _distances(points: Tensor, centers: Any, is_cosine: bool) -> Tensor:
    """Return the distance between each point and each center."""
    if is_cosine:
        return 1 - tf.matmul(points, centers, transpose_b=True)
    squares = tf.reduce_sum(tf.square(points), 1, keepdims=True)
    of_centers = tf.reduce_sum(tf.square(centers), 1)[None]
    return tf.maximum(squares - 2 * tf.matmul(points, centers, transpose_b=True) + of_centers, 0)
