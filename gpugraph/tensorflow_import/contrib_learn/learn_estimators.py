"""`tf.contrib.learn.Estimator`, and the base class of estimators. Estimators are trained on arrays
or on the results of input functions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from gpugraph.tensorflow_import.contrib_learn.learn_inputs import (
    InputFunction,
    input_function,
    once_if_constant,
)
from gpugraph.tensorflow_import.contrib_learn.learn_monitors import as_hooks
from gpugraph.tensorflow_import.contrib_learn.metric_specs import MetricSpec
from gpugraph.tensorflow_import.contrib_learn.model_function_ops import ModeKeys, ModelFnOps
from gpugraph.tensorflow_import.tensorflow_names import find


class BaseEstimator:
    """An estimator with the methods of `tf.contrib.learn`. It wraps an estimator of `tf.estimator`.

    Subclasses set `_estimator` to the wrapped estimator.
    """

    _estimator: Any
    _metrics: Any = None
    _shows_only: str | None = None

    @property
    def model_dir(self) -> Any:
        """The folder of the checkpoints."""
        return self._estimator.model_dir

    @property
    def config(self) -> Any:
        """The RunConfig."""
        return self._estimator.config

    @property
    def params(self) -> Any:
        """A copy of the model function's parameters."""
        return dict(self._estimator.params)

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: InputFunction | None = None,
        steps: int | None = None,
        batch_size: int | None = None,
        monitors: Any = None,
        max_steps: int | None = None,
    ) -> Any:
        """Train the model, and return the estimator.

        Args:
          x: the features as an array or a dict of arrays. It must be None if `input_fn` is given.
          y: the labels.
          input_fn: a function that returns features and labels.
          steps: the number of additional training steps.
          batch_size: the number of examples in a step. It applies only to arrays.
          monitors: monitors or hooks.
          max_steps: the number of training steps after which training stops. It includes the steps
            of earlier calls.
        """
        if steps is None and max_steps is None and input_fn is None:
            raise ValueError("steps or max_steps must be given for arrays, which are repeated")
        inputs = input_function(x, y, input_fn, batch_size, True)
        hooks = as_hooks(monitors, self)
        self._estimator.train(self._inputs(inputs), hooks, steps=steps, max_steps=max_steps)
        return self

    def partial_fit(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: InputFunction | None = None,
        steps: int | None = 1,
        batch_size: int | None = None,
        monitors: Any = None,
    ) -> Any:
        """Train the model for additional steps. For the arguments, see `fit`."""
        return self.fit(x, y, input_fn, steps, batch_size, monitors)

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: InputFunction | None = None,
        feed_fn: Any = None,
        batch_size: int | None = None,
        steps: int | None = None,
        metrics: Any = None,
        name: str | None = None,
        checkpoint_path: str | None = None,
        hooks: Any = None,
        log_progress: bool = True,
    ) -> dict[str, Any]:
        """Return a dict from names to metrics of the last checkpoint. For the inputs, see `fit`.

        Args:
          metrics: a dict from names to additional metrics. A metric is a MetricSpec, or a function
            of predictions and labels. A name may also be a pair (name, key of the predictions).
          name: a suffix for the folder of event files.
        """
        del log_progress
        if feed_fn is not None:
            raise NotImplementedError("evaluate(feed_fn=...): use an input_fn")
        inputs = input_function(x, y, input_fn, batch_size, False)
        self._metrics = metrics
        try:
            result: dict[str, Any] = self._estimator.evaluate(
                self._inputs(inputs),
                steps=steps,
                hooks=hooks,
                checkpoint_path=checkpoint_path,
                name=name,
            )
        finally:
            self._metrics = None
        return result

    def predict(
        self,
        x: Any = None,
        input_fn: InputFunction | None = None,
        batch_size: int | None = None,
        outputs: list[str] | None = None,
        as_iterable: bool = True,
        iterate_batches: bool = False,
    ) -> Any:
        """Return the predictions of the examples, as an iterator or as arrays.

        Args:
          outputs: the keys of the predictions to return, by default all keys. Some subclasses have
            a different default.
          as_iterable: whether the result is an iterator over examples.
          iterate_batches: ignored.
        """
        del iterate_batches
        inputs = once_if_constant(input_function(x, None, input_fn, batch_size, False))
        predictions = self._estimator.predict(self._inputs(inputs))
        chosen = (_chosen(entry, outputs, self._shows_only) for entry in predictions)
        return chosen if as_iterable else _stacked(chosen)

    def _inputs(self, inputs: InputFunction) -> InputFunction:
        """Return the input function that the wrapped estimator receives."""
        return inputs

    def get_variable_names(self) -> list[str]:
        """Return the names of the variables of the last checkpoint."""
        names: list[str] = self._estimator.get_variable_names()
        return names

    def get_variable_value(self, name: str) -> Any:
        """Return the value of a variable in the last checkpoint."""
        return self._estimator.get_variable_value(name)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, as scikit-learn's estimators do."""
        del deep
        return self.params

    def export_savedmodel(
        self,
        export_dir_base: str,
        serving_input_fn: Callable[[], Any],
        default_output_alternative_key: str | None = None,
        assets_extra: Any = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = False,
    ) -> Any:
        """Write a SavedModel in a new subfolder of a folder, and return its path.

        Args:
          serving_input_fn: a function that returns InputFnOps or a ServingInputReceiver.
        """
        del default_output_alternative_key

        def receiver() -> Any:
            inputs = serving_input_fn()
            if hasattr(inputs, "receiver_tensors"):
                return inputs
            features, _, default = inputs
            return find("estimator.export", "ServingInputReceiver")(features, default)

        return self._estimator.export_savedmodel(
            export_dir_base,
            receiver,
            assets_extra=assets_extra,
            as_text=as_text,
            checkpoint_path=checkpoint_path,
            strip_default_attrs=strip_default_attrs,
        )


def _chosen(prediction: Any, outputs: list[str] | None, only: str | None) -> Any:
    """Return the predictions of one example.

    Args:
      outputs: the keys of the predictions to return, or None.
      only: if `outputs` is None, the key of the only prediction to return. If it is also None,
        return all predictions.
    """
    if outputs is not None:
        return {key: prediction[key] for key in outputs}
    if only is not None:
        return prediction[only]
    return prediction["predictions"] if set(prediction) == {"predictions"} else prediction


def _stacked(predictions: Iterator[Any]) -> Any:
    """Return the predictions of all examples as arrays."""
    every = list(predictions)
    if every and isinstance(every[0], dict):
        return {key: np.stack([entry[key] for entry in every]) for key in every[0]}
    return np.stack(every) if every else np.zeros(0)


def further_metrics(metrics: Any, features: Any, labels: Any, predictions: Any) -> dict[str, Any]:
    """Return a dict from names to the operations of the additional metrics of an evaluation."""
    result = {}
    for name, metric in (metrics or {}).items():
        key = None
        if isinstance(name, tuple):
            name, key = name
        spec = metric if isinstance(metric, MetricSpec) else MetricSpec(metric, key)
        result[name] = spec.create_metric_ops(features, labels, predictions)
    return result


class Estimator(BaseEstimator):
    """An estimator with a model function.

    Args:
      model_fn: a function of features and labels. It may also have the parameters `mode`,
        `params`, `config` and `model_dir`. It returns ModelFnOps, or a tuple of predictions, a loss
        and a training operation.
      feature_engineering_fn: a function that receives the features and labels, and returns the
        features and labels for the model function.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any] | None = None,
        model_dir: str | None = None,
        config: Any = None,
        params: dict[str, Any] | None = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
    ) -> None:
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator")
        self._model_fn = model_fn
        self._engineering = feature_engineering_fn
        self._estimator = find("estimator", "Estimator")(
            self._build, model_dir=model_dir, config=config, params=dict(params or {})
        )

    def _build(self, features: Any, labels: Any, mode: str, params: Any, config: Any) -> Any:
        """Call the model function, and return its result as an EstimatorSpec."""
        if self._engineering is not None:
            features, labels = self._engineering(features, labels)
        options = {"mode": mode, "params": params, "config": config, "model_dir": config.model_dir}
        accepted = inspect.signature(self._model_fn).parameters
        named = {name: value for name, value in options.items() if name in accepted}
        result = self._model_fn(features, labels, **named)
        if not isinstance(result, ModelFnOps):
            if hasattr(result, "export_outputs"):
                return result
            predictions, loss, train_op = result
            loss = None if mode == ModeKeys.INFER else loss
            result = ModelFnOps(mode, predictions, loss, train_op)
        if mode == ModeKeys.EVAL:
            further = further_metrics(self._metrics, features, labels, result.predictions)
            result = result._replace(eval_metric_ops={**result.eval_metric_ops, **further})
        return result.estimator_spec()


class SKCompat:
    """An estimator with the methods of scikit-learn, which are `fit`, `score` and `predict`. Their
    arguments are arrays.
    """

    def __init__(self, estimator: BaseEstimator) -> None:
        self._estimator = estimator

    def fit(
        self,
        x: Any,
        y: Any,
        batch_size: int = 128,
        steps: int | None = None,
        max_steps: int | None = None,
        monitors: Any = None,
    ) -> SKCompat:
        """Train the model on arrays, and return this object."""
        self._estimator.fit(x, y, None, steps, batch_size, monitors, max_steps)
        return self

    def score(
        self,
        x: Any,
        y: Any,
        batch_size: int = 128,
        steps: int | None = None,
        metrics: Any = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Return the metrics of the model for arrays."""
        return self._estimator.evaluate(
            x, y, batch_size=batch_size, steps=steps, metrics=metrics, name=name
        )

    def predict(self, x: Any, batch_size: int = 128, outputs: Any = None) -> Any:
        """Return the predictions for arrays, as arrays."""
        return self._estimator.predict(x, batch_size=batch_size, outputs=outputs, as_iterable=False)


def make_export_strategy(
    serving_input_fn: Callable[[], Any],
    default_output_alternative_key: str | None = None,
    assets_extra: Any = None,
    as_text: bool = False,
    exports_to_keep: int | None = 5,
    strip_default_attrs: bool | None = None,
) -> Any:
    """Return a strategy with which an Experiment exports the model after the last evaluation."""

    def export(estimator: Any, folder: str, checkpoint_path: str | None = None) -> Any:
        return estimator.export_savedmodel(
            folder,
            serving_input_fn,
            default_output_alternative_key,
            assets_extra,
            as_text,
            checkpoint_path,
            bool(strip_default_attrs),
        )

    del exports_to_keep
    return ExportStrategy("Servo", export, strip_default_attrs)


class ExportStrategy(NamedTuple):
    """A name, and a function that exports an estimator to a folder of this name.

    Args:
      strip_default_attrs: whether exported graphs lack attrs with their default values.
    """

    name: str
    export_fn: Callable[..., Any]
    strip_default_attrs: bool | None = None

    def export(self, estimator: Any, export_path: str, checkpoint_path: Any = None) -> Any:
        """Export an estimator, and return the path of the model."""
        return self.export_fn(estimator, export_path, checkpoint_path)
