"""Functions that add the losses of a graph to collections, return them and sum them up."""

from __future__ import annotations

from typing import Any

from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.elementwise.arithmetic_functions import add_n
from gpugraph.ops.framework.tensor_conversion import constant


def add_loss(loss: Any, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Add a loss to a collection. If the collection is None, do nothing."""
    if loss_collection:
        graph = get_default_graph()
        graph.add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """Return the losses in a collection.

    Args:
      scope: a regular expression. Losses whose names do not match it at the start are omitted.
    """
    graph = get_default_graph()
    return graph.get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """Return the losses that regularizers added to the default graph.

    Args:
      scope: a regular expression. Losses whose names do not match it at the start are omitted.
    """
    return get_losses(scope, GraphKeys.REGULARIZATION_LOSSES)


def get_regularization_loss(
    scope: str | None = None, name: str = "total_regularization_loss"
) -> Tensor:
    """Return the sum of `get_regularization_losses`. If there are no such losses, return 0.0."""
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else constant(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """Return the sum of `get_losses` and, if `add_regularization_losses` is true, of
    `get_regularization_losses`.

    Raises ValueError if there are no losses.
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses = [*losses, *get_regularization_losses(scope)]
    return add_n(losses, name=name)
