"""Metrics that are computed from numbers of true and false predictions at thresholds.

A prediction above a threshold is positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from gpugraph.base.dtypes import bool as bool_type, float32, float64
from gpugraph.graph.client.default_graph_functions import control_dependencies
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.losses.loss_class import of_one_rank
from gpugraph.library.keras.metrics.metric_class import Metric
from gpugraph.library.metrics.class_metrics import confusions_of, mean_overlap
from gpugraph.library.metrics.threshold_metrics import NAMES, check_range, hits_at
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import fill
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.elementwise.comparison_and_select import where
from gpugraph.ops.elementwise.division import div_no_nan
from gpugraph.ops.framework.identity_and_shape import identity, shape
from gpugraph.ops.indexing.one_hot_where_unique import one_hot
from gpugraph.ops.indexing.top_k import top_k as top_k_of
from gpugraph.ops.nn.losses.loss_weights import broadcast_weights, squeezed_weights
from gpugraph.ops.reductions.reduction_functions import reduce_max

BELOW_ALL = -1e10
"""A threshold that every prediction exceeds, and a prediction below every threshold."""


def checked_thresholds(thresholds: Any, default: float) -> list[float]:
    """Return thresholds as a list. `thresholds` is one number, several numbers, or None, which
    means [default].

    Raises ValueError for a number outside of [0, 1].
    """
    if thresholds is None:
        return [default]
    listed = list(thresholds) if isinstance(thresholds, (list, tuple)) else [thresholds]
    invalid = [value for value in listed if value is None or not 0 <= value <= 1]
    if invalid:
        raise ValueError(f"Threshold values must be in [0, 1]. Invalid values: {invalid}")
    return listed


class ConfusionMetric(Metric):
    """Base class of metrics that count predictions at each threshold.

    `kinds` lists the kinds of predictions that are counted: true and false positives, "tp" and
    "fp", and true and false negatives, "tn" and "fn". Each kind has a variable.
    """

    kinds: ClassVar[tuple[str, ...]]

    def __init__(self, thresholds: Sequence[float], name: str | None, dtype: Any) -> None:
        super().__init__(name=name, dtype=dtype)
        self._limits = np.array(thresholds, np.float32)
        self.counts = {kind: self.add_weight(NAMES[kind], [len(thresholds)]) for kind in self.kinds}

    def add_hits(
        self,
        y_true: Any,
        y_pred: Any,
        sample_weight: Any,
        top_k: int | None = None,
        class_id: int | None = None,
    ) -> Any:
        """Return an op that adds a batch to the counts. A run raises an error for a prediction
        outside of [0, 1].

        Args:
          top_k: the number of the largest predictions in a row that may be positive. All other
            predictions in the row are negative.
          class_id: if `class_id` is not None, only predictions of this class are counted.
        """
        y_pred = cast(y_pred, float32)
        with control_dependencies([check_range(y_pred)]):
            y_true, y_pred = of_one_rank(cast(y_true, float32), identity(y_pred))
        y_pred.shape.assert_is_compatible_with(y_true.shape)
        if top_k is not None:
            y_pred = _only_top(y_pred, top_k)
        if class_id is not None:
            y_true, y_pred = y_true[..., class_id], y_pred[..., class_id]
        weights = sample_weight
        if weights is not None:
            weights = squeezed_weights(cast(weights, float32), y_pred)
            weights = broadcast_weights(weights, y_pred)
        labels = cast(y_true, bool_type)
        hits = hits_at(labels, y_pred, self._limits, weights, self.kinds)
        return group(
            *[
                count.assign_add(cast(hits[kind], self._dtype))
                for kind, count in self.counts.items()
            ]
        )

    def quotient(self, part: str, other: str) -> Any:
        """Return part / (part + other) for the counts at each threshold. If the two counts are 0,
        the result is 0.
        """
        counts = self.counts
        return div_no_nan(counts[part], counts[part] + counts[other])


def _only_top(y_pred: Tensor, k: int) -> Tensor:
    """Return the predictions. In each row, `BELOW_ALL` replaces all predictions except the k
    largest.
    """
    classes = int(y_pred.shape[-1])
    chosen = reduce_max(one_hot(top_k_of(y_pred, k).indices, classes, axis=-1), axis=-2)
    return where(cast(chosen, bool_type), y_pred, fill(shape(y_pred), np.float32(BELOW_ALL)))


def _of_thresholds(values: Any, thresholds: Sequence[float]) -> Any:
    """If there is a single threshold, return its value. Otherwise return all values."""
    return values[0] if len(thresholds) == 1 else values


class _Count(ConfusionMetric):
    """Base class of metrics that count predictions of one kind at each threshold, by default at
    0.5.

    The counts are weighted.
    """

    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None) -> None:
        self.init_thresholds = thresholds
        self.thresholds = checked_thresholds(thresholds, 0.5)
        super().__init__(self.thresholds, name, dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Return an op that adds a batch to the counts."""
        return self.add_hits(y_true, y_pred, sample_weight)

    def result(self) -> Any:
        """Return the count for all batches so far. The result is a scalar for one threshold,
        otherwise a vector.
        """
        return _of_thresholds(identity(self.counts[self.kinds[0]]), self.thresholds)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {"thresholds": self.init_thresholds, **super().get_config()}


class TruePositives(_Count):
    """The number of predictions above the threshold whose target is true."""

    kinds = ("tp",)


class TrueNegatives(_Count):
    """The number of predictions not above the threshold whose target is false."""

    kinds = ("tn",)


class FalsePositives(_Count):
    """The number of predictions above the threshold whose target is false."""

    kinds = ("fp",)


class FalseNegatives(_Count):
    """The number of predictions not above the threshold whose target is true."""

    kinds = ("fn",)


class _Quotient(ConfusionMetric):
    """Base class of metrics with the value true positives / (true positives + another count).

    If the two counts are 0, the value is 0.
    """

    def __init__(
        self,
        thresholds: Any = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        self.init_thresholds, self.top_k, self.class_id = thresholds, top_k, class_id
        self.thresholds = checked_thresholds(thresholds, 0.5 if top_k is None else BELOW_ALL)
        super().__init__(self.thresholds, name, dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Return an op that adds a batch to the counts."""
        return self.add_hits(y_true, y_pred, sample_weight, self.top_k, self.class_id)

    def result(self) -> Any:
        """Return true positives / (true positives + the metric's other count), for all batches.

        The result is a scalar for one threshold, otherwise a vector.
        """
        return _of_thresholds(self.quotient(*self.kinds), self.thresholds)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        names = {"top_k": self.top_k, "class_id": self.class_id}
        return {"thresholds": self.init_thresholds, **names, **super().get_config()}


class Precision(_Quotient):
    """The fraction of positive predictions whose target is true.

    Args:
      thresholds: a prediction above a threshold is positive. The default is 0.5.
      top_k: the number of the largest predictions in a row that may be positive. There is then no
        threshold by default.
      class_id: the index of the only class that is counted. By default, all classes are counted.
    """

    kinds = ("tp", "fp")


class Recall(_Quotient):
    """The fraction of true targets whose prediction is positive. For the arguments, see
    `Precision`.
    """

    kinds = ("tp", "fn")


class MeanIoU(Metric):
    """The mean over classes of intersection / union of targets and predictions. See
    `tf.metrics.mean_iou`.

    Args:
      num_classes: the number of classes. Targets and predictions are class indices below this
        number.
    """

    def __init__(self, num_classes: int, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.num_classes = num_classes
        sizes = (num_classes, num_classes)
        self.total_cm = self.add_weight("total_confusion_matrix", sizes, dtype=float64)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Return an op that adds a batch. Targets, predictions and weights may have any common
        shape.
        """
        batch = confusions_of(y_true, y_pred, sample_weight, self.num_classes)
        return self.total_cm.assign_add(batch)

    def result(self) -> Any:
        """Return the mean over classes of intersection / union, for all batches so far."""
        return mean_overlap(self.total_cm, self.num_classes)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {"num_classes": self.num_classes, **super().get_config()}
