"""The kinds of outputs of a model. Each output becomes a signature of a SavedModel.

These are the classes of `tf.estimator.export`. The heads of estimators create objects of these
classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from gpugraph.base import dtypes
from gpugraph.graph.client.default_graph_functions import control_dependencies
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.saved_models.signatures import (
    classification_signature_def,
    predict_signature_def,
    regression_signature_def,
    supervised_eval_signature_def,
    supervised_train_signature_def,
)
from gpugraph.ops.framework.tensor_conversion import constant


class ExportOutput(ABC):
    """Base class of descriptions of a model's outputs for an exported graph."""

    @abstractmethod
    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Return a signature whose inputs are the fed tensors (a dict by name) and whose outputs
        are these outputs.
        """

    @staticmethod
    def _check_output_key(key: Any, error_label: str) -> str:
        """Return the key as a string. The items of a tuple are joined by slashes."""
        if isinstance(key, tuple):
            key = "/".join(key)
        if not isinstance(key, str):
            raise ValueError(f"{error_label} output key must be a string; got {key}.")
        return key

    def _wrap_and_check_outputs(
        self, outputs: Any, single_output_default_name: str, error_label: str | None = None
    ) -> dict[str, Tensor]:
        """Return a dict from names to tensors. If `outputs` is a single tensor, its name is the
        default name.
        """
        label = error_label or single_output_default_name
        by_name = outputs if isinstance(outputs, dict) else {single_output_default_name: outputs}
        for value in by_name.values():
            if not isinstance(value, Tensor):
                raise ValueError(f"{label} output value must be a Tensor; got {value}.")
        return {self._check_output_key(key, label): value for key, value in by_name.items()}


def _examples(receiver_tensors: Mapping[str, Any], kind: str) -> Tensor:
    """Return the only fed tensor, which must contain serialized Examples."""
    tensors = list(receiver_tensors.values())
    if len(tensors) != 1 or tensors[0].dtype.base_dtype != dtypes.string:
        raise ValueError(f"{kind} input must be a single string Tensor; got {receiver_tensors}")
    return tensors[0]


class ClassificationOutput(ExportOutput):
    """The outputs of a classification: the scores of the classes, the names of the classes, or both
    in the same order.
    """

    def __init__(self, scores: Any = None, classes: Any = None) -> None:
        if scores is not None and not _has_dtype(scores, "is_floating"):
            raise ValueError(f"Classification scores must be a float32 Tensor; got {scores}")
        if classes is not None and not (
            isinstance(classes, Tensor) and classes.dtype.base_dtype == dtypes.string
        ):
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}")
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")
        self._scores, self._classes = scores, classes

    @property
    def scores(self) -> Any:
        """The scores, or None."""
        return self._scores

    @property
    def classes(self) -> Any:
        """The names of the classes, or None."""
        return self._classes

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Return the signature for a server that is fed Examples."""
        examples = _examples(receiver_tensors, "Classification")
        return classification_signature_def(examples, self.classes, self.scores)


def _has_dtype(value: Any, kind: str) -> bool:
    return isinstance(value, Tensor) and getattr(value.dtype, kind)


class RegressionOutput(ExportOutput):
    """The output of a regression: the predicted numbers."""

    def __init__(self, value: Any) -> None:
        if not _has_dtype(value, "is_floating"):
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value}")
        self._value = value

    @property
    def value(self) -> Any:
        """The tensor of predicted numbers."""
        return self._value

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Return the signature for a server that is fed Examples."""
        return regression_signature_def(_examples(receiver_tensors, "Regression"), self.value)


class PredictOutput(ExportOutput):
    """The outputs of a prediction, which are a dict from names to tensors."""

    def __init__(self, outputs: Any) -> None:
        self._outputs = self._wrap_and_check_outputs(outputs, "output", "Prediction")

    @property
    def outputs(self) -> dict[str, Tensor]:
        """A dict from names to the tensors."""
        return self._outputs

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Return a signature whose inputs are the fed tensors, which may be any tensors, and whose
        outputs are these outputs.
        """
        return predict_signature_def(receiver_tensors, self.outputs)


class _SupervisedOutput(ExportOutput):
    """Base class of the outputs for training and evaluation: the loss, predictions and metrics."""

    LOSS_NAME = "loss"
    PREDICTIONS_NAME = "predictions"
    METRICS_NAME = "metrics"
    METRIC_VALUE_SUFFIX = "value"
    METRIC_UPDATE_SUFFIX = "update_op"

    def __init__(self, loss: Any = None, predictions: Any = None, metrics: Any = None) -> None:
        self._loss = self._prefixed(loss, self.LOSS_NAME)
        self._predictions = self._prefixed(predictions, self.PREDICTIONS_NAME)
        self._metrics = None if metrics is None else self._metric_tensors(metrics)

    def _prefixed(self, outputs: Any, name: str) -> dict[str, Tensor] | None:
        if outputs is None:
            return None
        by_name = self._wrap_and_check_outputs(outputs, name)
        return {self._with_prefix(key, name): value for key, value in by_name.items()}

    @staticmethod
    def _with_prefix(key: str, name: str) -> str:
        return key if key.startswith(name) else f"{name}/{key}"

    def _metric_tensors(self, metrics: Any) -> dict[str, Tensor]:
        """Return a dict from names to tensors, which contains the value and the update of each
        metric.
        """
        tensors = {}
        by_name = metrics if isinstance(metrics, dict) else {self.METRICS_NAME: metrics}
        for name, metric in by_name.items():
            value, update = (
                metric if isinstance(metric, tuple) else (metric.result(), metric.updates[0])
            )
            key = self._check_output_key(name, self.METRICS_NAME)
            key = self._with_prefix(key, self.METRICS_NAME)
            if not isinstance(value, Tensor):
                raise ValueError(f"{key} output value must be a Tensor; got {value}.")
            if not isinstance(update, Tensor | Operation):
                raise ValueError(f"{key} update_op must be a Tensor or Operation; got {update}.")
            if isinstance(update, Operation):
                with control_dependencies([update]):
                    update = constant([], name="metric_op_wrapper")
            tensors[f"{key}/{self.METRIC_VALUE_SUFFIX}"] = value
            tensors[f"{key}/{self.METRIC_UPDATE_SUFFIX}"] = update
        return tensors

    @property
    def loss(self) -> dict[str, Tensor] | None:
        """A dict from names to the losses, or None."""
        return self._loss

    @property
    def predictions(self) -> dict[str, Tensor] | None:
        """A dict from names to the predictions, or None."""
        return self._predictions

    @property
    def metrics(self) -> dict[str, Tensor] | None:
        """A dict from names to the values and updates of the metrics, or None."""
        return self._metrics


class TrainOutput(_SupervisedOutput):
    """The outputs of a training step: the loss, predictions and metrics."""

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Return the signature for training."""
        return supervised_train_signature_def(
            receiver_tensors, self.loss, self.predictions, self.metrics
        )


class EvalOutput(_SupervisedOutput):
    """The outputs of an evaluation step: the loss, predictions and metrics."""

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Return the signature for evaluation."""
        return supervised_eval_signature_def(
            receiver_tensors, self.loss, self.predictions, self.metrics
        )
