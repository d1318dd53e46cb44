"""The losses of a graph: collected, fetched and summed for training."""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.elementwise.arithmetic_functions import add_n
from gpugraph.ops.framework.tensor_conversion import constant


def add_loss(loss: Any, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Adds a loss to a collection; to none where that is None."""
    if loss_collection:
        graph = get_default_graph()
        graph.add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """The losses of a collection; those whose names start with the regex `scope`."""
    graph = get_default_graph()
    return graph.get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """The penalties of regularizers; those whose names start with the regex `scope`."""
    return get_losses(scope, GraphKeys.REGULARIZATION_LOSSES)


def get_regularization_loss(
    scope: str | None = None, name: str = "total_regularization_loss"
) -> Tensor:
    """The sum of `get_regularization_losses`; 0.0 where there are none."""
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else constant(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """The sum of `get_losses`, with `get_regularization_losses`; ValueError where there is none."""
    losses = get_losses(scope)
    if add_regularization_losses:
        losses = [*losses, *get_regularization_losses(scope)]
    return add_n(losses, name=name)
