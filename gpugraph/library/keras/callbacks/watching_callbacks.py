"""Callbacks that monitor a loss or metric, and end a training or change its learning rate depending
on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.library.keras.backend.keras_variables import get_value, set_value
from gpugraph.library.keras.callbacks.callback import Callback, Logs
from gpugraph.platform import logging


class MonitoredValue:
    """A monitored loss or metric, with the direction in which it improves.

    Args:
      monitor: the name of the loss or metric in the logs.
      min_delta: the minimum change that is treated as an improvement.
      mode: "min" or "max" if lower or higher values are better. "auto" means "max" for names that
        contain "acc" or "auc" or begin with "fmeasure", otherwise "min". Any other mode causes a
        warning and means "auto".
      owner: the name of the callback, for the warning.
    """

    def __init__(self, monitor: str, mode: str, min_delta: float = 0.0, owner: str = "") -> None:
        if mode not in ("auto", "min", "max"):
            logging.warning("%s mode %s is unknown, fallback to auto mode.", owner, mode)
            mode = "auto"
        if mode == "auto":
            rises = "acc" in monitor or "auc" in monitor or monitor.startswith("fmeasure")
            mode = "max" if rises else "min"
        self.monitor, self.mode, self.min_delta = monitor, mode, abs(min_delta)

    def worst(self) -> float:
        """Return a value that is worse than every finite value: infinity if lower is better,
        otherwise minus infinity.
        """
        return float("inf") if self.mode == "min" else float("-inf")

    def is_better(self, value: Any, best: Any) -> bool:
        """Return whether `value` is better than `best` by more than `min_delta`."""
        if self.mode == "min":
            return bool(np.less(value, best - self.min_delta))
        return bool(np.greater(value, best + self.min_delta))

    def value(self, logs: Logs, purpose: str) -> Any:
        """Return the monitored value from the logs of an epoch. If the value is missing, log a
        warning and return None.

        Args:
          purpose: the beginning of the warning, such as "Early stopping".
        """
        logs = logs or {}
        if self.monitor not in logs:
            logging.warning(
                "%s conditioned on metric `%s` which is not available. Available metrics are: %s",
                purpose,
                self.monitor,
                ",".join(logs),
            )
        return logs.get(self.monitor)


class EarlyStopping(Callback):
    """A callback that ends a training after `patience` epochs in which a loss or metric has not
    improved.

    Args:
      monitor: the name of the loss or metric.
      min_delta: the minimum change that is treated as an improvement.
      mode: see `MonitoredValue`.
      baseline: the value on which the first epochs must improve.
      restore_best_weights: whether to set the variables to their values after the best epoch if the
        training ends early.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:
        super().__init__()
        self.monitor, self.patience, self.verbose = monitor, patience, verbose
        self.baseline, self.restore_best_weights = baseline, restore_best_weights
        self.watch = MonitoredValue(monitor, mode, min_delta, "EarlyStopping")
        self.wait, self.stopped_epoch = 0, 0
        self.best: Any = None
        self.best_weights: Any = None

    def on_train_begin(self, logs: Logs = None) -> None:
        """Reset the best value and the count of epochs without improvement."""
        self.wait, self.stopped_epoch, self.best_weights = 0, 0, None
        self.best = self.watch.worst() if self.baseline is None else self.baseline

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Compare the epoch's value with the best value. End the training after `patience` epochs
        without improvement.
        """
        value = self.watch.value(logs, "Early stopping")
        if value is None:
            return
        if self.watch.is_better(value, self.best):
            self.best, self.wait = value, 0
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            return
        self.wait += 1
        if self.wait < self.patience:
            return
        self.stopped_epoch = epoch
        self.model.stop_training = True
        if self.restore_best_weights and self.best_weights is not None:
            if self.verbose > 0:
                print("Restoring model weights from the end of the best epoch.")
            self.model.set_weights(self.best_weights)

    def on_train_end(self, logs: Logs = None) -> None:
        """Print a message if this callback has ended the training and `verbose` is set."""
        if self.stopped_epoch > 0 and self.verbose > 0:
            print(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")


class ReduceLROnPlateau(Callback):
    """A callback that multiplies the learning rate by `factor` after `patience` epochs without
    improvement.

    The constructor raises ValueError for a factor of 1 or more. The training raises AttributeError
    if the optimizer has no `lr`.

    Args:
      monitor, mode, min_delta: see `MonitoredValue`.
      min_lr: the lower bound of the learning rate.
      cooldown: the number of epochs after a reduction during which epochs without improvement are
        not counted.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if factor >= 1.0:
            raise ValueError("ReduceLROnPlateau does not support a factor >= 1.0.")
        self.monitor, self.factor, self.patience, self.verbose = monitor, factor, patience, verbose
        self.cooldown, self.min_lr = cooldown, min_lr
        self.watch = MonitoredValue(
            monitor, mode, kwargs.get("epsilon", min_delta), "ReduceLROnPlateau"
        )
        self._begin()

    def _begin(self) -> None:
        self.best, self.wait, self.cooldown_counter = self.watch.worst(), 0, 0

    def on_train_begin(self, logs: Logs = None) -> None:
        """Reset the best value and the counters of epochs."""
        self._begin()

    def in_cooldown(self) -> bool:
        """Return whether the last reduction was fewer than `cooldown` epochs ago."""
        return self.cooldown_counter > 0

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Add the learning rate to the logs as "lr", and lower it after `patience` epochs without
        improvement.
        """
        rate = float(get_value(self.model.optimizer.lr))
        if logs is not None:
            logs["lr"] = rate
        value = self.watch.value(logs, "Reduce LR on plateau")
        if value is None:
            return
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if self.watch.is_better(value, self.best):
            self.best, self.wait = value, 0
        elif not self.in_cooldown():
            self.wait += 1
            if self.wait >= self.patience and rate > self.min_lr:
                self._lower(epoch, max(rate * self.factor, self.min_lr))

    def _lower(self, epoch: int, rate: float) -> None:
        set_value(self.model.optimizer.lr, rate)
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1:05d}: ReduceLROnPlateau reducing learning rate to {rate}.")
        self.cooldown_counter, self.wait = self.cooldown, 0


class LearningRateScheduler(Callback):
    """A callback that sets the learning rate before each epoch to schedule(epoch, current rate).

    A schedule with one parameter is called as schedule(epoch). Raises ValueError if the optimizer
    has no `lr`, or if the schedule does not return a float.
    """

    def __init__(self, schedule: Callable[..., float], verbose: int = 0) -> None:
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        """Set the optimizer's `lr` to the schedule's value for this epoch."""
        if not hasattr(self.model.optimizer, "lr"):
            raise ValueError('Optimizer must have a "lr" attribute.')
        before = float(get_value(self.model.optimizer.lr))
        try:
            rate = self.schedule(epoch, before)
        except TypeError:  # a schedule that takes only the epoch
            rate = self.schedule(epoch)
        if not isinstance(rate, (float, np.float32, np.float64)):
            raise ValueError('The output of the "schedule" function should be float.')
        set_value(self.model.optimizer.lr, rate)
        if self.verbose > 0:
            print(
                f"\nEpoch {epoch + 1:05d}: LearningRateScheduler reducing learning rate to {rate}."
            )

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        """Add the current learning rate to the logs as "lr"."""
        if logs is not None:
            logs["lr"] = float(get_value(self.model.optimizer.lr))


class TerminateOnNaN(Callback):
    """A callback that ends a training whose loss is NaN or infinite."""

    def on_batch_end(self, batch: int, logs: Logs = None) -> None:
        """End the training if the loss of the batch is not finite."""
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True
