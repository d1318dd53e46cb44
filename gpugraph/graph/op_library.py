"""What the op library gives to graphs: signatures, Python's operators, values of constants.

The graph knows no op. The families of `ops/` enter what a graph needs here when they are imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.graph.op_def import OpDef

OP_DEFS: dict[str, OpDef] = {}
"""The signature of each declared op, by op type."""

OPERATORS: dict[str, Callable[..., Any]] = {}
"""The function that builds the op of a Python operator, by the operator's name (`"__add__"`)."""

_conversions: list[Callable[[Any], Any]] = []
_constant_values: list[Callable[[Any, bool], Any]] = []
_of_node_defs: list[Callable[..., None]] = []


def register_constant_value(function: Callable[[Any, bool], Any]) -> None:
    """Registers `function(tensor, as_shape)`, which finds the value that a tensor always has."""
    _constant_values[:] = [function]


def constant_value(tensor: Any, as_shape: bool) -> Any:
    """The value that a tensor has in every run, as a shape on request; None if it varies."""
    return _constant_values[0](tensor, as_shape)


def register_conversion(function: Callable[[Any], Any]) -> None:
    """Registers the function that makes a tensor of any value that can become one."""
    _conversions[:] = [function]


def as_tensor(value: Any) -> Any:
    """A value as a tensor; TypeError or ValueError where it can't become one."""
    return _conversions[0](value)


def register_of_node_def(function: Callable[..., None]) -> None:
    """Registers what makes a new Operation that of a NodeDef message."""
    _of_node_defs[:] = [function]


def make_of_node_def(op: Any, node_def: Any, graph: Any, *args: Any) -> None:
    """Makes `op`, which has nothing yet, that of a NodeDef message, and enters it in the graph."""
    _of_node_defs[0](op, node_def, graph, *args)
