"""Direct calls of functions that return a dataset, for which no plan runs.

`flat_map`, `interleave` and `window` call such a function for each element. The ops of its graph
that create datasets are executed directly. Only its ops on tensors, if there are any, run as a
separate function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from gpugraph.base.dtypes import variant
from gpugraph.base.errors import OpError
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.functions.func_graph import FuncGraph
from gpugraph.graph.functions.graph_function import GraphFunction
from gpugraph.ops.datasets.elements.split_functions import part_of_graph
from gpugraph.ops.framework.constant_value import constant_value

PLAIN_DATASETS = frozenset(
    [
        "BatchDataset",
        "BatchDatasetV2",
        "ConcatenateDataset",
        "FilterDataset",
        "FixedLengthRecordDataset",
        "FixedLengthRecordDatasetV2",
        "FlatMapDataset",
        "InterleaveDataset",
        "MapDataset",
        "PaddedBatchDataset",
        "PaddedBatchDatasetV2",
        "PrefetchDataset",
        "RangeDataset",
        "RepeatDataset",
        "SkipDataset",
        "TFRecordDataset",
        "TakeDataset",
        "TakeWhileDataset",
        "TensorDataset",
        "TensorSliceDataset",
        "TextLineDataset",
        "WindowDataset",
        "ZipDataset",
    ]
)
"""The op types whose datasets depend on nothing but inputs, attrs and functions."""

MAKERS: dict[str, Callable[[Any, Sequence[Any]], Any]] = {}
"""By op type, a function of a context and the arrays of the inputs that returns the dataset."""


class _Context:
    """The attributes of a kernel's context that dataset ops read."""

    def __init__(self, op: Operation, function: Callable[[Any], Any]) -> None:
        self.name, self.attrs, self.function = op.name, op._attrs, function


class DatasetPlan:
    """The dataset ops of a function's graph, and a separate function with its ops on tensors.

    Args:
      tensors: the function that computes the tensors, or None if all of them are constant.
    """

    def __init__(self, graph: FuncGraph, ops: Sequence[Operation]) -> None:
        self.graph, self.ops = graph, ops
        inside = set(ops)
        used = dict.fromkeys(t for op in ops for t in op._inputs if t.op not in inside)
        self.constants: dict[Tensor, Any] = {}
        arguments, computed = graph.fed, []
        for tensor in used:
            value = None if tensor in arguments else constant_value(tensor)
            if value is not None:
                self.constants[tensor] = np.asarray(value)
            elif tensor not in arguments:
                computed.append(tensor)
        self.computed: Sequence[Tensor] = computed
        self.tensors: GraphFunction | None = None
        if computed:
            part = part_of_graph(graph, "tensors", graph.inputs, inside, computed)
            self.tensors = GraphFunction(part.name, part)

    def bound(self, call: Any) -> Callable[[Sequence[Any]], tuple[Any]]:
        """Return a callable that receives the function's arguments and returns the dataset.

        Args:
          call: the `FunctionCall` of the function. It is called if a dataset op raises an error.
        """
        places: dict[Tensor, int] = {tensor: n for n, tensor in enumerate(self.graph.fed)}
        for tensor in (*self.computed, *self.constants):
            places[tensor] = len(places)
        steps = []
        for op in self.ops:
            slots = [places[tensor] for tensor in op._inputs]
            steps.append((MAKERS[op.type], _Context(op, lambda f: call.of(f)), slots))
            places[op._outputs[0]] = len(places)
        constants = list(self.constants.values())
        compute = None if self.tensors is None else call.of(self.tensors)

        def run(values: Sequence[Any]) -> tuple[Any]:
            try:
                known = [*values]
                if compute is not None:
                    known += compute(values)
                known += constants
                for make, context, slots in steps:
                    known.append(make(context, [known[slot] for slot in slots]))
            except OpError:
                return cast(tuple[Any], tuple(call(values)))  # its error names the node
            return (known[-1],)

        return run


def dataset_plan_of(graph: FuncGraph) -> DatasetPlan | None:
    """Return the function's `DatasetPlan`, or None if it has none (see `_dataset_plan`). The result
    is computed only once.
    """
    if graph.dataset_plan is None:
        graph.dataset_plan = _dataset_plan(graph) or False
    return graph.dataset_plan or None


def _dataset_plan(graph: FuncGraph) -> DatasetPlan | None:
    """Return the plan of a function that returns one dataset. Return None if the function draws
    random numbers, has control flow or effects, or creates datasets with op types that are not in
    `_PLAIN`.
    """
    if len(graph.outputs) != 1 or graph.outputs[0]._dtype is not variant or graph.has_seeds:
        return None
    datasets = [op for op in graph._ops if op.type in PLAIN_DATASETS and op.type in MAKERS]
    inside = set(datasets)
    is_last = datasets and graph.outputs[0].op is datasets[-1]
    if not is_last or not inside.issuperset(graph.controls):
        return None
    for op in graph._ops:
        captured = op._outputs and op._outputs[0] in graph.captures.values()
        is_unknown = op._control_flow_context is not None or (captured and op.type != "Placeholder")
        is_stateful = op._op_def.is_stateful and op not in inside and op.type != "Placeholder"
        if is_unknown or is_stateful or not inside.issuperset((*op.control_inputs,)):
            return None
        if op not in inside and any(tensor._dtype is variant for tensor in op._outputs):
            return None
    return DatasetPlan(graph, datasets)
