"""Callback, the base class of objects that training calls, and CallbackList, a list of such
objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

Logs = dict[str, Any] | None
"""Losses and metrics of the current batch or epoch by name; for batches also "batch" and "size"."""


class Callback:
    """Base class of callbacks. Training calls the methods, and subclasses override some of them.

    Attributes:
      model: the model that is trained, evaluated or used for predictions.
      params: a dict of "batch_size", "epochs", "steps" (batches in an epoch), "samples" (examples
        in an epoch), "verbose", "do_validation" and "metrics" (names in the logs).
    """

    def __init__(self) -> None:
        self.model: Any = None
        self.params: dict[str, Any] = {}
        self.validation_data: Any = None

    def set_params(self, params: dict[str, Any]) -> None:
        """Set `params`, the parameters of the training. This method is called before the training
        begins.
        """
        self.params = params

    def set_model(self, model: Any) -> None:
        """Set `model`. This method is called before the training begins."""
        self.model = model

    def on_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Handle the beginning of each batch of a training."""

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Handle the end of each batch of a training."""

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Handle the beginning of each batch of a training. The base class calls
        `on_batch_begin`.
        """
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Handle the end of each batch of a training. The base class calls `on_batch_end`."""
        self.on_batch_end(batch, logs)

    def on_test_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Handle the beginning of each batch of `evaluate` and of a validation."""

    def on_test_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Handle the end of each batch of `evaluate` and of a validation."""

    def on_predict_batch_begin(self, batch: int, logs: Logs = None) -> None:
        """Handle the beginning of each batch of `predict`."""

    def on_predict_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Handle the end of each batch of `predict`."""

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Handle the beginning of each epoch of a training."""

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Handle the end of each epoch of a training.

        `logs` contains the epoch's losses and metrics by name. The names of validation results
        begin with `val_`.
        """

    def on_train_begin(self, logs: Logs = None) -> None:
        """Handle the beginning of a training, before its first epoch."""

    def on_train_end(self, logs: Logs = None) -> None:
        """Handle the end of a training, after its last epoch."""

    def on_test_begin(self, logs: Logs = None) -> None:
        """Handle the beginning of `evaluate` and of a validation."""

    def on_test_end(self, logs: Logs = None) -> None:
        """Handle the end of `evaluate` and of a validation."""

    def on_predict_begin(self, logs: Logs = None) -> None:
        """Handle the beginning of `predict`."""

    def on_predict_end(self, logs: Logs = None) -> None:
        """Handle the end of `predict`."""


_BATCH_HOOKS = {
    "on_train_batch_begin": "on_batch_begin",
    "on_train_batch_end": "on_batch_end",
    "on_test_batch_begin": None,
    "on_test_batch_end": None,
    "on_predict_batch_begin": None,
    "on_predict_batch_end": None,
}
"""By the name of a method that is called for each batch, the older method that it calls by default,
if any.
"""


class CallbackList:
    """A list of callbacks, which are called in order.

    The constructor raises TypeError for elements that are not callbacks.

    Args:
      callbacks: a list, another CallbackList, or None for no callbacks.
    """

    def __init__(self, callbacks: Any = None) -> None:
        if isinstance(callbacks, CallbackList):
            callbacks = callbacks.callbacks
        if not isinstance(callbacks or (), (list, tuple)):
            raise TypeError(f"`callbacks` is a list of callbacks, got {callbacks!r}")
        self.callbacks: list[Any] = list(callbacks or ())
        for callback in self.callbacks:
            if not hasattr(callback, "set_model"):
                raise TypeError(f"Callbacks are objects of `keras.callbacks`, got {callback!r}")

    def append(self, callback: Any) -> None:
        """Append a callback."""
        self.callbacks.append(callback)

    def set_params(self, params: dict[str, Any]) -> None:
        """Set the parameters of the training in all callbacks. See `Callback`."""
        for callback in self.callbacks:
            callback.set_params(params)

    def set_model(self, model: Any) -> None:
        """Set the model of all callbacks."""
        for callback in self.callbacks:
            callback.set_model(model)

    def batch_hooks(self, name: str) -> list[Callable[[int, Logs], Any]]:
        """Return the bound methods `name` of the callbacks, except methods without an effect.

        A method has an effect if the callback overrides it or the older method that it calls, such
        as `on_batch_begin`.
        """
        names = [name, _BATCH_HOOKS[name]]
        return [
            getattr(callback, name)
            for callback in self.callbacks
            if any(_defines(callback, hook) for hook in names if hook is not None)
        ]

    def call(self, name: str, *arguments: Any) -> None:
        """Call the method `name` of all callbacks that have it."""
        for callback in self.callbacks:
            method = getattr(callback, name, None)
            if method is not None:
                method(*arguments)

    def __getattr__(self, name: str) -> Any:
        """Return a function that calls the method `name` of all callbacks, such as
        `on_train_begin`.
        """
        if name.startswith("on_") and hasattr(Callback, name):
            return partial(self._call_hook, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _call_hook(self, name: str, number: int | None = None, logs: Logs = None) -> None:
        """Call the method `name` with the number of an epoch or batch, if it has one, and logs."""
        has_number = "epoch" in name or "batch" in name
        if has_number:
            self.call(name, number, logs or {})
        else:  # the only argument is the logs
            self.call(name, number if logs is None else logs)

    def __iter__(self) -> Any:
        return iter(self.callbacks)


def _defines(callback: Any, name: str) -> bool:
    """Return whether a callback overrides the method `name`, in its class or as an attribute of the
    object.
    """
    if name in getattr(callback, "__dict__", ()):
        return True
    method = getattr(type(callback), name, None)
    return method is not None and method is not getattr(Callback, name)


class LambdaCallback(Callback):
    """A callback whose methods are the functions that the constructor receives.

    Args:
      kwargs: functions for other methods of `Callback`, by name.
    """

    def __init__(
        self,
        on_epoch_begin: Callable[..., Any] | None = None,
        on_epoch_end: Callable[..., Any] | None = None,
        on_batch_begin: Callable[..., Any] | None = None,
        on_batch_end: Callable[..., Any] | None = None,
        on_train_begin: Callable[..., Any] | None = None,
        on_train_end: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        hooks = {
            "on_epoch_begin": on_epoch_begin,
            "on_epoch_end": on_epoch_end,
            "on_batch_begin": on_batch_begin,
            "on_batch_end": on_batch_end,
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
            **kwargs,
        }
        vars(self).update({name: hook for name, hook in hooks.items() if hook is not None})


class History(Callback):
    """A callback that records the losses and metrics of all epochs.

    Attributes:
      history: a dict from the name of a loss or metric to its values, one for each epoch.
      epoch: the list of the epochs' numbers.
    """

    def __init__(self) -> None:
        super().__init__()
        self.epoch: list[int] = []
        self.history: dict[str, list[Any]] = {}

    def on_train_begin(self, logs: Logs = None) -> None:
        """Clear the list of epochs. The values in `history` are kept."""
        self.epoch = []

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Record the values of the epoch."""
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


class BaseLogger(Callback):
    """A callback that replaces the values in an epoch's logs by means over the batches.

    The means are weighted by the batch sizes.

    Args:
      stateful_metrics: names of values that are already means over the epoch, and are not averaged.
    """

    def __init__(self, stateful_metrics: Iterable[str] | None = None) -> None:
        super().__init__()
        self.stateful_metrics = set(stateful_metrics or ())
        self.seen = 0
        self.totals: dict[str, float] = {}

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Reset the sums to 0."""
        self.seen, self.totals = 0, {}

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """Add a batch's values, multiplied by its number of examples, to the sums."""
        logs = logs or {}
        size = logs.get("size", 0) * logs.get("num_steps", 1)
        self.seen += size
        for name, value in logs.items():
            if name in self.stateful_metrics:
                self.totals[name] = value
            else:
                self.totals[name] = self.totals.get(name, 0) + value * size

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Replace the values in `logs` by the means over the epoch."""
        if logs is None:
            return
        for name in self.params["metrics"]:
            if name in self.totals:
                is_mean = name in self.stateful_metrics
                logs[name] = self.totals[name] if is_mean else self.totals[name] / self.seen
