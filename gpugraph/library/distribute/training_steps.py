"""Training steps as objects, and `Monitor`, which runs them: `tf.contrib.distribute.Step`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.errors import OutOfRangeError
from gpugraph.building.variables import global_variables_initializer


class Step:
    """Base class of the steps of a training. A call of the object builds the step.

    Args:
      distribution: the strategy of the training.
    """

    def __init__(self, distribution: Any) -> None:
        self._distribution = distribution

    @property
    def distribution(self) -> Any:
        """The strategy of the training."""
        return self._distribution

    def initialize(self) -> Any:
        """Return the operations to run before the first step."""
        return []

    def __call__(self) -> Any:
        """Build the step, and return its operation."""
        raise NotImplementedError("must be implemented in descendants")


class StandardInputStep(Step):
    """A step that reads a dataset. Each replica receives a separate element.

    Args:
      dataset_fn: a function that returns the dataset.
      distribution: the strategy of the training.
    """

    def __init__(self, dataset_fn: Callable[[], Any], distribution: Any) -> None:
        super().__init__(distribution)
        self._iterator = distribution.make_input_fn_iterator(lambda _: dataset_fn())

    def initialize(self) -> Any:
        """Return the operation that initializes the iterator over the dataset."""
        return self._iterator.initialize()


class StandardSingleLossStep(StandardInputStep):
    """A step that changes all variables on which a loss depends.

    Args:
      dataset_fn: a function that returns the dataset.
      loss_fn: a function of a `MultiStepContext` and of a replica's element, which returns the
        replica's loss.
      optimizer: the `tf.train.Optimizer` that applies the gradients.
      distribution: the strategy of the training.
      iterations_per_step: the number of elements of each replica that a step uses, one after
        another.
    """

    def __init__(
        self,
        dataset_fn: Callable[[], Any],
        loss_fn: Callable[[Any, Any], Any],
        optimizer: Any,
        distribution: Any,
        iterations_per_step: Any = 1,
    ) -> None:
        super().__init__(dataset_fn, distribution)
        self._loss_fn, self._optimizer = loss_fn, optimizer
        self._iterations_per_step = iterations_per_step

    def __call__(self) -> Any:
        """Build the step, and return its operation."""
        extended = self._distribution.extended

        def train(context: Any, inputs: Any) -> Any:
            pairs = extended.call_for_each_replica(self._gradients, args=(context, inputs))
            return self._optimizer._distributed_apply(self._distribution, pairs)

        with self._distribution.scope():
            context = extended.experimental_run_steps_on_iterator(
                train, self._iterator, self._iterations_per_step
            )
        return context.run_op

    def _gradients(self, context: Any, inputs: Any) -> list[tuple[Any, Any]]:
        loss = self._loss_fn(context, inputs)
        pairs = self._optimizer.compute_gradients(loss)
        return [(grad, variable) for grad, variable in pairs if grad is not None]


class Monitor:
    """An object that runs a step repeatedly. It initializes all global variables.

    Raises ValueError if there is no session.

    Args:
      step_callable: the `Step`.
      session: the session that runs the step.
    """

    def __init__(self, step_callable: Step, session: Any = None) -> None:
        if session is None:
            raise ValueError("Should provide a `session` in Graph mode.")
        session.run(step_callable.initialize())
        self._run_step = session.make_callable(step_callable())
        session.run(global_variables_initializer())

    def run_steps(self, num_steps: int | None = None) -> None:
        """Run steps until the input ends, but at most `num_steps`."""
        number = 0
        while num_steps is None or number < num_steps:
            try:
                self._run_step()
            except OutOfRangeError:
                return
            number += 1
