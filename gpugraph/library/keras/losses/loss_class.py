"""Loss, the base class of losses. It reduces the losses of examples to one number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.keras_objects import plain_arguments
from gpugraph.library.losses.loss_reduction import Reduction, weigh_and_reduce
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.losses.loss_weights import remove_squeezable_dimensions, squeezed_weights


class ReductionV2:
    """The methods that reduce the losses of examples to one number.

    NONE does not reduce the losses. SUM is the sum of the losses. SUM_OVER_BATCH_SIZE is the sum of
    the losses, divided by their number. AUTO is the same as SUM_OVER_BATCH_SIZE.
    """

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Return a tuple of all reductions."""
        return (cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE)

    @classmethod
    def validate(cls, key: str) -> None:
        """Raise ValueError if `key` is not a reduction."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}. It is one of {', '.join(cls.all())}.")


_REDUCTIONS = {
    ReductionV2.AUTO: Reduction.SUM_OVER_BATCH_SIZE,
    ReductionV2.NONE: Reduction.NONE,
    ReductionV2.SUM: Reduction.SUM,
    ReductionV2.SUM_OVER_BATCH_SIZE: Reduction.SUM_OVER_BATCH_SIZE,
}
"""The reduction of `tf.losses` that corresponds to each reduction here."""


def weighted_loss(losses: Any, sample_weight: Any, reduction: str) -> Tensor:
    """Multiply losses by weights, and reduce them.

    Raises ValueError if `reduction` is not one of `ReductionV2`.

    Args:
      sample_weight: None, a number, or a tensor that broadcasts to the losses, possibly after an
        axis of size 1 is added or removed at its end.
      reduction: one of `ReductionV2`.
    """
    ReductionV2.validate(reduction)
    losses = convert_to_tensor(losses)
    weights = 1.0 if sample_weight is None else squeezed_weights(sample_weight, losses)
    return weigh_and_reduce(losses, weights, _REDUCTIONS[reduction])


def of_one_rank(y_true: Any, y_pred: Any) -> tuple[Tensor, Tensor]:
    """Return targets and predictions with equal ranks. If one of them has an additional last axis
    of size 1, the axis is removed.

    If `y_true` has one axis fewer than `y_pred`, and the last axis of `y_pred` is longer than 1,
    `y_true` contains class indices. In this case, targets and predictions are returned unchanged.
    """
    y_true, y_pred = convert_to_tensor(y_true), convert_to_tensor(y_pred)
    ranks = y_pred.shape.rank, y_true.shape.rank
    if None not in ranks and ranks[0] != ranks[1]:
        longer = y_pred if ranks[0] > ranks[1] else y_true
        if longer.shape[-1].value in (None, 1):
            return remove_squeezable_dimensions(y_true, y_pred)
    return y_true, y_pred


class Loss:
    """Base class of losses. Subclasses define `call(y_true, y_pred)`, which returns the loss of
    each example.

    The constructor raises ValueError if `reduction` is not one of the values below.

    Args:
      reduction: one of `tf.keras.losses.Reduction`.
      name: the name of the loss.
    """

    def __init__(self, reduction: str = ReductionV2.AUTO, name: str | None = None) -> None:
        ReductionV2.validate(reduction)
        self.reduction = reduction
        self.name = name

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Tensor:
        """Return the losses of all examples, multiplied by `sample_weight` and reduced."""
        with name_scope(self.name, type(self).__name__, [y_true, y_pred, sample_weight]):
            return weighted_loss(self.call(y_true, y_pred), sample_weight, self.reduction)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Return the loss of each example. Raises NotImplementedError unless a subclass overrides
        this method.
        """
        raise NotImplementedError("Must be implemented in subclasses.")

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {"reduction": self.reduction, "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Create a loss from a dict that `get_config` returned."""
        return cls(**config)


class LossFunctionWrapper(Loss):
    """A loss that calls a function `fn(y_true, y_pred, **kwargs)` to compute the loss of each
    example.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        reduction: str = ReductionV2.AUTO,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(reduction=reduction, name=name)
        self.fn = fn
        self._fn_kwargs = kwargs

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Return `fn(y_true, y_pred, **kwargs)`. If one argument has an additional last axis of
        size 1, the axis is removed first.
        """
        y_true, y_pred = of_one_rank(y_true, y_pred)
        return self.fn(y_true, y_pred, **self._fn_kwargs)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), **plain_arguments(self._fn_kwargs)}
