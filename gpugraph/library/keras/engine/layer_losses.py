"""LayerLosses: the losses, updates and metrics of a layer. Each of them may depend on the layer's
inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from gpugraph.base.nest import flatten
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.backend.backend_config import floatx
from gpugraph.library.keras.engine.layer_calls import innermost_call
from gpugraph.library.keras.engine.reachable_tensors import get_reachable_from_inputs
from gpugraph.library.keras.keras_objects import METRIC_CLASSES
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


class LayerLosses:
    """The mixin of Layer for losses, metrics, and updates that run in each training step."""

    _name: str
    trainable: bool
    stateful: bool
    _inbound_nodes: list[Any]

    _loss_collection: str | None = None
    """The graph collection to which losses are also added; None for no collection."""

    _update_collection: str | None = None
    """The graph collection to which updates are also added; None for no collection."""

    def __init__(self) -> None:
        self._losses: list[Any] = []
        self._callable_losses: list[Callable[[], Any]] = []
        self._updates: list[Any] = []
        self._metrics: list[Any] = []

    def sublayers(self) -> list[Any]:
        """Return the layers that are attributes of this layer, in the order of assignment."""
        raise NotImplementedError(f"{type(self).__name__} does not define `sublayers`")

    @property
    def losses(self) -> list[Any]:
        """The losses of this layer and its sublayers: penalties of regularizers, and losses that
        `add_loss` received.

        Functions that were passed to `add_loss` are called at each access.
        """
        called = (_loss_tensor(function()) for function in self._callable_losses)
        losses = [*self._losses, *(loss for loss in called if loss is not None)]
        return losses + [loss for layer in self.sublayers() for loss in layer.losses]

    @property
    def updates(self) -> list[Any]:
        """The operations of this layer and its sublayers that run in each training step.

        The list is empty if the layer is neither trainable nor stateful.
        """
        if not self.trainable and not self.stateful:
            return []
        return _with_those_of(self._updates, self.sublayers(), "updates")

    def assigned_metrics(self) -> list[Any]:
        """Return the metrics that are attributes of this layer."""
        raise NotImplementedError(f"{type(self).__name__} does not define `assigned_metrics`")

    def added_metrics(self) -> list[Any]:
        """Return the metrics of this layer and its sublayers: metrics from `add_metric`, and
        metrics in attributes.
        """
        items = {id(metric): metric for metric in self._metrics + self.assigned_metrics()}
        for layer in self.sublayers():
            items.update((id(metric), metric) for metric in layer.added_metrics())
        return list(items.values())

    @property
    def metrics(self) -> list[Any]:
        """The metrics of the layer and its sublayers, as objects of `tf.keras.metrics`."""
        return self.added_metrics()

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add a loss, or a structure of losses: tensors, numbers, or functions without arguments.

        A function is called at each access to the property `losses`.

        Args:
          inputs: the tensors on which the losses depend, or None if they depend on no inputs.
        """
        for loss in flatten(losses):
            if callable(loss):
                self._callable_losses.append(loss)
                continue
            tensor = _loss_tensor(loss)
            if tensor is not None:
                tensor._unconditional_loss = inputs is None
                self._losses.append(tensor)
                _collect([tensor], self._loss_collection)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Add updates: an operation, a tensor, a function that returns one of these, or a list of
        them.

        Args:
          inputs: the tensors on which the updates depend. If `inputs` is None, each update is
            checked. An update depends on inputs if it is computed from the inputs of the call in
            progress or, outside of calls, from the inputs of any recorded call.
        """
        ops = [_update_operation(update) for update in _listed(updates)]
        reachable = set(ops) if inputs is not None else self._reachable(ops)
        for op in ops:
            op._unconditional_update = op not in reachable
            if all(op is not known for known in self._updates):
                self._updates.append(op)
        _collect(ops, self._update_collection)

    def _reachable(self, ops: list[Any]) -> set[Any]:
        """Return the operations in `ops` that depend on the inputs of the innermost call in
        progress.

        If no call is in progress, use the inputs of all recorded calls of the layer.
        """
        call = innermost_call()
        if call is not None:
            inputs = call.tensors
        else:
            inputs = [t for node in self._inbound_nodes for t in flatten(node.input_tensors)]
        return get_reachable_from_inputs(inputs, ops)

    def add_metric(
        self, value: Any, aggregation: str | None = None, name: str | None = None
    ) -> None:
        """Add a metric of a tensor, or the metric object that computed `value`.

        Raises ValueError if the aggregation is neither "mean" nor None, if a tensor is passed
        without a name or an aggregation, or if the value is not a tensor.

        Args:
          value: a tensor whose mean over all batches is reported, or the result of calling a metric
            object.
          aggregation: "mean" if `value` is a tensor, and None if `value` is the result of a metric
            object.
          name: the name of the new metric for a tensor.
        """
        if aggregation not in (None, "mean"):
            raise ValueError(
                "We currently support only `mean` sample-wise metric aggregation. You provided "
                f"aggregation=`{aggregation}`"
            )
        metric = getattr(value, "_metric_obj", None)
        if metric is None:
            check_metric_value(value, aggregation, name)
            known = [metric for metric in self._metrics if metric.name == name]
            config = {"name": name, "dtype": value.dtype.base_dtype.name}
            mean = METRIC_CLASSES["Mean"]
            metric = known[0] if known else mean.from_config(config)
            metric(value)
        if all(metric is not known for known in self._metrics):
            self._metrics.append(metric)

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """Return the losses that depend on the tensors `inputs`. If `inputs` is None, return the
        losses that depend on no inputs.
        """
        return _among(self.losses, "_unconditional_loss", inputs)

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """Return the updates that depend on the tensors `inputs`. If `inputs` is None, return the
        updates that depend on no inputs.
        """
        return _among(self.updates, "_unconditional_update", inputs)


def _among(items: list[Any], flag: str, inputs: Any) -> list[Any]:
    """Return the items that are computed from `inputs`. If `inputs` is None, return the items that
    depend on no inputs.

    Args:
      flag: the name of an attribute. An item depends on no inputs if this attribute is true or
        missing.
    """
    if inputs is None:
        return [item for item in items if getattr(item, flag, True)]
    conditional = [item for item in items if not getattr(item, flag, True)]
    reachable = get_reachable_from_inputs(inputs, conditional)
    return [item for item in conditional if item in reachable]


def _loss_tensor(loss: Any) -> Any:
    """Convert a number to a tensor. Return any other loss unchanged."""
    return convert_to_tensor(loss, floatx()) if _is_number(loss) else loss


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.generic, np.ndarray))


def _update_operation(update: Any) -> Any:
    """Return the operation of an update. The update is an operation, a tensor, or a function
    without arguments.
    """
    if callable(update) and not hasattr(update, "op"):
        update = update()
    return getattr(update, "op", update)


def check_metric_value(value: Any, aggregation: str | None, name: str | None) -> None:
    """Raise ValueError unless `value` is a tensor and has a name and an aggregation."""
    if name is None:
        raise ValueError(
            "Please provide a name for your metric like `self.add_metric(tf.reduce_sum(inputs),"
            " name='mean_activation', aggregation='mean')`"
        )
    if not isinstance(value, Tensor):
        raise ValueError(
            f"Expected a symbolic Tensor for the metric value, received: {value!r} for {name!r}"
        )
    if aggregation is None:
        raise ValueError(
            f"`aggregation` must be specified when passing the tensor {value.name} as the metric "
            f"{name!r}: it is 'mean', or pass the result of a metric object"
        )


def _listed(items: Any) -> list[Any]:
    return list(items) if isinstance(items, (list, tuple)) else [items]


def _with_those_of(items_of_layer: list[Any], layers: list[Any], name: str) -> list[Any]:
    """Return the distinct items of a layer and of its sublayers.

    Args:
      items_of_layer: the items of the layer.
      name: the attribute of the sublayers that contains their items.
    """
    items = {id(item): item for item in items_of_layer}
    for layer in layers:
        items.update((id(item), item) for item in getattr(layer, name))
    return list(items.values())


def _collect(items: Iterable[Any], collection: str | None) -> None:
    """Add items to a collection of the default graph, unless they are already in it. If
    `collection` is None, do nothing.
    """
    if collection is None:
        return
    group = get_default_graph().get_collection_ref(collection)
    for item in items:
        if all(item is not member for member in group):
            group.append(item)
