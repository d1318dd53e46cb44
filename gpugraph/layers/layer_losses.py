"""The losses, updates and metrics of a layer, and which of them depend on given inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.layers.reachable_tensors import get_reachable_from_inputs


class LayerLosses:
    """What a layer's call adds to training: penalties, and operations to run with each step."""

    _name: str

    def __init__(self) -> None:
        self._losses: list[Any] = []
        self._updates: list[Any] = []
        self._metrics: list[Any] = []
        self._conditional: list[Any] = []

    @property
    def losses(self) -> list[Any]:
        """The penalties of regularizers, and what `add_loss` added."""
        return list(self._losses)

    @property
    def updates(self) -> list[Any]:
        """Operations to be run with each step of training."""
        return list(self._updates)

    @property
    def metrics(self) -> list[Any]:
        """The metrics of the layer: objects of tf.keras, of which a layer here has none."""
        return list(self._metrics)

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds a loss, or a list of them, to the layer's and to REGULARIZATION_LOSSES.

        inputs: the tensors that it depends on; None: it is unconditional.
        """
        listed = _listed(losses)
        if inputs is not None:
            self._conditional.extend(listed)
        _collect(listed, self._losses, GraphKeys.REGULARIZATION_LOSSES)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Adds an operation or tensor, or a list of them, to the layer's and to UPDATE_OPS.

        inputs: the tensors that it depends on; None: it is unconditional.
        """
        ops = [getattr(update, "op", update) for update in _listed(updates)]
        if inputs is not None:
            self._conditional.extend(ops)
        _collect(ops, self._updates, GraphKeys.UPDATE_OPS)

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
        return self._among(self._losses, inputs)

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """The updates that depend on `inputs`, tensors; None: those that are unconditional."""
        return self._among(self._updates, inputs)

    def _among(self, items: list[Any], inputs: Any) -> list[Any]:
        conditional = {id(item) for item in self._conditional}
        if inputs is None:
            return [item for item in items if id(item) not in conditional]
        reachable = get_reachable_from_inputs(inputs, items)
        return [item for item in items if id(item) in conditional and item in reachable]


def _listed(items: Any) -> list[Any]:
    return list(items) if isinstance(items, (list, tuple)) else [items]


def _collect(items: Iterable[Any], known: list[Any], collection: str) -> None:
    """Adds new items to a list and to the graph's collection."""
    in_graph = get_default_graph().get_collection_ref(collection)
    for item in items:
        for group in (known, in_graph):
            if all(item is not member for member in group):
                group.append(item)
