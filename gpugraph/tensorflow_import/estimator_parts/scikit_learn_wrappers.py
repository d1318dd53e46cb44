"""`tf.keras.wrappers.scikit_learn`, with wrappers that give Keras models the methods of
scikit-learn's estimators.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.library.keras.training.model import Model
from gpugraph.library.keras.training.sequential import Sequential

_ACCURACIES = ("accuracy", "acc")


class BaseWrapper:
    """A wrapper of a model. Each call of `fit` builds a new model.

    Args:
      build_fn: a function, or an object with the method `__call__`, that returns a compiled model.
        If it is None, the method `__call__` of the subclass builds the model.
      sk_params: arguments of `build_fn`, and of the model's `fit`, `predict` and `evaluate`.
    """

    def __init__(self, build_fn: Callable[..., Any] | None = None, **sk_params: Any) -> None:
        self.build_fn = build_fn
        self.sk_params = sk_params
        self.check_params(sk_params)

    def _builder(self) -> Callable[..., Any]:
        """Return the function that builds the model."""
        if self.build_fn is None:
            method: Callable[..., Any] = getattr(self, "__call__")  # noqa: B004, B009
            return method
        return self.build_fn

    def check_params(self, params: dict[str, Any]) -> None:
        """Raise ValueError if a name in `params` is not a parameter of `build_fn`, or of the
        model's `fit`, `predict` or `evaluate`.

        Args:
          params: a dict from names to arguments.
        """
        builder = self._builder()
        functions: list[Any] = [Sequential.fit, Model.predict, Model.evaluate, builder]
        for name in params:
            if name != "nb_epoch" and not any(_takes(entry, name) for entry in functions):
                raise ValueError(f"{name} is not a legal parameter")

    def get_params(self, **params: Any) -> dict[str, Any]:
        """Return a dict from names to parameters, including `build_fn`."""
        return copy.deepcopy(self.sk_params) | {"build_fn": self.build_fn}

    def set_params(self, **params: Any) -> BaseWrapper:
        """Set parameters, and return this object."""
        self.check_params(params)
        self.sk_params.update(params)
        return self

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Build and train the model, and return the History.

        Args:
          x: the samples.
          y: the targets or labels.
          kwargs: additional arguments of the model's `fit`.
        """
        builder = self._builder()
        self.model = builder(**self.filter_sk_params(builder))
        loss = getattr(self.model.loss, "__name__", self.model.loss)
        targets = np.asarray(y)
        if loss == "categorical_crossentropy" and targets.ndim != 2:
            targets = np.eye(int(targets.max()) + 1, dtype=np.float32)[targets.astype(int)]
        options = copy.deepcopy(self.filter_sk_params(Sequential.fit)) | kwargs
        return self.model.fit(x, targets, **options)

    def filter_sk_params(
        self, fn: Callable[..., Any], override: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return a dict with the parameters that a function accepts, and with the entries of
        `override`.
        """
        chosen = {name: value for name, value in self.sk_params.items() if _takes(fn, name)}
        return chosen | (override or {})


def _takes(function: Callable[..., Any], name: str) -> bool:
    """Return whether a function has a parameter with this name."""
    return name in inspect.signature(function).parameters


class KerasClassifier(BaseWrapper):
    """A wrapper with the methods of a classifier of scikit-learn."""

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Train the model. For the arguments, see `BaseWrapper.fit`.

        The labels may have any dtype. The distinct labels in ascending order become `classes_`. If
        `y` has several columns, the indices of the columns become `classes_`.
        """
        labels = np.array(y)
        if labels.ndim == 2 and labels.shape[1] > 1:
            self.classes_ = np.arange(labels.shape[1])
        elif labels.ndim == 1 or (labels.ndim == 2 and labels.shape[1] == 1):
            self.classes_ = np.unique(labels)
            labels = np.searchsorted(self.classes_, labels)
        else:
            raise ValueError(f"Invalid shape for y: {labels.shape}")
        self.n_classes_ = len(self.classes_)
        return super().fit(x, labels, **kwargs)

    def predict(self, x: Any, **kwargs: Any) -> Any:
        """Return the class of each sample."""
        options = self.filter_sk_params(Model.predict, kwargs)
        outcome = self.model.predict(x, **options)
        if outcome.shape[-1] > 1:
            return self.classes_[outcome.argmax(axis=-1)]
        return self.classes_[(outcome > 0.5).astype(np.int32)]

    def predict_proba(self, x: Any, **kwargs: Any) -> Any:
        """Return the probability of each class. If there are two classes, the result has two
        columns.
        """
        outcome = self.model.predict(x, **self.filter_sk_params(Model.predict, kwargs))
        return np.hstack([1 - outcome, outcome]) if outcome.shape[1] == 1 else outcome

    def score(self, x: Any, y: Any, **kwargs: Any) -> float:
        """Return the accuracy. Raises ValueError if the model does not compute the accuracy."""
        labels: Any = np.searchsorted(self.classes_, np.asarray(y))
        loss = getattr(self.model.loss, "__name__", self.model.loss)
        if loss == "categorical_crossentropy" and labels.ndim != 2:
            labels = np.eye(self.n_classes_, dtype=np.float32)[labels]
        values = self.model.evaluate(x, labels, **self.filter_sk_params(Model.evaluate, kwargs))
        values = values if isinstance(values, (list, tuple)) else [values]
        for name, value in zip(self.model.metrics_names, values):
            if name in _ACCURACIES:
                return float(value)
        raise ValueError(
            "The model is not configured to compute accuracy. You should pass "
            '`metrics=["accuracy"]` to the `model.compile()` method.'
        )


class KerasRegressor(BaseWrapper):
    """A wrapper with the methods of a regressor of scikit-learn."""

    def predict(self, x: Any, **kwargs: Any) -> Any:
        """Return the prediction of each sample."""
        options = self.filter_sk_params(Model.predict, kwargs)
        return np.squeeze(self.model.predict(x, **options), axis=-1)

    def score(self, x: Any, y: Any, **kwargs: Any) -> float:
        """Return the negative loss."""
        value = self.model.evaluate(x, y, **self.filter_sk_params(Model.evaluate, kwargs))
        return -float(value[0] if isinstance(value, (list, tuple)) else value)
