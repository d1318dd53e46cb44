"""NetworkLosses: the losses and metrics of a network.

In a graph of layers, losses and metrics become layers themselves, so that the network's
configuration contains them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base.nest import flatten
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.keras.engine.layer_calls import innermost_call
from gpugraph.library.keras.engine.layer_losses import LayerLosses, check_metric_value
from gpugraph.library.keras.engine.layer_nodes import LayerNode
from gpugraph.library.keras.engine.network_graph import NetworkGraph, extend_network
from gpugraph.library.keras.engine.operation_history import record_operations
from gpugraph.library.keras.engine.operation_layers import AddLoss, AddMetric


class NetworkLosses(LayerLosses):
    """The mixin of Network for losses and metrics. In a graph of layers, each loss or metric
    becomes a layer.
    """

    inputs: list[Any]
    _network_graph: NetworkGraph | None

    def extend(self, tensors: Sequence[Any]) -> None:
        """Add the calls that lead from the network's inputs to `tensors`. The tensors do not become
        outputs.

        Calls that are already in the network are ignored. Raises the errors of `map_network`.
        """
        graph = self._network_graph
        assert graph is not None, "there is a graph of layers"
        self._network_graph = extend_network(graph, self.inputs, tensors)
        self._layers = self._network_graph.layers

    def added_nodes(self) -> list[LayerNode]:
        """Return the calls that `extend` added. A call comes after the calls that compute its
        inputs.
        """
        by_depth = {} if self._network_graph is None else self._network_graph.nodes_by_depth
        depths = sorted((depth for depth in by_depth if depth < 0), reverse=True)
        return [node for depth in depths for node in by_depth[depth]]

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add a loss, or a list of losses. See `Layer.add_loss`.

        In a graph of layers, each loss that is computed from layers' outputs becomes the input of
        an AddLoss layer. The operations between the layers and the loss become layers too. Raises
        ValueError for a loss that depends on inputs other than the network's inputs.
        """
        for loss in flatten(losses):
            if self._record_in_graph(loss):
                self.extend([AddLoss(unconditional=False)(loss)])
            else:
                super().add_loss(loss, inputs)

    def add_metric(
        self, value: Any, aggregation: str | None = None, name: str | None = None
    ) -> None:
        """Add a metric of a tensor. See `Layer.add_metric`.

        In a graph of layers, the tensor becomes the input of an AddMetric layer. A graph of layers
        does not accept the result of a metric object, and raises ValueError.
        """
        is_graph = self._network_graph is not None and innermost_call() is None
        if is_graph and hasattr(value, "_metric_obj"):
            raise ValueError(
                "Using the result of calling a `Metric` object when calling `add_metric` on a "
                "Functional Model is not supported. Please pass the Tensor to monitor directly."
            )
        if self._record_in_graph(value):
            check_metric_value(value, aggregation, name)
            self.extend([AddMetric(aggregation, name)(value)])
        else:
            super().add_metric(value, aggregation, name)

    def _record_in_graph(self, value: Any) -> bool:
        """Return whether a loss or metric is part of the graph of layers, because it depends on
        outputs of layers.

        If the value depends on such outputs, the operations between the outputs and `value` become
        layers.
        """
        if self._network_graph is None or not isinstance(value, Tensor) or innermost_call():
            return False
        record_operations([value])
        return hasattr(value, "_keras_history")
