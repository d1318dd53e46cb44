"""The graph of a training: losses and metrics of the outputs, the total loss, and step functions.

The weights of an output's examples are a placeholder only if the program passes weights. So a
separate graph of a step is built for each set of outputs that have weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.backend_config import floatx
from gpugraph.library.keras.backend.learning_phase_scopes import learning_phase
from gpugraph.library.keras.engine.layer_nodes import mask_of
from gpugraph.library.keras.losses.loss_class import Loss, weighted_loss
from gpugraph.library.keras.metrics.metric_class import Metric
from gpugraph.library.keras.metrics.metric_means import Mean
from gpugraph.library.keras.training.output_training import OutputTraining, metric_of_output
from gpugraph.library.keras.training.step_functions import StepFunction
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.elementwise.arithmetic_functions import add_n
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.nn.losses.loss_weights import squeezed_weights
from gpugraph.platform import logging

Weighted = tuple[bool, ...]
"""For each trained output, whether its examples have weights."""


class StepGraph:
    """The total loss and the results of metrics in one step, for one set of outputs that have
    weights.

    Args:
      inputs: the placeholders for targets and weights, which are fed.
    """

    def __init__(self, loss: Tensor, results: list[Tensor], inputs: list[Any]) -> None:
        self.loss, self.results, self.inputs = loss, results, inputs


class TrainingSetup:
    """The training of a model's outputs, and the functions that run a step.

    Args:
      outputs: all outputs.
      metrics, weighted_metrics: a list of metrics for each output, from `compile`.
      options: `options` and `run_metadata` for `Session.run`.
    """

    def __init__(
        self,
        model: Any,
        outputs: Sequence[OutputTraining],
        metrics: Sequence[list[Any]],
        weighted_metrics: Sequence[list[Any]],
        options: dict[str, Any],
    ) -> None:
        self.model, self.options = model, options
        self.outputs = list(outputs)
        self.trained = [output for output in outputs if output.loss is not None]
        self.loss_metrics: list[Metric] = []
        if len(self.outputs) > 1:
            self.loss_metrics = [Mean(name=f"{output.name}_loss") for output in self.trained]
        self._names = {"loss", *(metric.name for metric in self.loss_metrics)}
        for output, plain, weighted in zip(self.outputs, metrics, weighted_metrics):
            if output.loss is not None:
                output.metrics = [self._metric(metric, output, False) for metric in plain]
                output.weighted_metrics = [
                    self._metric(metric, output, True) for metric in weighted
                ]
        self._graphs: dict[Weighted, StepGraph] = {}
        self._functions: dict[Any, StepFunction] = {}
        self._trained_weights = list(
            model.trainable_weights
        )  # the variables at the time of `compile`

    def _metric(self, metric: Any, output: OutputTraining, is_weighted: bool) -> Metric:
        """Return the Metric object for a metric of an output. Its name is unique in the model."""
        unique = metric_of_output(metric, output, is_weighted)
        base = f"{output.name}_{unique.name}" if len(self.outputs) > 1 else unique.name
        name, count = base, 1
        while name in self._names:
            name, count = f"{base}_{count}", count + 1
        self._names.add(name)
        unique._name = name
        return unique

    # -- metrics

    @property
    def output_metrics(self) -> list[Metric]:
        """The metrics of all outputs. For each output, its weighted metrics come last."""
        return [
            metric
            for output in self.trained
            for metric in (*output.metrics, *output.weighted_metrics)
        ]

    def all_metrics(self) -> list[Metric]:
        """Return the metrics whose results a step returns, in the order of the results.

        For a model with several outputs, the mean loss of each output comes first. The outputs'
        metrics follow, then the metrics that layers and the program have added.
        """
        listed = [*self.loss_metrics, *self.output_metrics, *self.model.added_metrics()]
        return list({id(metric): metric for metric in listed}.values())

    # -- the graph of a step

    def step_graph(self, weighted: Weighted) -> StepGraph:
        """Return the loss and metrics of a step in which the outputs `weighted` have weights.

        They are created once for each set of outputs.
        """
        if weighted not in self._graphs:
            with self.model.graph.as_default():
                self._graphs[weighted] = self._build(weighted)
        return self._graphs[weighted]

    def _build(self, weighted: Weighted) -> StepGraph:
        placeholders = []
        parts, results = [], []
        for position, (output, has_weights) in enumerate(zip(self.trained, weighted)):
            weights = output.weight() if has_weights else None
            if has_weights:
                placeholders.append(weights)
            loss = loss_of(output, weights)
            if self.loss_metrics:
                results.append(self.loss_metrics[position](loss))
            with name_scope(None, "loss", [loss]):
                parts.append(loss if output.loss_weight == 1.0 else output.loss_weight * loss)
        for output, has_weights in zip(self.trained, weighted):
            weights = output.weight() if has_weights else None
            results += results_of(output, weights)
        results += [
            identity(metric.call_result)
            for metric in self.model.added_metrics()
            if metric.call_result is not None
        ]
        targets = [output.target for output in self.trained if output.has_placeholder]
        return StepGraph(self._total(parts), results, [*targets, *placeholders])

    def _total(self, parts: list[Tensor]) -> Tensor:
        """Return the sum of the losses of outputs and of layers. Raises ValueError if the model has
        no losses.
        """
        model = self.model
        added = [*model.get_losses_for(None)]
        if model.inputs:
            added += model.get_losses_for(model.inputs)
        extra = [cast(convert_to_tensor(loss), floatx()) for loss in added]
        if not parts and not extra:
            raise ValueError("The model cannot be compiled because it has no loss to optimize.")
        with name_scope(None, "loss", parts + extra):
            return add_n([*parts, *extra]) if len(parts + extra) > 1 else (parts + extra)[0]

    # -- functions

    def function(self, kind: str, weighted: Weighted = ()) -> StepFunction:
        """Return the function for a step of the kind "train", "test" or "predict". It is created
        only once.

        Args:
          weighted: for each output, whether it has weights.
        """
        key = kind, weighted
        if key not in self._functions:
            with self.model.graph.as_default():
                self._functions[key] = self._new_function(kind, weighted)
        return self._functions[key]

    def _new_function(self, kind: str, weighted: Weighted) -> StepFunction:
        model = self.model
        if kind == "predict":
            inputs, outputs, updates = list(model.feed_inputs), list(model.outputs), []
            updates = model.state_updates
        else:
            step = self.step_graph(weighted)
            inputs = [*model.feed_inputs, *step.inputs]
            outputs = [step.loss, *step.results]
            updates = self._updates(step) if kind == "train" else model.state_updates
        phase = learning_phase()
        constants = [(phase, kind == "train")] if isinstance(phase, Tensor) else []
        return StepFunction(inputs, constants, outputs, updates, self.options)

    def _updates(self, step: StepGraph) -> list[Any]:
        """Return the updates of a training step: the updates of the optimizer and of the layers."""
        model = self.model
        weights = self._trained_weights
        self.check_trained_weights()
        updates = [*model.get_updates_for(None), *model.get_updates_for(model.inputs)]
        with name_scope("training", None, []):
            if weights:
                updates += model.optimizer.get_updates(step.loss, weights)
        return updates

    def check_trained_weights(self) -> None:
        """Log a warning if the trainable variables have changed since `compile`."""
        if list(map(id, self.model.trainable_weights)) != list(map(id, self._trained_weights)):
            logging.warning(
                "Discrepancy between trainable weights and collected trainable weights, did you "
                "set `model.trainable` without calling `model.compile` after ?"
            )


def loss_of(output: OutputTraining, weights: Any) -> Tensor:
    """Return the loss of an output. The weights are multiplied by the output's mask."""
    with name_scope(None, f"loss/{output.name}_loss", [output.output]):
        weights = _masked(weights, mask_of(output.output), output.output)
        loss = output.loss
        if isinstance(loss, Loss) and type(loss).__call__ is Loss.__call__:
            losses = loss.call(output.target, output.output)
            return weighted_loss(losses, weights, loss.reduction)
        result: Tensor = loss(output.target, output.output, sample_weight=weights)
        return result


def _masked(weights: Any, mask: Any, output: Tensor) -> Any:
    """Return the weights multiplied by the mask (0 and 1). If there are neither weights nor a mask,
    return None.
    """
    if mask is None:
        return weights
    mask = cast(mask, output.dtype.base_dtype)
    return mask if weights is None else squeezed_weights(weights, mask) * mask


def results_of(output: OutputTraining, weights: Any) -> list[Tensor]:
    """Return the results of an output's metrics, which include this batch.

    Results of weighted metrics come last.
    """
    mask = mask_of(output.output)
    with name_scope(None, f"metrics/{output.name}", [output.output]):
        arguments = output.target, output.output
        plain = _masked(None, mask, output.output)
        results = [metric(*arguments, sample_weight=plain) for metric in output.metrics]
        weighted = _masked(weights, mask, output.output)
        return results + [
            metric(*arguments, sample_weight=weighted) for metric in output.weighted_metrics
        ]
