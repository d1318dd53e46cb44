"""Keras's losses as classes. They weight and reduce the results of the functions in
`loss_functions`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from gpugraph.library.keras.losses import loss_functions
from gpugraph.library.keras.losses.loss_class import LossFunctionWrapper, ReductionV2


class FunctionLoss(LossFunctionWrapper):
    """A loss that calls the class attribute `function` without additional arguments."""

    function: ClassVar[Callable[..., Any]]

    def __init__(self, reduction: str = ReductionV2.AUTO, name: str | None = None) -> None:
        function = type(self).function
        super().__init__(function, reduction, name or function.__name__)


class MeanSquaredError(FunctionLoss):
    """The mean of squared differences."""

    function = staticmethod(loss_functions.mean_squared_error)


class MeanAbsoluteError(FunctionLoss):
    """The mean of absolute differences."""

    function = staticmethod(loss_functions.mean_absolute_error)


class MeanAbsolutePercentageError(FunctionLoss):
    """The mean of absolute differences, as a percentage of the targets."""

    function = staticmethod(loss_functions.mean_absolute_percentage_error)


class MeanSquaredLogarithmicError(FunctionLoss):
    """The mean of squared differences between log(1 + prediction) and log(1 + target)."""

    function = staticmethod(loss_functions.mean_squared_logarithmic_error)


class Hinge(FunctionLoss):
    """The mean of max(0, 1 - y_true * y_pred)."""

    function = staticmethod(loss_functions.hinge)


class SquaredHinge(FunctionLoss):
    """The mean of max(0, 1 - y_true * y_pred) ** 2."""

    function = staticmethod(loss_functions.squared_hinge)


class CategoricalHinge(FunctionLoss):
    """The loss max(0, 1 + largest wrong prediction - right prediction). See `categorical_hinge`."""

    function = staticmethod(loss_functions.categorical_hinge)


class Poisson(FunctionLoss):
    """The mean of y_pred - y_true * log(y_pred)."""

    function = staticmethod(loss_functions.poisson)


class LogCosh(FunctionLoss):
    """The mean of log(cosh(y_pred - y_true))."""

    function = staticmethod(loss_functions.logcosh)


class KLDivergence(FunctionLoss):
    """The Kullback-Leibler divergence, the sum of y_true * log(y_true / y_pred)."""

    function = staticmethod(loss_functions.kullback_leibler_divergence)


class BinaryCrossentropy(LossFunctionWrapper):
    """The cross entropy of probabilities of class 1, or of logits. See `binary_crossentropy`."""

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: Any = 0,
        reduction: str = ReductionV2.AUTO,
        name: str = "binary_crossentropy",
    ) -> None:
        function = loss_functions.binary_crossentropy
        options = {"from_logits": from_logits, "label_smoothing": label_smoothing}
        super().__init__(function, reduction, name, **options)
        self.from_logits = from_logits


class CategoricalCrossentropy(LossFunctionWrapper):
    """The cross entropy of probabilities of all classes, or of logits. See
    `categorical_crossentropy`.
    """

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: Any = 0,
        reduction: str = ReductionV2.AUTO,
        name: str = "categorical_crossentropy",
    ) -> None:
        function = loss_functions.categorical_crossentropy
        options = {"from_logits": from_logits, "label_smoothing": label_smoothing}
        super().__init__(function, reduction, name, **options)


class SparseCategoricalCrossentropy(LossFunctionWrapper):
    """The cross entropy for targets that are class indices. See
    `sparse_categorical_crossentropy`.
    """

    def __init__(
        self,
        from_logits: bool = False,
        reduction: str = ReductionV2.AUTO,
        name: str = "sparse_categorical_crossentropy",
    ) -> None:
        function = loss_functions.sparse_categorical_crossentropy
        super().__init__(function, reduction, name, from_logits=from_logits)


class CosineSimilarity(LossFunctionWrapper):
    """The negative cosine of the angle between targets and predictions along `axis`."""

    def __init__(
        self, axis: int = -1, reduction: str = ReductionV2.AUTO, name: str = "cosine_similarity"
    ) -> None:
        super().__init__(loss_functions.cosine_similarity, reduction, name, axis=axis)


class Huber(LossFunctionWrapper):
    """The mean of the Huber loss: d ** 2 / 2 for a difference |d| <= `delta`, and linear in d for
    larger differences.
    """

    def __init__(
        self, delta: float = 1.0, reduction: str = ReductionV2.AUTO, name: str = "huber_loss"
    ) -> None:
        super().__init__(loss_functions.huber_loss, reduction, name, delta=delta)
