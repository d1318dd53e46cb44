"""The losses, updates and metrics of a layer, and which of them depend on given inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.keras.engine.reachable_tensors import get_reachable_from_inputs
from gpugraph.keras.keras_objects import METRIC_CLASSES


class LayerLosses:
    """What a layer's call adds to training: penalties, and operations to run with each step."""

    _name: str
    trainable: bool
    stateful: bool

    _loss_collection: str | None = None
    """The collection of the graph that losses join; None: they are the layer's alone."""

    _update_collection: str | None = None
    """The collection of the graph that updates join."""

    def __init__(self) -> None:
        self._losses: list[Any] = []
        self._updates: list[Any] = []
        self._metrics: list[Any] = []
        self._conditional: list[Any] = []

    def sublayers(self) -> list[Any]:
        """The layers in this one's attributes, by the order of assignment."""
        raise NotImplementedError(f"{type(self).__name__} does not define `sublayers`")

    @property
    def losses(self) -> list[Any]:
        """The penalties of regularizers, and what `add_loss` added, here and in sublayers."""
        return _with_those_of(self._losses, self.sublayers(), "losses")

    @property
    def updates(self) -> list[Any]:
        """Operations to be run with each step of training, here and in sublayers.

        Those of a layer that is not trainable are not run, unless it is stateful.
        """
        if not self.trainable and not self.stateful:
            return []
        return _with_those_of(self._updates, self.sublayers(), "updates")

    def assigned_metrics(self) -> list[Any]:
        """The metrics in this layer's attributes."""
        raise NotImplementedError(f"{type(self).__name__} does not define `assigned_metrics`")

    def added_metrics(self) -> list[Any]:
        """The metrics that the layer and its sublayers add, and have as attributes."""
        items = {id(metric): metric for metric in self._metrics + self.assigned_metrics()}
        for layer in self.sublayers():
            items.update((id(metric), metric) for metric in layer.added_metrics())
        return list(items.values())

    @property
    def metrics(self) -> list[Any]:
        """The metrics of the layer and its sublayers, objects of `tf.keras.metrics`."""
        return self.added_metrics()

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds a loss, or a list of them, to the layer's.

        inputs: the tensors that it depends on; None: it is unconditional.
        """
        listed = _listed(losses)
        if inputs is not None:
            self._conditional.extend(listed)
        _collect(listed, self._losses, self._loss_collection)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Adds an operation or tensor, or a list of them, to the layer's updates.

        inputs: the tensors that it depends on; None: it is unconditional.
        """
        ops = [getattr(update, "op", update) for update in _listed(updates)]
        if inputs is not None:
            self._conditional.extend(ops)
        _collect(ops, self._updates, self._update_collection)

    def add_metric(
        self, value: Any, aggregation: str | None = None, name: str | None = None
    ) -> None:
        """Adds a metric of each batch's values, or one whose result the value is.

        value: a tensor, of which the mean over all batches is reported; or what a call of a metric
          returned.
        aggregation: "mean" for a tensor. name: of its metric.

        ValueError for another aggregation, for a tensor without a name or aggregation, and for
        what is no tensor.
        """
        if aggregation not in (None, "mean"):
            raise ValueError(
                "We currently support only `mean` sample-wise metric aggregation. You provided "
                f"aggregation=`{aggregation}`"
            )
        metric = getattr(value, "_metric_obj", None)
        if metric is None:
            _check_metric_value(value, aggregation, name)
            known = [metric for metric in self._metrics if metric.name == name]
            config = {"name": name, "dtype": value.dtype.base_dtype.name}
            mean = METRIC_CLASSES["Mean"]
            metric = known[0] if known else mean.from_config(config)
            metric(value)
        if all(metric is not known for known in self._metrics):
            self._metrics.append(metric)

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """The losses that depend on `inputs`, tensors; None: those that are unconditional."""
        return self._among(self.losses, inputs)

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """The updates that depend on `inputs`, tensors; None: those that are unconditional."""
        return self._among(self.updates, inputs)

    def _among(self, items: list[Any], inputs: Any) -> list[Any]:
        conditional = set(map(id, self._all_conditional()))
        if inputs is None:
            return [item for item in items if id(item) not in conditional]
        reachable = get_reachable_from_inputs(inputs, items)
        return [item for item in items if id(item) in conditional and item in reachable]

    def _all_conditional(self) -> list[Any]:
        """The losses and updates here and in sublayers that depend on inputs."""
        return self._conditional + [
            item for layer in self.sublayers() for item in layer._all_conditional()
        ]


def _check_metric_value(value: Any, aggregation: str | None, name: str | None) -> None:
    """ValueError for a value of which no mean can be taken, or without a name."""
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


def _with_those_of(own: list[Any], layers: list[Any], name: str) -> list[Any]:
    """A layer's items, and those of other layers under the attribute `name`, without repetition."""
    items = {id(item): item for item in own}
    for layer in layers:
        items.update((id(item), item) for item in getattr(layer, name))
    return list(items.values())


def _collect(items: Iterable[Any], known: list[Any], collection: str | None) -> None:
    """Adds new items to a list, and to a collection of the graph where there is one."""
    groups = [known]
    if collection is not None:
        groups.append(get_default_graph().get_collection_ref(collection))
    for item in items:
        for group in groups:
            if all(item is not member for member in group):
                group.append(item)
