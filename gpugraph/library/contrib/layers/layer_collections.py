"""Functions that add a layer's variables and outputs to collections, and a function that parses
pairs of sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpugraph.building.variables import variable_parts
from gpugraph.graph.client.default_graph_functions import get_default_graph


def collections_of(variables_collections: Any, name: str) -> list[str]:
    """Return the collections for a layer's variable `name`.

    Args:
      variables_collections: the collections for all variables, or a dict from the names of
        variables to collections.
    """
    if isinstance(variables_collections, Mapping):
        names = variables_collections.get(name)
    else:
        names = variables_collections
    return [] if names is None else [names] if isinstance(names, str) else list(names)


def collect_variable(variable: Any, variables_collections: Any, name: str) -> None:
    """Add a layer's variable, or its partitions, to the collections for `name`. If `variable` is
    None, do nothing.
    """
    graph = get_default_graph()
    for key in collections_of(variables_collections, name):
        members = graph.get_collection_ref(key)
        parts = [] if variable is None else variable_parts(variable)
        members.extend(part for part in parts if all(member is not part for member in members))


def collect_outputs(outputs_collections: Any, alias: str, outputs: Any) -> Any:
    """Add a layer's outputs to collections, and return the outputs.

    Args:
      alias: the name of the layer's scope, which is recorded as an alias of the outputs.
    """
    if outputs_collections:
        name = alias.removesuffix("/")
        vars(outputs)["aliases"] = [*getattr(outputs, "aliases", ()), name]
        graph = get_default_graph()
        graph.add_to_collections(outputs_collections, outputs)
    return outputs


def pair(value: Any, name: str) -> tuple[int, int]:
    """Return `value` as (height, width). `value` is a pair of numbers, or one number that is used
    for the height and the width.

    Raises ValueError for any other value.

    Args:
      name: the argument's name, for the message.
    """
    both = (value, value) if isinstance(value, int) else tuple(value)
    if len(both) != 2:
        raise ValueError(f"{name} must be a number or two (height, width), but it is {value!r}")
    return int(both[0]), int(both[1])
