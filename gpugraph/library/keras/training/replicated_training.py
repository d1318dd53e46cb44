"""The training of a model that was compiled in the scope of a strategy with several replicas.

Each batch is divided among the replicas along its first axis. A replica calls the model's layers on
its part of the batch, with its copies of the variables. The loss of each replica is multiplied by
the fraction of the batch that the replica has. These losses add up to the loss of the whole batch.
The gradients of these losses add up in the same way. The first replica adds the losses that depend
on no inputs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.building.replication import get_strategy, in_cross_replica_context
from gpugraph.building.replication.replicated_values import PerReplica
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.backend_config import floatx
from gpugraph.library.keras.backend.learning_phase_scopes import learning_phase
from gpugraph.library.keras.losses.loss_class import ReductionV2
from gpugraph.library.keras.training.output_training import OutputTraining
from gpugraph.library.keras.training.step_functions import Run, StepFunction
from gpugraph.library.keras.training.training_setup import (
    StepGraph,
    TrainingSetup,
    Weighted,
    loss_of,
    results_of,
)
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.elementwise.arithmetic_functions import add_n
from gpugraph.ops.elementwise.comparison_and_select import greater, where
from gpugraph.ops.framework.identity_and_shape import identity, shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_OUTSIDE = (
    "Variable ({}) was not created in the distribution strategy scope of ({}). It is most likely "
    "due to not all layers or the model or optimizer being created outside the distribution "
    "strategy scope. Try to make sure your code looks similar to the following.\n"
    "with strategy.scope():\n  model=_create_model()\n  model.compile(...)"
)
_ASYNCHRONOUS = (
    "Models of `tf.keras` cannot be compiled in the scope of {}, whose workers do not wait for "
    "each other. Use tf.keras.estimator.model_to_estimator with "
    "RunConfig(train_distribute=strategy), or a training function of your own with "
    "strategy.experimental_run_v2; MultiWorkerMirroredStrategy trains models in several processes"
)


def strategy_to_train(model: Any) -> Any:
    """Return the current strategy if its replicas train the model. Return None inside a replica's
    function, or if the strategy has a single replica with ordinary variables.

    Raises ValueError if workers are not synchronous.
    """
    strategy = get_strategy() if in_cross_replica_context() else None
    if strategy is None:
        return None
    count, extended = strategy.num_replicas_in_sync, strategy.extended
    if extended._first_replica() is None:
        raise ValueError(_ASYNCHRONOUS.format(type(strategy).__name__))
    return strategy if count > 1 or extended._has_distributed_variables else None


def is_over_processes(model: Any) -> bool:
    """Return whether several processes contain the replicas that train the model."""
    strategy = model._distribution_strategy
    if strategy is None:
        return False
    return bool(strategy.num_replicas_in_sync > len(strategy.extended.worker_devices))


def check_trainable(model: Any, strategy: Any) -> None:
    """Raise ValueError for variables that were created outside of the strategy's scope, and for
    stateful layers.
    """
    is_ours = strategy.extended.variable_created_in_scope
    foreign = [variable for variable in model.weights if not is_ours(variable)]
    if foreign:
        raise ValueError(_OUTSIDE.format(foreign[0], strategy))
    if strategy.num_replicas_in_sync > 1 and any(layer.stateful for layer in model.layers):
        raise ValueError(
            f"Model {model.name} has stateful layers, whose state belongs to the rows of a batch: "
            f"it cannot be trained by {strategy.num_replicas_in_sync} replicas"
        )


class _Part:
    """The forward pass of one replica, on its part of the batch.

    Args:
      replica: the index of the part.
      count: the number of all parts.

    Attributes:
      inputs: the parts of the model's inputs.
      share: the part's fraction of the batch.
      losses: the losses that the layers added.
    """

    def __init__(self, setup: ReplicatedSetup, replica: int, count: int) -> None:
        model = setup.model
        self._total = shape(model.inputs[0])[0]
        self._replica, self._count = replica, count
        self.inputs = [self.of(tensor) for tensor in model.inputs]
        size = shape(self.inputs[0])[0]
        self.is_empty = greater(1, size)
        self.share = cast(size, floatx()) / cast(self._total, floatx())
        self.outputs = model.outputs_for(self.inputs)
        self.losses = model.get_losses_for(self.inputs)

    def of(self, values: Any) -> Tensor:
        """Return this replica's rows of a batch. Raises TypeError unless the batch is a tensor."""
        if not isinstance(values, Tensor):
            raise TypeError(f"Only batches of tensors can be divided among replicas, not {values}")
        begin = self._total * self._replica // self._count
        end = self._total * (self._replica + 1) // self._count
        rows: Tensor = values[begin:end]
        return rows

    def shared(self, loss: Any) -> Any:
        """Return `loss`, a mean over the part, multiplied by the part's fraction of the batch. For
        an empty part, return 0.
        """
        return where(self.is_empty, _zero(loss), loss) * self.share


def _zero(loss: Tensor) -> Any:
    return convert_to_tensor(0.0, loss.dtype.base_dtype)


class ReplicatedSetup(TrainingSetup):
    """An object that builds the training of a model by the replicas of a strategy."""

    def __init__(self, strategy: Any, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.strategy = strategy
        check_trainable(self.model, strategy)
        self._first = strategy.extended._first_replica()
        self._parts: list[_Part] = []
        self._predicted_parts: list[_Part] = []
        self._updates_of_layers: list[Any] = []
        self._undivided_losses: list[Any] = []
        self._replica_losses: dict[Weighted, list[Any]] = {}

    def _for_each_replica(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return the result of `function(number, ...)` for each replica of this process.

        The numbers of the replicas are counted from 0 in each process.
        """
        count = len(self.strategy.extended.worker_devices)
        numbers = PerReplica(range(count))
        given = [PerReplica(items) for items in arguments]
        results: list[Any] = [None] * count

        def call(number: int, *items: Any) -> None:
            results[number] = function(number, *items)

        with self.strategy.scope():
            self.strategy.extended.call_for_each_replica(call, args=(numbers, *given))
        return results

    def parts(self) -> list[_Part]:
        """Return the forward pass of each replica. The forward passes are created on first use."""
        if not self._parts:
            known = {id(update) for update in self.model.updates}
            with self.strategy.scope():
                self._undivided_losses = self.model.get_losses_for(None)
            count = self.strategy.num_replicas_in_sync
            self._parts = self._for_each_replica(
                lambda number: _Part(self, self._first + number, count)
            )
            self._updates_of_layers = [
                update for update in self.model.updates if id(update) not in known
            ]
        return self._parts

    def predicted_parts(self) -> list[_Part]:
        """Return forward passes that together compute a whole batch in this process."""
        parts = self.parts()
        if len(parts) == self.strategy.num_replicas_in_sync:
            return parts
        if not self._predicted_parts:
            self._predicted_parts = self._for_each_replica(
                lambda number: _Part(self, number, len(parts))
            )
        return self._predicted_parts

    # -- the graph of a step

    def _build(self, weighted: Weighted) -> StepGraph:
        self.parts()
        weights = [
            output.weight() if is_weighted else None
            for output, is_weighted in zip(self.trained, weighted)
        ]
        built = self._for_each_replica(
            lambda number, part: self._build_part(number, part, weights), self._parts
        )
        losses = self._replica_losses[weighted] = [loss for loss, _ in built]
        with self.strategy.scope():
            total = self.strategy.reduce("SUM", PerReplica(losses), axis=None)
        results = list(built[0][1])
        results += [
            identity(metric.call_result)
            for metric in self.model.added_metrics()
            if metric.call_result is not None
        ]
        targets = [output.target for output in self.trained if output.has_placeholder]
        return StepGraph(total, results, [*targets, *(w for w in weights if w is not None)])

    def _build_part(self, number: int, part: _Part, weights: Sequence[Any]) -> Any:
        """Return a replica's loss, the part of it that contributes to the batch's loss, and the
        results of metrics.
        """
        outputs = [self._output_of(part, output) for output in self.trained]
        mine = [None if weight is None else part.of(weight) for weight in weights]
        losses, results = [], []
        for position, (output, weight) in enumerate(zip(outputs, mine)):
            loss = loss_of(output, weight)
            is_sum = getattr(output.loss, "reduction", None) == ReductionV2.SUM
            if self.loss_metrics:
                safe = where(part.is_empty, _zero(loss), loss)
                count = self.strategy.num_replicas_in_sync if is_sum else 1.0
                metric = self.loss_metrics[position]
                share = 1.0 / count if is_sum else part.share
                results.append(metric(safe * count, sample_weight=share))
            loss = loss if is_sum else part.shared(loss)
            losses.append(loss if output.loss_weight == 1.0 else output.loss_weight * loss)
        for output, weight in zip(outputs, mine):
            results += results_of(output, weight)
        losses += [part.shared(cast(loss, floatx())) for loss in part.losses]
        if self._first + number == 0:
            losses += [cast(convert_to_tensor(loss), floatx()) for loss in self._undivided_losses]
        with name_scope(None, "loss", losses):
            return add_n(losses), results

    def _output_of(self, part: _Part, output: OutputTraining) -> OutputTraining:
        """Return a copy of an output that has this replica's tensors."""
        mine = copy.copy(output)
        mine.output = part.outputs[self.outputs.index(output)]
        mine.target = part.of(output.target)
        return mine

    # -- functions

    def _new_function(self, kind: str, weighted: Weighted) -> StepFunction:
        model = self.model
        self.parts()
        if kind == "predict":
            inputs, updates = list(model.feed_inputs), []
            parts = self.predicted_parts()
            outputs = [concat(list(tensors), 0) for tensors in zip(*(p.outputs for p in parts))]
        else:
            step = self.step_graph(weighted)
            inputs = [*model.feed_inputs, *step.inputs]
            outputs = [step.loss, *step.results]
            updates = self._replica_updates(weighted) if kind == "train" else []
        phase = learning_phase()
        constants = [(phase, kind == "train")] if isinstance(phase, Tensor) else []
        least = self.strategy.num_replicas_in_sync if kind == "train" else 0
        return _ReplicatedFunction(least, inputs, constants, outputs, updates, self.options)

    def _replica_updates(self, weighted: Weighted) -> list[Any]:
        """Return the updates of all replicas in a training step."""
        weights, optimizer = self._trained_weights, self.model.optimizer
        self.check_trained_weights()
        updates = list(self._updates_of_layers)

        def update(_: int, loss: Any) -> Any:
            with name_scope("training", None, []):
                return optimizer.get_updates(loss, weights)

        if weights:
            steps = self._for_each_replica(update, self._replica_losses[weighted])
            updates += [step for listed in steps for step in listed]
        return updates


class _ReplicatedFunction(StepFunction):
    """A step that runs on all replicas. Raises ValueError for a batch of fewer than `least`
    examples.
    """

    def __init__(self, least: int, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._least = least

    def _prepare(self, session: Any) -> Run:
        run, least = super()._prepare(session), self._least

        def check(*arrays: Any) -> list[Any]:
            size = min((array.shape[0] for array in arrays), default=least)
            if size < least:
                raise ValueError(
                    f"The batch has {size} examples for {least} replicas, each of which needs one "
                    "to train: choose a `batch_size` so that no smaller batch is left at the end"
                )
            return run(*arrays)

        return check
