"""Variables and collections of layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpugraph.contrib_layers.model_variables import model_variable
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.variables import is_created_since, variable_parts


def collections_of(variables_collections: Any, name: str) -> list[str]:
    """The collections that a layer's variable `name` joins: of all, or by name in a dict."""
    if isinstance(variables_collections, Mapping):
        names = variables_collections.get(name)
    else:
        names = variables_collections
    return [] if names is None else [names] if isinstance(names, str) else list(names)


def layer_variable(
    name: str,
    shape: Any,
    dtype: Any,
    initializer: Any,
    regularizer: Any,
    trainable: bool,
    variables_collections: Any,
    kind: str,
) -> Any:
    """A layer's variable; the penalty of a new one is under `kind`/Regularizer."""
    graph = get_default_graph()
    version = graph.version
    variable = model_variable(
        name, shape=shape, dtype=dtype, initializer=initializer, trainable=trainable
    )
    parts = variable_parts(variable)
    for key in collections_of(variables_collections, name):
        members = graph.get_collection_ref(key)
        members.extend(part for part in parts if all(member is not part for member in members))
    if regularizer is not None and is_created_since(variable, version):
        for part in parts:
            with graph.name_scope(f"{kind}/Regularizer"):
                loss = regularizer(part)
            if loss is not None:
                graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return variable


def collect_outputs(outputs_collections: Any, alias: str, outputs: Tensor) -> Tensor:
    """Adds a layer's outputs to collections, under the name of its scope; returns them."""
    if outputs_collections:
        name = alias.removesuffix("/")
        vars(outputs)["aliases"] = [*getattr(outputs, "aliases", ()), name]
        graph = get_default_graph()
        graph.add_to_collections(outputs_collections, outputs)
    return outputs


def pair(value: Any, name: str) -> tuple[int, int]:
    """A number for height and width, or one for each; ValueError for anything else."""
    both = (value, value) if isinstance(value, int) else tuple(value)
    if len(both) != 2:
        raise ValueError(f"{name} must be a number or two (height, width), but it is {value!r}")
    return int(both[0]), int(both[1])
