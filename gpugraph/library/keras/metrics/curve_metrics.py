"""Metrics of curves over thresholds: the area under a curve, and the value at one point of a
curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from gpugraph.library.keras.backend.backend_config import epsilon
from gpugraph.library.keras.metrics.confusion_metrics import ConfusionMetric
from gpugraph.library.metrics.auc_curves import area_under, careful_area, even_thresholds
from gpugraph.ops.elementwise.unary_functions import abs as absolute
from gpugraph.ops.reductions.argmax_and_argmin import argmin

_CURVES = ("ROC", "PR")
_METHODS = ("interpolation", "minoring", "majoring")


class AUC(ConfusionMetric):
    """The area under a curve that has a point for each threshold.

    The constructor raises ValueError if `curve` or `summation_method` is not one of the values
    below, or if the thresholds are invalid.

    Args:
      num_thresholds: the number of evenly spaced thresholds from 0 to 1.
      thresholds: the thresholds other than 0 and 1, instead of `num_thresholds`.
      curve: "ROC" (true positive rate over false positive rate) or "PR" (precision over recall).
      summation_method: the height of the curve between two points: "interpolation", or the minimum
        ("minoring") or the maximum ("majoring") of the two values.
    """

    kinds = ("tp", "tn", "fp", "fn")

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: Any = None,
        thresholds: Sequence[float] | None = None,
    ) -> None:
        if curve not in _CURVES:
            raise ValueError(f"Invalid curve: {curve}. It is one of {', '.join(_CURVES)}.")
        if summation_method not in _METHODS:
            raise ValueError(
                f"Invalid summation_method: {summation_method}. It is one of {', '.join(_METHODS)}."
            )
        if thresholds is not None:
            if any(not 0 <= value <= 1 for value in thresholds):
                raise ValueError(f"Threshold values must be in [0, 1]: {thresholds}")
            inner = sorted(thresholds)
        else:
            if num_thresholds <= 1:
                raise ValueError("`num_thresholds` must be > 1.")
            inner = even_thresholds(num_thresholds)[1:-1]
        self.thresholds = [0.0 - epsilon(), *inner, 1.0 + epsilon()]
        self.num_thresholds = len(self.thresholds)
        self.curve, self.summation_method = curve, summation_method
        self._inner = None if thresholds is None else inner
        super().__init__(self.thresholds, name, dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Return an op that adds a batch to the counts. A run raises an error for a prediction
        outside of [0, 1].
        """
        return self.add_hits(y_true, y_pred, sample_weight)

    def result(self) -> Any:
        """Return the area under the curve of all batches so far."""
        method, counts = self.summation_method, self.counts
        if self.curve == "PR" and method == "interpolation":
            return careful_area(*(counts[kind].read_value() for kind in ("tp", "fp", "fn")))
        recall = self.quotient("tp", "fn")
        if self.curve == "ROC":
            return area_under(self.quotient("fp", "tn"), recall, method)
        return area_under(recall, self.quotient("tp", "fp"), method)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        config = {
            "num_thresholds": self.num_thresholds,
            "curve": self.curve,
            "summation_method": self.summation_method,
            **super().get_config(),
        }
        return config if self._inner is None else {**config, "thresholds": self._inner}


class _PointOfCurve(ConfusionMetric):
    """Base class of metrics that return one measure at the threshold at which another measure is
    nearest to a given value.
    """

    kinds = ("tp", "tn", "fp", "fn")
    measures: ClassVar[tuple[tuple[str, str], tuple[str, str]]]
    """The measure to compare with the value, then the measure to return.

    A measure is a pair (part, other) of kinds of counts. Its value is part / (part + other).
    """

    value_name: ClassVar[str]

    def _take(self, value: float, num_thresholds: int, name: str | None, dtype: Any) -> None:
        if value < 0 or value > 1:
            raise ValueError(f"`{self.value_name}` must be in the range [0, 1].")
        if num_thresholds <= 0:
            raise ValueError("`num_thresholds` must be > 0.")
        self.value, self.num_thresholds = value, num_thresholds
        self.thresholds = [0.5]
        if num_thresholds > 1:
            inner = [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
            self.thresholds = [0.0, *inner, 1.0]
        ConfusionMetric.__init__(self, self.thresholds, name, dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Return an op that adds a batch to the counts. A run raises an error for a prediction
        outside of [0, 1].
        """
        return self.add_hits(y_true, y_pred, sample_weight)

    def result(self) -> Any:
        """Return the second measure at the threshold at which the first measure is nearest to the
        given value.
        """
        nearest, measured = (self.quotient(*kinds) for kinds in self.measures)
        return measured[argmin(absolute(nearest - self.value), 0)]

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        count = {"num_thresholds": self.num_thresholds, self.value_name: self.value}
        return {**count, **super().get_config()}


class SensitivityAtSpecificity(_PointOfCurve):
    """The sensitivity (recall) at the threshold at which the specificity is nearest to
    `specificity`.
    """

    measures = (("tn", "fp"), ("tp", "fn"))
    value_name = "specificity"

    def __init__(
        self,
        specificity: float,
        num_thresholds: int = 200,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        self.specificity = specificity
        self._take(specificity, num_thresholds, name, dtype)


class SpecificityAtSensitivity(_PointOfCurve):
    """The specificity at the threshold at which the sensitivity (recall) is nearest to
    `sensitivity`.
    """

    measures = (("tp", "fn"), ("tn", "fp"))
    value_name = "sensitivity"

    def __init__(
        self,
        sensitivity: float,
        num_thresholds: int = 200,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        self.sensitivity = sensitivity
        self._take(sensitivity, num_thresholds, name, dtype)
