"""`tf.contrib.learn.monitors`, which are monitors of training. They are implemented as hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.api import top_level as tf
from gpugraph.library import train
from gpugraph.library.train.hooks.session_run_hook import SessionRunHook
from gpugraph.platform import logging


class BaseMonitor(SessionRunHook):
    """A hook with a reference to the estimator. Subclasses override `step_begin` and `step_end`.

    `step_begin` returns tensors or their names. `step_end` receives the values of these tensors,
    and returns whether training stops.
    """

    _estimator: Any = None

    def set_estimator(self, estimator: Any) -> None:
        """Set the estimator whose training the monitor observes."""
        self._estimator = estimator

    def step_begin(self, step: int) -> list[Any]:
        """Return the tensors, or their names, that the next step fetches."""
        return []

    def step_end(self, step: int, output: dict[Any, Any]) -> bool:
        """Return whether training stops after this step.

        Args:
          output: a dict from names of tensors to fetched values.
        """
        return False

    def epoch_begin(self, epoch: int) -> None:
        """Do nothing. Subclasses may override this method."""

    def epoch_end(self, epoch: int) -> None:
        """Do nothing. Subclasses may override this method."""

    def begin(self, max_steps: int | None = None) -> None:
        """Find the global step."""
        self._global_step = train.get_global_step()
        self._last = 0

    def before_run(self, run_context: Any) -> Any:
        """Fetch the monitor's tensors."""
        tensors = {"step": self._global_step}
        for entry in self.step_begin(self._last + 1):
            tensors[getattr(entry, "name", entry)] = entry
        return train.SessionRunArgs(tensors)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Call `step_end`, and stop training if it returns True."""
        values = dict(run_values.results)
        self._last = int(values.pop("step"))
        self._session = run_context.session
        if self.step_end(self._last, values):
            run_context.request_stop()


class EveryN(BaseMonitor):
    """A monitor of every n-th step."""

    def __init__(self, every_n_steps: int = 100, first_n_steps: int = 1) -> None:
        self._every, self._first = every_n_steps, first_n_steps
        self._last_seen: int | None = None

    def _is_due(self, step: int) -> bool:
        seen = self._last_seen
        return step <= self._first or seen is None or step >= seen + self._every

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Return the tensors to fetch in this step, which is an n-th step."""
        return []

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        """Return whether training stops after this step, which is an n-th step."""
        return False

    def step_begin(self, step: int) -> list[Any]:
        """Return the tensors to fetch in this step."""
        return self.every_n_step_begin(step) if self._is_due(step) else []

    def step_end(self, step: int, output: dict[Any, Any]) -> bool:
        """Return whether training stops after this step."""
        if not self._is_due(step):
            return False
        self._last_seen = step
        return bool(self.every_n_step_end(step, output))


class PrintTensor(EveryN):
    """Logs tensors every n steps."""

    def __init__(self, tensor_names: Any, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        pairs = tensor_names if isinstance(tensor_names, dict) else {n: n for n in tensor_names}
        self._names = {_tensor_name(name): tag for tag, name in pairs.items()}

    def every_n_step_begin(self, step: int) -> list[Any]:
        """Return the names of the tensors."""
        return list(self._names)

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        """Log the values."""
        shown = ", ".join(f"{tag} = {outputs[name]}" for name, tag in self._names.items())
        logging.info("Step %d: %s", step, shown)
        return False


def _tensor_name(name: str) -> str:
    return name if ":" in name else f"{name}:0"


class ValidationMonitor(EveryN):
    """Evaluates the model every n steps, and may stop training.

    Args:
      x: the features as arrays. It must be None if `input_fn` is given.
      y: the labels.
      early_stopping_rounds: the number of steps after which training stops if the metric has not
        improved.
    """

    def __init__(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[[], Any] | None = None,
        batch_size: int | None = None,
        eval_steps: int | None = None,
        every_n_steps: int = 100,
        metrics: Any = None,
        hooks: Any = None,
        early_stopping_rounds: int | None = None,
        early_stopping_metric: str = "loss",
        early_stopping_metric_minimize: bool = True,
        name: str | None = None,
        check_interval_secs: int | None = 5,
    ) -> None:
        super().__init__(every_n_steps, -1)
        if x is None and input_fn is None:
            raise ValueError("Either x or input_fn should be provided.")
        self._inputs = {"x": x, "y": y, "input_fn": input_fn, "batch_size": batch_size}
        self._options = {"steps": eval_steps, "metrics": metrics, "hooks": hooks, "name": name}
        self._rounds, self._metric = early_stopping_rounds, early_stopping_metric
        self._minimizes = early_stopping_metric_minimize
        self._best: Any = None
        self._best_step = 0
        self._best_metrics: dict[str, Any] | None = None
        self._early_stopped = False
        self._checkpoint: str | None = None

    @property
    def early_stopped(self) -> bool:
        """Whether the monitor has stopped training."""
        return self._early_stopped

    @property
    def best_step(self) -> int:
        """The step with the best value of the metric."""
        return self._best_step

    @property
    def best_value(self) -> Any:
        """The best value of the metric, or None."""
        return self._best

    @property
    def best_metrics(self) -> dict[str, Any] | None:
        """All metrics of the step with the best value, or None."""
        return self._best_metrics

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        """If there is a new checkpoint, evaluate it."""
        latest = train.latest_checkpoint(self._estimator.model_dir)
        if latest is None or latest == self._checkpoint:
            return False
        self._checkpoint = latest
        outcome = self._estimator.evaluate(**self._inputs, **self._options)
        logging.info("Validation (step %d): %s", step, outcome)
        if self._rounds is None:
            return False
        value = outcome.get(self._metric)
        if value is None:
            raise ValueError(f"Metric {self._metric} missing from outputs {sorted(outcome)}.")
        better = self._best is None or (
            value < self._best if self._minimizes else value > self._best
        )
        if better:
            self._best, self._best_step, self._best_metrics = value, step, outcome
        self._early_stopped = step - self._best_step >= self._rounds
        return self._early_stopped


class NanLoss(BaseMonitor):
    """Stops training, or raises an error, if the loss is NaN."""

    def __init__(
        self, loss_tensor: Any, every_n_steps: int = 100, fail_on_nan_loss: bool = True
    ) -> None:
        self._hook = train.NanTensorHook(loss_tensor, fail_on_nan_loss)

    def before_run(self, run_context: Any) -> Any:
        """Fetch the loss."""
        return self._hook.before_run(run_context)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Check the loss."""
        self._hook.after_run(run_context, run_values)


class StopAtStep(BaseMonitor):
    """Stops training at a given step, or after a given number of steps."""

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        self._hook = train.StopAtStepHook(num_steps, last_step)

    def begin(self, max_steps: int | None = None) -> None:
        """Find the global step."""
        self._hook.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Read the global step."""
        self._hook.after_create_session(session, coord)

    def before_run(self, run_context: Any) -> Any:
        """Fetch the global step."""
        return self._hook.before_run(run_context)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Check the global step."""
        self._hook.after_run(run_context, run_values)


def as_hooks(monitors: Any, estimator: Any) -> list[SessionRunHook]:
    """Return a list of hooks, after setting the estimator of the monitors. Raises TypeError if an
    element is neither a monitor nor a hook.
    """
    if monitors is None:
        return []
    every = list(monitors) if isinstance(monitors, (list, tuple)) else [monitors]
    for monitor in every:
        if isinstance(monitor, BaseMonitor):
            monitor.set_estimator(estimator)
        elif not isinstance(monitor, SessionRunHook):
            raise TypeError(f"{monitor!r} is neither a monitor nor a SessionRunHook")
    return every


replace_monitors_with_hooks = as_hooks


def get_default_monitors(
    loss_op: Any = None,
    summary_op: Any = None,
    save_summary_steps: int = 100,
    output_dir: str | None = None,
    summary_writer: Any = None,
) -> list[Any]:
    """Return hooks that print the loss and write summaries."""
    hooks: list[Any] = []
    if loss_op is not None:
        name = tf.convert_to_tensor(loss_op).name
        hooks.append(PrintTensor({"loss": name}))
    if summary_op is not None:
        hooks.append(
            train.SummarySaverHook(
                save_steps=save_summary_steps,
                output_dir=output_dir,
                summary_writer=summary_writer,
                summary_op=summary_op,
            )
        )
    return hooks
