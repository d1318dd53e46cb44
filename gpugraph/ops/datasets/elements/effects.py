"""Datasets and functions without effects. Their elements may be computed before they are needed,
because a program cannot observe this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.dtypes import resource
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.functions.func_graph import FuncGraph
from gpugraph.graph.functions.graph_function import GraphFunction
from gpugraph.ops.datasets.elements.dataset_calls import PLAIN_DATASETS
from gpugraph.ops.datasets.elements.stage import Function, Stage

_HARMLESS = frozenset(
    (
        *("Assert", "HashTable", "HashTableV2"),
        *("LookupTableFind", "LookupTableFindV2", "LookupTableSize", "LookupTableSizeV2"),
    )
)
"""Types of ops that are declared stateful, but whose results and errors depend on inputs alone. A
`HashTable` does not change after its initialization.
"""

_PYTHON = frozenset(("PyFunc", "PyFuncStateless", "EagerPyFunc"))


def is_without_effects(graph: FuncGraph) -> bool:
    """Return whether calls of a function have no effect and depend on the arguments alone."""
    if graph.is_pure is None:
        graph.is_pure = all(_is_harmless(op, is_without_effects) for op in graph._ops)
    return bool(graph.is_pure)


def _is_harmless(op: Operation, holds_in: Callable[[FuncGraph], bool]) -> bool:
    """Return whether an op has no effect and depends on its inputs alone.

    Args:
      holds_in: the condition for the functions that the op calls.
    """
    if op.type == "Placeholder":
        return op._outputs[0]._dtype is not resource
    is_known = op.type in _HARMLESS or op.type in PLAIN_DATASETS
    if op.type in _PYTHON or (op._op_def.is_stateful and not is_known):
        return False
    functions = [value for value in op._attrs.values() if isinstance(value, GraphFunction)]
    return all(holds_in(function.graph) for function in functions)


def never_waits(stage: Stage) -> bool:
    """Return whether the functions of a dataset compute without waiting for another part of the
    program, such as a Python function or a queue. They may draw random numbers.
    """
    return all(_may(value, never_waits, _never_waits) for value in vars(stage).values())


def _never_waits(graph: FuncGraph) -> bool:
    return is_without_effects(graph) or all(
        "seed" in op._attrs or _is_harmless(op, _never_waits) for op in graph._ops
    )


def may_be_read_ahead(stage: Stage) -> bool:
    """Return whether elements of a dataset may be read before they are needed."""
    return stage.may_be_read_ahead and all(
        _may(value, may_be_read_ahead, is_without_effects) for value in vars(stage).values()
    )


def _may(
    value: Any, holds_for: Callable[[Stage], bool], holds_in: Callable[[FuncGraph], bool]
) -> bool:
    """Return whether a condition holds for an attribute of a dataset.

    Args:
      holds_for: the condition for another dataset.
      holds_in: the condition for a function.
    """
    if isinstance(value, Stage):
        return holds_for(value)
    if isinstance(value, Function):
        return holds_in(value.call.function.graph)
    if isinstance(value, list) and value and isinstance(value[0], Stage):
        return all(map(holds_for, value))
    return True
