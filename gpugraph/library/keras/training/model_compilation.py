"""CompiledNetwork: the methods of a model that configure training.

The methods are `compile`, and methods that create inputs for given data.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from gpugraph.base.dtypes import as_dtype
from gpugraph.base.nest import flatten, map_structure, pack_sequence_as
from gpugraph.building.trackable.trackable import Trackable
from gpugraph.library.keras import optimizers
from gpugraph.library.keras.backend.backend_config import floatx
from gpugraph.library.keras.backend.keras_variables import batch_set_value, placeholder
from gpugraph.library.keras.backend.learning_phase_scopes import learning_phase
from gpugraph.library.keras.engine.layer_inputs import is_tensor
from gpugraph.library.keras.engine.network import Network
from gpugraph.library.keras.metrics.metric_class import Metric
from gpugraph.library.keras.training.output_training import (
    OutputTraining,
    loss_weights_by_output,
    losses_by_output,
    metrics_by_output,
    modes_by_output,
)
from gpugraph.library.keras.training.replicated_training import ReplicatedSetup, strategy_to_train
from gpugraph.library.keras.training.training_setup import TrainingSetup

_OPTIONS = ("options", "run_metadata")


class CompiledNetwork(Network):
    """A network that `compile` prepares for training. If the network has no inputs, the network
    creates inputs to match the first data.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._compiled: dict[str, Any] = {}
        self._setup: TrainingSetup | None = None
        self._distribution_strategy: Any = None
        self._call_structure: Any = None
        self._predictor: TrainingSetup | None = None
        self.optimizer: Any = None
        self.stop_training = False
        super().__init__(*args, **kwargs)

    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        metrics: Any = None,
        loss_weights: Any = None,
        sample_weight_mode: Any = None,
        weighted_metrics: Any = None,
        target_tensors: Any = None,
        distribute: Any = None,
        **kwargs: Any,
    ) -> None:
        """Configure the training of the model.

        Raises ValueError or TypeError if the arguments do not match the outputs, and
        NotImplementedError if `distribute` or `run_eagerly` is passed.

        Args:
          optimizer: an optimizer of `tf.keras.optimizers` or `tf.train`, or its name.
          loss: a loss, or a list or dict of losses by output. An output with the loss None is not
            trained.
          metrics: a list of metrics (objects, functions or names), or a list of lists or a dict by
            output.
          loss_weights: factors of the outputs' losses, as a list or a dict by output.
          sample_weight_mode: "temporal" if the weights apply to time steps. The argument may also
            be a list or dict with such a value for each output.
          weighted_metrics: metrics to which the weights of examples are applied.
          target_tensors: tensors of the graph to use as targets, instead of placeholders.
          kwargs: `options` and `run_metadata` are passed to the runs.
            `experimental_run_tf_function` is ignored.
        """
        if distribute is not None or kwargs.pop("run_eagerly", None):
            raise NotImplementedError(
                "Models train on one replica, by the graph: leave out `distribute`, `run_eagerly`"
            )
        kwargs.pop(
            "experimental_run_tf_function", None
        )  # In TensorFlow, this chooses between two loops.
        unknown = [key for key in kwargs if key not in _OPTIONS]
        if unknown:
            raise ValueError(
                f"Some keys in session_kwargs are not supported at this time: {unknown}"
            )
        self.optimizer = optimizers.get(optimizer)
        if isinstance(self.optimizer, Trackable):
            self._track_trackable(self.optimizer, "optimizer", overwrite=True)
        self.loss, self.loss_weights = loss, loss_weights
        self.sample_weight_mode = sample_weight_mode
        self._compile_metrics = metrics or []
        self._compile_weighted_metrics = weighted_metrics
        self._compiled = {"target_tensors": target_tensors, "options": kwargs}
        self._distribution_strategy = strategy_to_train(self)
        self._setup = None
        if self.outputs:
            self._setup = self._new_setup()

    def _new_setup(self) -> TrainingSetup:
        """Create the TrainingSetup for the outputs, and the graph of a step without weights."""
        names = self.trained_names
        losses = losses_by_output(self.loss, names)
        factors = loss_weights_by_output(self.loss_weights, names)
        modes = modes_by_output(self.sample_weight_mode, names)
        targets = _targets_by_output(self._compiled["target_tensors"], names)
        with self.graph_of_outputs.as_default():
            outputs = [
                OutputTraining(*parts) for parts in zip(names, self.outputs, losses, factors)
            ]
            for output, is_temporal, target in zip(outputs, modes, targets):
                output.is_temporal = is_temporal
                if output.loss is not None:
                    output.make_target(target)
            arguments = (
                self,
                outputs,
                metrics_by_output(self._compile_metrics, names),
                metrics_by_output(self._compile_weighted_metrics, names),
                self._compiled["options"],
            )
            strategy = self._distribution_strategy
            if strategy is None:
                setup = TrainingSetup(*arguments)
            else:
                with strategy.scope():
                    setup = ReplicatedSetup(strategy, *arguments)
            setup.step_graph((False,) * len(setup.trained))
        return setup

    @property
    def setup(self) -> TrainingSetup:
        """The TrainingSetup for the arguments of `compile`. The object is created on first access.

        An access raises RuntimeError before `compile`, and ValueError if the model has no outputs
        yet.
        """
        if not self._compiled:
            raise RuntimeError(
                "You must compile your model before training/testing. Use "
                "`model.compile(optimizer, loss)`."
            )
        if self._setup is None:
            if not self.outputs:
                raise ValueError(
                    f"Model {self.name} has no outputs yet: call it, or pass data to `fit`"
                )
            self._setup = self._new_setup()
        return self._setup

    @property
    def predictor(self) -> TrainingSetup:
        """The TrainingSetup that `predict` uses. Before `compile`, the setup has no losses."""
        if self._setup is not None:
            return self._setup
        if self._predictor is None:
            outputs = [
                OutputTraining(name, output, None, 1.0)
                for name, output in zip(self.trained_names, self.outputs)
            ]
            nothing: list[list[Any]] = [[] for _ in outputs]
            self._predictor = TrainingSetup(self, outputs, nothing, nothing, {})
        return self._predictor

    # -- names and tensors

    @property
    def graph_of_outputs(self) -> Any:
        """The graph of the model's outputs, in which the model's steps run."""
        return self.outputs[0].graph

    @property
    def trained_names(self) -> list[str]:
        """The names of the outputs in losses and metrics.

        For a subclass that defines `call`, the names are `output_1`, `output_2` and so on.
        """
        if self.is_graph_network:
            return self.output_names
        return [f"output_{number + 1}" for number in range(len(self.outputs))]

    @property
    def feed_inputs(self) -> list[Any]:
        """The inputs to feed, which are the inputs that are placeholders."""
        return [tensor for tensor in self.inputs if _is_fed(tensor)]

    @property
    def feed_input_names(self) -> list[str]:
        """The names of `feed_inputs`."""
        if not self.is_graph_network:
            return list(self._data_names)
        pairs = zip(self.inputs, self.input_names)
        return [name for tensor, name in pairs if _is_fed(tensor)]

    @property
    def metrics(self) -> list[Any]:
        """The metrics that `compile` received, and the metrics that layers have added."""
        added = self.added_metrics()
        if self._setup is None:
            return added
        return [metric for metric in self._setup.all_metrics() if metric not in self._loss_metrics]

    @property
    def _loss_metrics(self) -> list[Metric]:
        return [] if self._setup is None else self._setup.loss_metrics

    @property
    def metrics_names(self) -> list[str]:
        """The names of a step's results in order: "loss", the loss of each output if there are
        several, and the metrics.
        """
        if self._setup is None:
            return ["loss"]
        return ["loss", *(metric.name for metric in self._setup.all_metrics())]

    def reset_metrics(self) -> None:
        """Set the variables of all metrics to zero. The reset is one run, unless a metric overrides
        `reset_states`.
        """
        if self._setup is None:
            return
        pairs = []
        for metric in self._setup.all_metrics():
            if type(metric).reset_states is Metric.reset_states:
                pairs += [(weight, np.zeros(weight.shape.as_list())) for weight in metric.weights]
            else:
                metric.reset_states()
        batch_set_value(pairs)

    # -- inputs from data

    def set_inputs(self, x: Any, y: Any = None) -> None:
        """If the model has no outputs, create placeholders that match the data `x`, and call the
        model on them.

        Raises ValueError if there is no data, or if the targets `y` are a dict, because the names
        of the outputs are not known.
        """
        if self.outputs:
            return
        if isinstance(y, dict):
            raise ValueError("You cannot pass a dictionary as model target.")
        if x is None:
            raise ValueError(
                f"Model {self.name} cannot be trained: its inputs are unknown, and there are no "
                "data to derive them from. Call it on tensors, or pass arrays"
            )
        names = sorted(x) if isinstance(x, dict) else None
        count = len(flatten(x)) if isinstance(x, (list, tuple, dict)) else 1
        self._data_names = names or [f"input_{number + 1}" for number in range(count)]
        values = iter(self._data_names)
        x = [x[name] for name in names] if names is not None else x
        tensors = map_structure(lambda value: _like(value, next(values)), x)
        arguments = {}
        if "training" in inspect.signature(self.call).parameters:
            arguments["training"] = learning_phase()
        nested = dict(zip(names, tensors)) if names is not None else tensors
        self._call_structure = nested, arguments
        strategy = self._distribution_strategy
        with nullcontext() if strategy is None else strategy.scope():
            outputs = self(nested, **arguments)
        self.inputs, self.outputs = flatten(tensors), flatten(outputs)
        self.built = True

    def outputs_for(self, inputs: Sequence[Any]) -> list[Any]:
        """Call the layers again on the tensors `inputs`, and return the model's outputs for
        them.
        """
        nested: Any = inputs[0] if len(inputs) == 1 else list(inputs)
        arguments: dict[str, Any] = {}
        if self._call_structure is not None:
            structure, arguments = self._call_structure
            nested = pack_sequence_as(structure, list(inputs))
        return flatten(self(nested, **arguments))


def _like(value: Any, name: str) -> Any:
    """Return a placeholder for batches that have an array's shape and dtype. Return a tensor
    unchanged.
    """
    if is_tensor(value):
        return value
    array = np.asarray(value)
    shape = array.shape[1:] if array.ndim > 1 else (1,)
    dtype = as_dtype(array.dtype)
    return placeholder((None, *shape), dtype=floatx() if dtype.is_floating else dtype, name=name)


def _is_fed(tensor: Any) -> bool:
    history = getattr(tensor, "_keras_history", None)
    layer = None if history is None else history[0]
    return bool(getattr(layer, "is_placeholder", True))


def _targets_by_output(targets: Any, names: Sequence[str]) -> list[Any]:
    """Return a list with the target tensor of each output. None means that a placeholder is
    created.

    Raises ValueError for a wrong number or an unknown name.
    """
    if targets is None or (isinstance(targets, (list, tuple)) and not targets):
        return [None] * len(names)
    if isinstance(targets, dict):
        unknown = [name for name in targets if name not in names]
        if unknown:
            raise ValueError(
                f"Unknown entry in `target_tensors` dictionary: {unknown[0]}. Only expected the "
                f"following keys: {list(names)}"
            )
        return [targets.get(name) for name in names]
    listed = list(targets) if isinstance(targets, (list, tuple)) else [targets]
    if len(listed) != len(names):
        raise ValueError(
            "When passing a list as `target_tensors`, it should have one entry per model output. "
            f"The model has {len(names)} outputs, but you passed target_tensors={targets}"
        )
    return listed
