"""The errors of variable sharing. Each error shows the request, the existing variable and a
remedy.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from gpugraph.building.variables import PartitionedVariable
from gpugraph.graph.client.default_graph_functions import get_default_graph

_NEAREST = 3  # the maximum number of suggested names


def made_at(variable: Any) -> str:
    """Return a sentence with the line of the program that created `variable`. If the line is
    unknown, return "".
    """
    part = next(iter(variable)) if isinstance(variable, PartitionedVariable) else variable
    origin = getattr(getattr(part, "op", None), "origin", None)
    return "" if origin is None else f" It was made at {origin}."


def already_there(name: str, existing: Any, default_scopes: Iterable[str] = ()) -> ValueError:
    """Return the error for a request to create a variable whose name is already in use.

    Args:
      default_scopes: the full names of scopes that were opened by a default name.
    """
    return ValueError(
        f"Variable {name} already exists, disallowed.{made_at(existing)} To get that one, set "
        "reuse=True or reuse=tf.AUTO_REUSE in the variable_scope; to make another, give it "
        f"another name or scope.{_on_default_names(name, default_scopes)}"
    )


def _on_default_names(name: str, default_scopes: Iterable[str]) -> str:
    """Return a hint about default names. Return "" unless `name` is in a scope that was opened by a
    default name inside another scope.

    Such default names repeat when the outer scope is entered again.
    """
    around = [scope for scope in default_scopes if "/" in scope and name.startswith(f"{scope}/")]
    if not around:
        return ""
    outer, _, default = max(around, key=len).rpartition("/")
    return (
        f" '{default}' is a default name inside of '{outer}': default names restart each "
        f"time that '{outer}' is entered, so the second entry repeats the names of the first. Name "
        f"the layers or scopes inside, or enter '{outer}' once for all of them."
    )


def not_there(name: str, known: Iterable[str], kind: str = "Variable") -> ValueError:
    """Return the error for a request to reuse a variable that does not exist.

    Args:
      known: the names of existing variables. The message lists the names that are similar to
        `name`.
    """
    text = (
        f"{kind} {name} does not exist, or was not created with tf.get_variable(). To make it, "
        "set reuse=tf.AUTO_REUSE (or None) in the variable_scope."
    )
    stranger = get_default_graph()._by_name.get(name)
    if stranger is not None and stranger.type in ("VariableV2", "VarHandleOp"):
        text += f" There is a tf.Variable of this name, made at {stranger.origin}: it isn't shared."
    near = difflib.get_close_matches(name, list(known), _NEAREST)
    if near:
        text += f" Names that exist: {', '.join(near)}."
    return ValueError(text)


def other_shape(name: str, requested: Any, existing: Any, kind: str = "variable") -> ValueError:
    """Return the error for a request for a variable that exists with another shape."""
    return ValueError(
        f"Trying to share {kind} {name}, but specified shape {requested} and found shape "
        f"{existing.shape}.{made_at(existing)} Leave the shape out, or give that one."
    )


def other_dtype(name: str, requested: Any, existing: Any, kind: str = "variable") -> ValueError:
    """Return the error for a request for a variable that exists with another dtype."""
    return ValueError(
        f"Trying to share {kind} {name}, but specified dtype {requested.name} and found dtype "
        f"{existing.dtype.name}.{made_at(existing)} Give dtype=tf.{existing.dtype.base_dtype.name}."
    )
