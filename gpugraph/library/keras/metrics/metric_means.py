"""Metrics that are sums or means of values over batches, either of all elements or of each
element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.shapes import as_shape
from gpugraph.graph.client.default_graph_functions import control_dependencies
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.keras_objects import plain_arguments
from gpugraph.library.keras.losses.loss_class import of_one_rank
from gpugraph.library.keras.metrics.metric_class import Metric
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import ones_like
from gpugraph.ops.control.group_and_no_op import group
from gpugraph.ops.elementwise.arithmetic_functions import squared_difference
from gpugraph.ops.elementwise.division import div_no_nan
from gpugraph.ops.elementwise.unary_functions import abs as absolute, sqrt
from gpugraph.ops.framework.identity_and_shape import identity, size
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.losses.loss_weights import broadcast_weights, squeezed_weights
from gpugraph.ops.reductions.reduction_functions import reduce_mean, reduce_sum


def weighted(values: Tensor, sample_weight: Any, averages: bool) -> tuple[Tensor, Any]:
    """Return (values * weights, weights broadcast to the values). If there are no weights, return
    (`values`, None).

    Args:
      averages: if the weights do not broadcast, the values are first reduced over the axes that the
        weights do not have. The values are averaged if `averages` is true, otherwise summed.
    """
    if sample_weight is None:
        return values, None
    weights = squeezed_weights(cast(sample_weight, values.dtype.base_dtype), values)
    try:
        weights = broadcast_weights(weights, values)
    except ValueError:
        axes = list(range(weights.shape.rank or 0, values.shape.rank or 0))
        values = reduce_mean(values, axis=axes) if averages else reduce_sum(values, axis=axes)
    return values * weights, weights


class Sum(Metric):
    """The weighted sum of all values that `update_state` has received."""

    def __init__(self, name: str = "sum", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.total = self.add_weight("total")

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        """Return an op that adds `values` to the sum. The values are multiplied by weights that
        broadcast to the values.
        """
        values = cast(values, self._dtype)
        return self.total.assign_add(reduce_sum(weighted(values, sample_weight, False)[0]))

    def result(self) -> Any:
        """Return the sum so far."""
        return identity(self.total)


class Mean(Metric):
    """The weighted mean of all values that `update_state` has received. Before the first
    `update_state`, the mean is 0.
    """

    def __init__(self, name: str | None = "mean", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.total = self.add_weight("total")
        self.count = self.add_weight("count")

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        """Return an op that adds `values` to the mean, with weights that broadcast to the
        values.
        """
        values, weights = weighted(cast(values, self._dtype), sample_weight, True)
        count = cast(size(values), self._dtype) if weights is None else reduce_sum(weights)
        return group(self.total.assign_add(reduce_sum(values)), self.count.assign_add(count))

    def result(self) -> Any:
        """Return the mean so far."""
        return div_no_nan(self.total, self.count)


class MeanRelativeError(Mean):
    """The mean of |y_true - y_pred| / normalizer. The quotient is 0 where the normalizer is 0."""

    def __init__(self, normalizer: Any, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.normalizer = normalizer

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> Any:
        """Return an op that adds the errors of a batch to the mean."""
        y_true, y_pred = of_one_rank(cast(y_true, self._dtype), cast(y_pred, self._dtype))
        y_pred, normalizer = of_one_rank(y_pred, cast(self.normalizer, self._dtype))
        y_pred.shape.assert_is_compatible_with(y_true.shape)
        errors = div_no_nan(absolute(y_true - y_pred), normalizer)
        return super().update_state(errors, sample_weight)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {"normalizer": self.normalizer, **super().get_config()}


class RootMeanSquaredError(Mean):
    """The square root of the mean of squared differences between predictions and targets."""

    def __init__(self, name: str = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> Any:
        """Return an op that adds the squared differences of a batch to the mean."""
        y_true, y_pred = of_one_rank(cast(y_true, self._dtype), cast(y_pred, self._dtype))
        return super().update_state(squared_difference(y_pred, y_true), sample_weight)

    def result(self) -> Any:
        """Return the square root of the mean so far."""
        return sqrt(super().result())


class MeanMetricWrapper(Mean):
    """The mean of the results of a function `fn(y_true, y_pred, **kwargs)`."""

    def __init__(
        self, fn: Callable[..., Any], name: str | None = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self.fn = fn
        self._fn_kwargs = kwargs

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> Any:
        """Return an op that adds the function's results for a batch to the mean."""
        y_true, y_pred = of_one_rank(cast(y_true, self._dtype), cast(y_pred, self._dtype))
        return super().update_state(self.fn(y_true, y_pred, **self._fn_kwargs), sample_weight)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), **plain_arguments(self._fn_kwargs)}


class MeanTensor(Metric):
    """The weighted mean of tensors, for each element separately. All tensors must have the shape of
    the first tensor.

    `update_state` raises ValueError if a tensor has a different shape, and `result` raises
    ValueError before the first `update_state`.
    """

    def __init__(self, name: str = "mean_tensor", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self._shape: Any = None
        self._total: Any = None
        self._count: Any = None

    @property
    def total(self) -> Any:
        """The variable of the weighted sums. Before the first `update_state`, the property is
        None.
        """
        return self._total

    @property
    def count(self) -> Any:
        """The variable of the sums of weights. Before the first `update_state`, the property is
        None.
        """
        return self._count

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        """Return an op that adds a tensor to the means, with weights that broadcast to the
        tensor.
        """
        values = cast(convert_to_tensor(values), self._dtype)
        if self._shape is None:
            self._shape = as_shape(values.shape)
            self._total = self.add_weight("total", self._shape)
            self._count = self.add_weight("count", self._shape)
        elif values.shape.as_list() != self._shape.as_list():
            raise ValueError(
                "MeanTensor input values must always have the same shape. Expected shape (set "
                f"during the first call): {self._shape}. Got: {values.shape}"
            )
        values, weights = weighted(values, sample_weight, True)
        counts = ones_like(values) if weights is None else weights
        with control_dependencies([values]):
            return group(self._total.assign_add(values), self._count.assign_add(counts))

    def result(self) -> Any:
        """Return the mean of each element for all tensors so far."""
        if self._shape is None:
            raise ValueError(
                "MeanTensor does not have any result yet. Please call the MeanTensor instance or "
                "use `.update_state(value)` before retrieving the result."
            )
        return div_no_nan(self._total, self._count)
