"""Metrics that average a function of targets and predictions over all examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from gpugraph.library.keras.losses import loss_functions
from gpugraph.library.keras.metrics import metric_functions
from gpugraph.library.keras.metrics.metric_means import MeanMetricWrapper


class FunctionMetric(MeanMetricWrapper):
    """The mean of the results of the class attribute `function`. The function receives only the
    targets and predictions.
    """

    function: ClassVar[Callable[..., Any]]

    def __init__(self, name: str | None = None, dtype: Any = None) -> None:
        function = type(self).function
        super().__init__(function, name or function.__name__, dtype)


class Accuracy(FunctionMetric):
    """The fraction of predictions that equal their targets."""

    function = staticmethod(metric_functions.accuracy)


class CategoricalAccuracy(FunctionMetric):
    """The fraction of examples whose largest prediction and largest target belong to the same
    class.
    """

    function = staticmethod(metric_functions.categorical_accuracy)


class SparseCategoricalAccuracy(FunctionMetric):
    """The fraction of examples whose largest prediction belongs to the target's class. Targets are
    class indices.
    """

    function = staticmethod(metric_functions.sparse_categorical_accuracy)


class MeanSquaredError(FunctionMetric):
    """The mean of squared differences."""

    function = staticmethod(loss_functions.mean_squared_error)


class MeanAbsoluteError(FunctionMetric):
    """The mean of absolute differences."""

    function = staticmethod(loss_functions.mean_absolute_error)


class MeanAbsolutePercentageError(FunctionMetric):
    """The mean of absolute differences, as a percentage of the targets."""

    function = staticmethod(loss_functions.mean_absolute_percentage_error)


class MeanSquaredLogarithmicError(FunctionMetric):
    """The mean of squared differences between log(1 + prediction) and log(1 + target)."""

    function = staticmethod(loss_functions.mean_squared_logarithmic_error)


class Hinge(FunctionMetric):
    """The mean of max(0, 1 - y_true * y_pred)."""

    function = staticmethod(loss_functions.hinge)


class SquaredHinge(FunctionMetric):
    """The mean of max(0, 1 - y_true * y_pred) ** 2."""

    function = staticmethod(loss_functions.squared_hinge)


class CategoricalHinge(FunctionMetric):
    """The mean over examples of the function `categorical_hinge` of `tf.keras.losses`."""

    function = staticmethod(loss_functions.categorical_hinge)


class Poisson(FunctionMetric):
    """The mean of y_pred - y_true * log(y_pred)."""

    function = staticmethod(loss_functions.poisson)


class LogCoshError(FunctionMetric):
    """The mean of log(cosh(y_pred - y_true))."""

    function = staticmethod(loss_functions.logcosh)


class KLDivergence(FunctionMetric):
    """The mean Kullback-Leibler divergence. The divergence is the sum of y_true * log(y_true /
    y_pred).
    """

    function = staticmethod(loss_functions.kullback_leibler_divergence)


class BinaryAccuracy(MeanMetricWrapper):
    """The fraction of correct predictions. A prediction above `threshold` is correct for the target
    1, and any other prediction is correct for the target 0.
    """

    def __init__(
        self, name: str = "binary_accuracy", dtype: Any = None, threshold: float = 0.5
    ) -> None:
        super().__init__(metric_functions.binary_accuracy, name, dtype, threshold=threshold)


class TopKCategoricalAccuracy(MeanMetricWrapper):
    """The fraction of examples for which the class of the largest target is among the `k` largest
    predictions.
    """

    def __init__(
        self, k: int = 5, name: str = "top_k_categorical_accuracy", dtype: Any = None
    ) -> None:
        super().__init__(metric_functions.top_k_categorical_accuracy, name, dtype, k=k)


class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """The fraction of examples for which the target's class is among the `k` largest predictions.
    Targets are class indices.
    """

    def __init__(
        self, k: int = 5, name: str = "sparse_top_k_categorical_accuracy", dtype: Any = None
    ) -> None:
        super().__init__(metric_functions.sparse_top_k_categorical_accuracy, name, dtype, k=k)


class CosineSimilarity(MeanMetricWrapper):
    """The mean cosine of the angle between targets and predictions along `axis`."""

    def __init__(self, name: str = "cosine_similarity", dtype: Any = None, axis: int = -1) -> None:
        super().__init__(metric_functions.cosine_similarity, name, dtype, axis=axis)


class BinaryCrossentropy(MeanMetricWrapper):
    """The mean cross entropy of probabilities of class 1, or of logits."""

    def __init__(
        self,
        name: str = "binary_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: Any = 0,
    ) -> None:
        options = {"from_logits": from_logits, "label_smoothing": label_smoothing}
        super().__init__(loss_functions.binary_crossentropy, name, dtype, **options)


class CategoricalCrossentropy(MeanMetricWrapper):
    """The mean cross entropy of probabilities of all classes, or of logits."""

    def __init__(
        self,
        name: str = "categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: Any = 0,
    ) -> None:
        options = {"from_logits": from_logits, "label_smoothing": label_smoothing}
        super().__init__(loss_functions.categorical_crossentropy, name, dtype, **options)


class SparseCategoricalCrossentropy(MeanMetricWrapper):
    """The mean cross entropy for targets that are class indices."""

    def __init__(
        self,
        name: str = "sparse_categorical_crossentropy",
        dtype: Any = None,
        from_logits: bool = False,
        axis: int = -1,
    ) -> None:
        options = {"from_logits": from_logits, "axis": axis}
        super().__init__(loss_functions.sparse_categorical_crossentropy, name, dtype, **options)
