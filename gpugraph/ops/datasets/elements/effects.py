"""Datasets and functions without effects. Their elements may be computed before they are needed,
because a program cannot observe this.
"""

from __future__ import annotations

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
        graph.is_pure = all(map(_is_harmless, graph._ops))
    return bool(graph.is_pure)


def _is_harmless(op: Operation) -> bool:
    if op.type == "Placeholder":
        return op._outputs[0]._dtype is not resource
    is_known = op.type in _HARMLESS or op.type in PLAIN_DATASETS
    if op.type in _PYTHON or (op._op_def.is_stateful and not is_known):
        return False
    functions = [value for value in op._attrs.values() if isinstance(value, GraphFunction)]
    return all(is_without_effects(function.graph) for function in functions)


def may_be_read_ahead(stage: Stage) -> bool:
    """Return whether elements of a dataset may be read before they are needed."""
    return stage.may_be_read_ahead and all(map(_may, vars(stage).values()))


def _may(value: Any) -> bool:
    if isinstance(value, Stage):
        return may_be_read_ahead(value)
    if isinstance(value, Function):
        return is_without_effects(value.call.function.graph)
    if isinstance(value, list) and value and isinstance(value[0], Stage):
        return all(map(may_be_read_ahead, value))
    return True
