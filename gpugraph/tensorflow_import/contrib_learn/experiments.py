"""`tf.contrib.learn.Experiment`, which has an estimator and the inputs for its training and
evaluation.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any


class Experiment:
    """The training and evaluation of an estimator.

    Args:
      estimator: an estimator of `tf.contrib.learn` or of `tf.estimator`.
      eval_metrics: additional metrics. Only an estimator of `tf.contrib.learn` supports them.
      train_steps: the number of training steps. If it is None, training lasts until the end of
        the inputs.
      eval_steps: the number of steps of one evaluation. If it is None, an evaluation lasts until
        the end of the inputs.
      min_eval_frequency: the number of training steps between two evaluations.
      export_strategies: strategies that export the model after the last evaluation.
    """

    def __init__(
        self,
        estimator: Any,
        train_input_fn: Callable[[], Any],
        eval_input_fn: Callable[[], Any],
        eval_metrics: Any = None,
        train_steps: int | None = None,
        eval_steps: int | None = 100,
        train_monitors: Any = None,
        eval_hooks: Any = None,
        local_eval_frequency: int | None = None,
        eval_delay_secs: float = 120,
        continuous_eval_throttle_secs: float = 60,
        min_eval_frequency: int | None = None,
        delay_workers_by_global_step: bool = False,
        export_strategies: Any = None,
        train_steps_per_iteration: int | None = None,
        checkpoint_and_export: bool = False,
        saving_listeners: Any = None,
        check_interval_secs: float = 5,
    ) -> None:
        self._estimator = estimator
        self._train_input_fn, self._eval_input_fn = train_input_fn, eval_input_fn
        self._eval_metrics, self._eval_hooks = eval_metrics, eval_hooks
        self._train_steps, self._eval_steps = train_steps, eval_steps
        self._monitors = list(train_monitors or [])
        self._every = train_steps_per_iteration or min_eval_frequency or local_eval_frequency
        strategies = export_strategies or []
        self._strategies = strategies if isinstance(strategies, (list, tuple)) else [strategies]

    @property
    def estimator(self) -> Any:
        """The estimator."""
        return self._estimator

    @property
    def train_steps(self) -> int | None:
        """The number of training steps."""
        return self._train_steps

    @property
    def eval_steps(self) -> int | None:
        """The number of steps of an evaluation."""
        return self._eval_steps

    def extend_train_hooks(self, additional_hooks: list[Any]) -> None:
        """Add hooks for training."""
        self._monitors.extend(additional_hooks)

    def _train_until(self, steps: int | None) -> None:
        if hasattr(self._estimator, "fit"):
            self._estimator.fit(
                input_fn=self._train_input_fn, max_steps=steps, monitors=self._monitors
            )
        else:
            self._estimator.train(self._train_input_fn, self._monitors, max_steps=steps)

    def train(self, delay_secs: float | None = None) -> Any:
        """Train the estimator, and return it."""
        self._train_until(self._train_steps)
        return self._estimator

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> Any:
        """Return the metrics of the last checkpoint."""
        options = {"input_fn": self._eval_input_fn, "steps": self._eval_steps, "name": name}
        options["hooks"] = self._eval_hooks
        if self._eval_metrics:
            options["metrics"] = self._eval_metrics
        return self._estimator.evaluate(**options)

    def train_and_evaluate(self) -> tuple[Any, list[Any]]:
        """Train and evaluate alternately. Return the metrics of the last evaluation and the results
        of the exports.
        """
        step = 0
        result = None
        while self._every and self._train_steps and step + self._every < self._train_steps:
            step += self._every
            self._train_until(step)
            result = self.evaluate(name="one_pass")
        self._train_until(self._train_steps)
        result = self.evaluate(name="one_pass")
        return result, self._export()

    local_run = continuous_train_and_eval = train_and_evaluate

    def test(self) -> tuple[Any, list[Any]]:
        """Train for one step, then evaluate. Return the metrics and the results of the exports."""
        self._train_until(1)
        return self.evaluate(name="one_pass"), self._export()

    def _export(self) -> list[Any]:
        folder = os.path.join(os.fspath(self._estimator.model_dir), "export")
        return [
            entry.export(self._estimator, os.path.join(folder, entry.name))
            for entry in self._strategies
        ]


def run(
    experiment_fn: Callable[..., Experiment],
    output_dir: str | None = None,
    schedule: str | None = None,
    run_config: Any = None,
    hparams: Any = None,
) -> Any:
    """Create an Experiment, and call one of its methods. This function is `learn_runner.run`.

    Args:
      experiment_fn: a function that returns an Experiment. Its argument is `output_dir`, or its
        arguments are `run_config` and `hparams`.
      schedule: the name of the method, by default "train_and_evaluate".
    """
    if output_dir is not None and run_config is not None:
        raise ValueError("Cannot provide both `output_dir` and `run_config`")
    if output_dir is None and run_config is None:
        raise ValueError("Must set value for `output_dir` or `run_config`")
    if not callable(experiment_fn):
        raise TypeError(f'Experiment builder "{experiment_fn}" is not callable.')
    if run_config is not None:
        experiment = experiment_fn(run_config=run_config, hparams=hparams)
    else:
        experiment = experiment_fn(output_dir)
    if not isinstance(experiment, Experiment):
        raise TypeError(f'Experiment builder did not return an Experiment, got "{experiment}".')
    method = getattr(experiment, schedule or "train_and_evaluate", None)
    if not callable(method):
        raise ValueError(f"Schedule references non-existent task {schedule}")
    return method()
