"""The models of `tf.contrib.learn`, which are linear models, networks, and combinations of a linear
model and a network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.tensorflow_import.contrib_learn.learn_columns import named_features
from gpugraph.tensorflow_import.contrib_learn.learn_estimators import BaseEstimator, further_metrics
from gpugraph.tensorflow_import.contrib_learn.learn_inputs import InputFunction
from gpugraph.tensorflow_import.tensorflow_names import find

_CLASSES = "class_ids"
_PROBABILITIES = "probabilities"
_SCORES = "predictions"


class _Canned(BaseEstimator):
    """The base class of the models. A model wraps an estimator of `tf.estimator`."""

    def _wrap(self, name: str, clip_norm: float | None, options: dict[str, Any]) -> None:
        """Create the wrapped estimator.

        Args:
          name: the name of the class in `tf.estimator`.
          clip_norm: the maximum global norm of the gradients, or None.
          options: the arguments of the class. If an argument is None, it gets its default value.
        """
        chosen = {key: value for key, value in options.items() if value is not None}
        chosen["loss_reduction"] = "weighted_sum_over_batch_size"  # contrib.learn's is the mean
        for key in ("optimizer", "dnn_optimizer", "linear_optimizer"):
            if clip_norm is not None and not isinstance(chosen.get(key, ""), str):
                chosen[key] = _clipping(chosen[key], clip_norm)
        self._model = self._estimator = find("estimator", name)(**chosen)

    def _further(self, features: Any, labels: Any, predictions: Any) -> dict[str, Any]:
        return further_metrics(self._metrics, features, labels, renamed(predictions))

    def _inputs(self, inputs: InputFunction) -> InputFunction:
        def named() -> Any:
            result = inputs()
            if isinstance(result, tuple):
                return (named_features(result[0]), *result[1:])
            return named_features(result)

        return named

    def evaluate(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """Return the metrics of the last checkpoint. For the arguments, see
        `Estimator.evaluate`.
        """
        if options.get("metrics"):
            contrib = find("contrib.estimator", "add_metrics")
            self._estimator = contrib(self._model, self._further)
        try:
            return super().evaluate(*arguments, **options)
        finally:
            self._estimator = self._model


def renamed(predictions: Any) -> Any:
    """Return the predictions of an estimator of `tf.estimator`, with additional keys that
    `tf.contrib.learn` has.
    """
    if not isinstance(predictions, dict):
        return predictions
    result = dict(predictions)
    if _CLASSES in result:
        result["classes"] = result[_CLASSES][:, 0]
    if _SCORES in result:
        result["scores"] = result[_SCORES]
    return result


def _clipping(optimizer: Any, clip_norm: float) -> Any:
    """Return an optimizer that clips gradients to a global norm."""
    return find("contrib.estimator", "clip_gradients_by_norm")(optimizer, clip_norm)


class _Classifier(_Canned):
    """A model that classifies."""

    _shows_only = _CLASSES

    def predict(self, *arguments: Any, **options: Any) -> Any:
        """Return the classes of the examples. For the arguments, see `Estimator.predict`."""
        as_iterable = options.get("as_iterable", True)
        if options.get("outputs") is not None:
            return super().predict(*arguments, **options)
        classes = super().predict(*arguments, **options)
        return (entry[0] for entry in classes) if as_iterable else classes[:, 0]

    predict_classes = predict

    def predict_proba(self, *arguments: Any, **options: Any) -> Any:
        """Return the probabilities of the classes."""
        as_iterable = options.pop("as_iterable", True)
        options |= {"outputs": [_PROBABILITIES], "as_iterable": as_iterable}
        outcome = super().predict(*arguments, **options)
        return (
            (entry[_PROBABILITIES] for entry in outcome) if as_iterable else outcome[_PROBABILITIES]
        )


class _Regressor(_Canned):
    """A model that predicts numbers."""

    _shows_only = _SCORES

    def predict(self, *arguments: Any, **options: Any) -> Any:
        """Return the predicted values of the examples. For the arguments, see
        `Estimator.predict`.
        """
        as_iterable = options.get("as_iterable", True)
        values = super().predict(*arguments, **options)
        if options.get("outputs") is not None:
            return values
        if as_iterable:
            return (entry[0] if len(entry) == 1 else entry for entry in values)
        return values[:, 0] if values.shape[1:] == (1,) else values

    predict_scores = predict


class DNNClassifier(_Classifier):
    """A network of fully connected layers that classifies.

    Args:
      hidden_units: the number of units of each layer.
      feature_columns: columns of `tf.contrib.layers` or of `tf.feature_column`.
      gradient_clip_norm: the maximum global norm of the gradients.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Any,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        activation_fn: Callable[[Any], Any] | None = None,
        dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
        label_keys: Any = None,
    ) -> None:
        _refuse(feature_engineering_fn, embedding_lr_multipliers)
        options: dict[str, Any] = {
            "hidden_units": hidden_units,
            "feature_columns": list(feature_columns),
        }
        options |= {
            "model_dir": model_dir,
            "n_classes": n_classes,
            "config": config,
            "dropout": dropout,
        }
        options |= {"weight_column": weight_column_name, "label_vocabulary": label_keys}
        options |= {"optimizer": optimizer, "activation_fn": activation_fn}
        self._wrap("DNNClassifier", gradient_clip_norm, options)


class DNNRegressor(_Regressor):
    """A network of fully connected layers that predicts numbers. For the arguments, see
    `DNNClassifier`.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Any,
        model_dir: str | None = None,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        activation_fn: Callable[[Any], Any] | None = None,
        dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        label_dimension: int = 1,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
    ) -> None:
        _refuse(feature_engineering_fn, embedding_lr_multipliers)
        options: dict[str, Any] = {
            "hidden_units": hidden_units,
            "feature_columns": list(feature_columns),
        }
        options |= {
            "model_dir": model_dir,
            "config": config,
            "dropout": dropout,
            "optimizer": optimizer,
        }
        options |= {"weight_column": weight_column_name, "label_dimension": label_dimension}
        options |= {"activation_fn": activation_fn}
        self._wrap("DNNRegressor", gradient_clip_norm, options)


class LinearClassifier(_Classifier):
    """A linear model that classifies. For the arguments, see `DNNClassifier`."""

    def __init__(
        self,
        feature_columns: Any,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        _joint_weight: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        label_keys: Any = None,
    ) -> None:
        _refuse(feature_engineering_fn)
        options: dict[str, Any] = {
            "feature_columns": list(feature_columns),
            "model_dir": model_dir,
            "config": config,
        }
        options |= {
            "n_classes": n_classes,
            "weight_column": weight_column_name,
            "optimizer": optimizer,
        }
        options |= {"label_vocabulary": label_keys}
        self._wrap("LinearClassifier", gradient_clip_norm, options)


class LinearRegressor(_Regressor):
    """A linear model that predicts numbers. For the arguments, see `DNNClassifier`."""

    def __init__(
        self,
        feature_columns: Any,
        model_dir: str | None = None,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        label_dimension: int = 1,
        _joint_weights: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
    ) -> None:
        _refuse(feature_engineering_fn)
        options: dict[str, Any] = {
            "feature_columns": list(feature_columns),
            "model_dir": model_dir,
            "config": config,
        }
        options |= {"label_dimension": label_dimension, "weight_column": weight_column_name}
        options |= {"optimizer": optimizer}
        self._wrap("LinearRegressor", gradient_clip_norm, options)


def _both(values: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments for a combined model of `tf.estimator`. `values` has the arguments of
    the class of `tf.contrib.learn`.
    """
    names = [
        "model_dir",
        "config",
        "linear_optimizer",
        "dnn_optimizer",
        "dnn_hidden_units",
        "dnn_dropout",
    ]
    options = {name: values[name] for name in (*names, "dnn_activation_fn")}
    for name in ("linear_feature_columns", "dnn_feature_columns"):
        options[name] = None if values[name] is None else list(values[name])
    options["weight_column"] = values["weight_column_name"]
    return options


class DNNLinearCombinedClassifier(_Classifier):
    """The sum of a linear model and a network, which classifies. For the arguments, see
    `DNNClassifier`.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = None,
        _joint_linear_weights: bool = False,
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Callable[[Any], Any] | None = None,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
        label_keys: Any = None,
        fix_global_step_increment_bug: bool = False,
    ) -> None:
        _refuse(feature_engineering_fn, embedding_lr_multipliers)
        options = _both(locals()) | {"n_classes": n_classes, "label_vocabulary": label_keys}
        self._wrap("DNNLinearCombinedClassifier", gradient_clip_norm, options)


class DNNLinearCombinedRegressor(_Regressor):
    """The sum of a linear model and a network, which predicts numbers. For the arguments, see
    `DNNClassifier`.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        weight_column_name: str | None = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = None,
        _joint_linear_weights: bool = False,
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Callable[[Any], Any] | None = None,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        label_dimension: int = 1,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
        fix_global_step_increment_bug: bool = False,
    ) -> None:
        _refuse(feature_engineering_fn, embedding_lr_multipliers)
        options = _both(locals()) | {"label_dimension": label_dimension}
        self._wrap("DNNLinearCombinedRegressor", gradient_clip_norm, options)


def _refuse(feature_engineering_fn: Any, embedding_lr_multipliers: Any = None) -> None:
    """Raise NotImplementedError if an argument is not None. Models of `tf.estimator` do not have
    these arguments.
    """
    if feature_engineering_fn is not None:
        raise NotImplementedError("feature_engineering_fn: change the features in the input_fn")
    if embedding_lr_multipliers is not None:
        raise NotImplementedError("embedding_lr_multipliers: write the model as a model_fn")
