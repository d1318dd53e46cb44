"""The configuration of each output for training: its loss, weight, target and metrics.

Functions here distribute the arguments of `compile` to the outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras import losses as keras_losses, metrics as keras_metrics
from gpugraph.library.keras.backend.backend_config import floatx
from gpugraph.library.keras.backend.keras_variables import placeholder
from gpugraph.library.keras.losses import loss_functions
from gpugraph.library.keras.losses.loss_class import LossFunctionWrapper, ReductionV2
from gpugraph.library.keras.metrics.metric_class import Metric
from gpugraph.library.keras.metrics.metric_means import MeanMetricWrapper
from gpugraph.library.keras.training.input_arrays import check_output_names
from gpugraph.platform import logging

_BY_OUTPUT = {
    "acc": ("binary_accuracy", "categorical_accuracy", "sparse_categorical_accuracy"),
    "crossentropy": (
        "binary_crossentropy",
        "categorical_crossentropy",
        "sparse_categorical_crossentropy",
    ),
}
"""Functions for general names of metrics: for two classes, for more classes, and for class
indices.
"""

_GENERAL = {"acc": "acc", "accuracy": "acc", "crossentropy": "crossentropy", "ce": "crossentropy"}
_SUFFIXES = {"acc": "acc", "crossentropy": "ce"}


class OutputTraining:
    """An output of a model in training, with its loss. If the output is not trained, the loss is
    None.

    Attributes:
      target: the tensor or placeholder of the targets.
      is_temporal: whether there is a weight for each time step.
    """

    def __init__(self, name: str, output: Tensor, loss: Any, loss_weight: float) -> None:
        self.name, self.output = name, output
        self.loss = loss
        self.loss_weight = loss_weight
        self.is_temporal = False
        self.metrics: list[Metric] = []
        self.weighted_metrics: list[Metric] = []
        self.target: Any = None
        self._weight: Any = None

    @property
    def shape(self) -> tuple[int | None, ...] | None:
        """The static shape of the output as a tuple, or None."""
        sizes = self.output.shape.sizes
        return None if sizes is None else tuple(sizes)

    @property
    def function(self) -> Any:
        """The function that computes the loss. For a LossFunctionWrapper, the property is the
        wrapped function, otherwise the loss.
        """
        return self.loss.fn if isinstance(self.loss, LossFunctionWrapper) else self.loss

    @property
    def is_sparse(self) -> bool:
        """Whether the loss accepts class indices as targets."""
        return self.function is loss_functions.sparse_categorical_crossentropy

    def target_shape(self) -> tuple[int | None, ...] | None:
        """Return the shape that targets must have. If targets are not class indices, only the rank
        is given.
        """
        shape = self.shape
        if shape is None:
            return None
        return (*shape[:-1], 1) if self.is_sparse else (None,) * len(shape)

    def make_target(self, tensor: Any) -> None:
        """Set the target to `tensor`, or to a new placeholder if `tensor` is None."""
        if tensor is None:
            rank = self.output.shape.rank
            shape = None if rank is None else (None,) * rank
            dtype = floatx() if self.is_sparse else self.output.dtype.base_dtype
            tensor = placeholder(shape=shape, dtype=dtype, name=f"{self.name}_target")
            self.has_placeholder = True
        else:
            self.has_placeholder = False
        self.target = tensor

    def weight(self) -> Any:
        """Return the placeholder for the weights of examples or time steps. The placeholder is
        created on first use.
        """
        if self._weight is None:
            shape = (None, None) if self.is_temporal else (None,)
            self._weight = placeholder(
                shape=shape, dtype=floatx(), name=f"{self.name}_sample_weights"
            )
        return self._weight


def losses_by_output(loss: Any, names: Sequence[str]) -> list[Any]:
    """Return a list with the loss of each output: an object, a function or None.

    Raises ValueError for unknown names and for a wrong number of losses.
    """
    if isinstance(loss, Mapping) and set(loss) != {"class_name", "config"}:
        check_output_names(loss, names, "loss")
        for name in names:
            if name not in loss:
                logging.warning(
                    "Output %s missing from loss dictionary. We assume this was done on purpose. "
                    "The fit and evaluate APIs will not be expecting any data to be passed to %s.",
                    name,
                    name,
                )
        return [_loss_object(loss.get(name)) for name in names]
    if isinstance(loss, str) or not isinstance(loss, Sequence):
        shared = _loss_object(loss)
        return [shared] * len(names)
    if len(loss) != len(names):
        raise ValueError(
            "When passing a list as loss, it should have one entry per model outputs. The model "
            f"has {len(names)} outputs, but you passed loss={loss}"
        )
    return [_loss_object(part) for part in loss]


def _loss_object(loss: Any) -> Any:
    """Return the loss as a Loss object. A function is wrapped in one."""
    loss = keras_losses.get(loss)
    if loss is None or isinstance(loss, keras_losses.Loss):
        return loss
    if not hasattr(loss, "__name__"):
        return loss
    reduction = ReductionV2.SUM_OVER_BATCH_SIZE
    return LossFunctionWrapper(loss, reduction=reduction, name=loss.__name__)


def loss_weights_by_output(weights: Any, names: Sequence[str]) -> list[float]:
    """Return the factor of each output's loss.

    Raises the errors of `losses_by_output`, and TypeError for a value that is not a list or dict.
    """
    if weights is None:
        return [1.0] * len(names)
    if isinstance(weights, Mapping):
        check_output_names(weights, names, "loss_weights")
        return [weights.get(name, 1.0) for name in names]
    if isinstance(weights, (list, tuple)):
        if len(weights) != len(names):
            raise ValueError(
                "When passing a list as loss_weights, it should have one entry per model output. "
                f"The model has {len(names)} outputs, but you passed loss_weights={weights}"
            )
        return list(weights)
    raise TypeError(
        f"Could not interpret loss_weights argument: {weights} - expected a list of dicts."
    )


def modes_by_output(mode: Any, names: Sequence[str]) -> list[bool]:
    """Return, for each output, whether its weights are for time steps.

    Raises ValueError for unknown names and for a wrong number of modes.
    """
    if isinstance(mode, Mapping):
        check_output_names(mode, names, "sample_weight_mode")
        return [mode.get(name) == "temporal" for name in names]
    if isinstance(mode, (list, tuple)):
        if len(mode) != len(names):
            raise ValueError(
                "When passing a list as sample_weight_mode, it should have one entry per model "
                f"output. The model has {len(names)} outputs, but you passed "
                f"sample_weight_mode={mode}"
            )
        return [part == "temporal" for part in mode]
    return [mode == "temporal"] * len(names)


def metrics_by_output(metrics: Any, names: Sequence[str]) -> list[list[Any]]:
    """Return a list of metrics for each output.

    Raises TypeError for a value that is neither a list nor a dict, and ValueError for unknown names
    and for a wrong number of lists.
    """
    if not metrics:
        return [[] for _ in names]
    if isinstance(metrics, Mapping):
        check_output_names(metrics, names, "metrics")
        return [_as_list(metrics.get(name)) for name in names]
    if not isinstance(metrics, (list, tuple)):
        raise TypeError(
            "Type of `metrics` argument not understood. Expected a list or dictionary, found: "
            f"{metrics}"
        )
    if any(isinstance(part, (list, tuple)) for part in metrics):
        if len(metrics) != len(names):
            raise ValueError(
                "When passing a list of lists as `metrics`, it should have one entry per model "
                f"output. The model has {len(names)} outputs, but you passed metrics={metrics}"
            )
        return [_as_list(part) for part in metrics]
    if len(names) == 1:
        return [list(metrics)]
    return [[_copied(metric) for metric in metrics] for _ in names]


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _copied(metric: Any) -> Any:
    """Return a new metric with the same configuration and its own variables. A name is returned
    unchanged.
    """
    return type(metric).from_config(metric.get_config()) if isinstance(metric, Metric) else metric


def metric_of_output(metric: Any, output: OutputTraining, is_weighted: bool) -> Metric:
    """Return the Metric for an item of the argument `metrics` of `compile`. A function is wrapped
    in a Metric.
    """
    general = _GENERAL.get(metric) if isinstance(metric, str) else None
    function = keras_metrics.get(_specific(general, output) if general else metric)
    if general:
        name = _SUFFIXES[general]
    elif isinstance(function, Metric):
        name = function.name
    else:
        name = getattr(function, "__name__", type(function).__name__)
    if isinstance(function, Metric):
        return function
    return MeanMetricWrapper(function, name=f"weighted_{name}" if is_weighted else name)


def _specific(general: str, output: OutputTraining) -> str:
    two, many, sparse = _BY_OUTPUT[general]
    shape = output.shape
    is_binary = output.function is loss_functions.binary_crossentropy
    if is_binary or (shape is not None and shape[-1] == 1):
        return two
    return sparse if output.is_sparse else many
