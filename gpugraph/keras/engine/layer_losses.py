"""The losses, updates and metrics of a layer, and which of them depend on given inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.keras.engine.reachable_tensors import get_reachable_from_inputs


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

    @property
    def metrics(self) -> list[Any]:
        """The metrics of the layer and its sublayers, objects of `tf.keras.metrics`."""
        return _with_those_of(self._metrics, self.sublayers(), "metrics")

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
        """Refused: metrics of layers are objects of tf.keras.metrics.

        ValueError for another aggregation than "mean" and without a name, as in TensorFlow.
        """
        if aggregation not in (None, "mean"):
            raise ValueError(
                "We currently support only `mean` sample-wise metric aggregation. You provided "
                f"aggregation=`{aggregation}`"
            )
        if name is None:
            raise ValueError(
                "Please provide a name for your metric like `self.add_metric(tf.reduce_sum(inputs),"
                " name='mean_activation', aggregation='mean')`"
            )
        raise NotImplementedError(
            f"add_metric({name!r}) of layer {self._name}: metrics of layers are objects of "
            f"tf.keras.metrics; use tf.metrics.mean, whose update op is run with each step: {value}"
        )

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
