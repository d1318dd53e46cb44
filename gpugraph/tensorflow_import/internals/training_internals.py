"""Internal functions of `tensorflow.python.training`, `framework` and `util`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gpugraph.building.variables import Variable
from gpugraph.building.variables.graph_resources import (
    initialize_resources as initialize_resources,
    local_resources as local_resources,
    register_resource as register_resource,
    report_uninitialized_resources as report_uninitialized_resources,
    shared_resources as shared_resources,
)
from gpugraph.building.variables.resource_variable import ResourceVariable
from gpugraph.graph.client.collection_protos import collection_protos
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.node_messages import op_def_message
from gpugraph.graph.op_library import OP_DEFS
from gpugraph.library.distribute.distributed_variables import DistributedVariable
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.session.fetch_structures import FetchPlan

_NUMBERS = itertools.count(1)
STANDARD_PS_OPS = (
    "Variable",
    "VariableV2",
    "AutoReloadVariable",
    "MutableHashTable",
    "MutableHashTableV2",
    "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2",
    "MutableDenseHashTable",
    "MutableDenseHashTableV2",
    "VarHandleOp",
    "BoostedTreesEnsembleResourceHandleOp",
)
"""The op types that `replica_device_setter` places on parameter servers."""


def uid() -> int:
    """Return a number that no earlier call in this process has returned."""
    return next(_NUMBERS)


def internal_convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    as_ref: bool = False,
    preferred_dtype: Any = None,
    ctx: Any = None,
    accepted_result_types: Any = (),
) -> Any:
    """Call `tf.convert_to_tensor`."""
    return convert_to_tensor(value, dtype, name, preferred_dtype)


def get_name_scope() -> str:
    """Return the current name scope without its final slash."""
    return get_default_graph().get_name_scope()


def default_variable_creator(next_creator: Any = None, **kwargs: Any) -> Any:
    """Create a variable from the arguments of `tf.Variable`."""
    return Variable(**kwargs)


def inside_function() -> bool:
    """Return whether the default graph is the body of a function."""
    return getattr(get_default_graph(), "_building_function", False)


def register_dense_tensor_like_type(tensor_type: type) -> None:
    """Raise TypeError unless the class has the properties `name` and `dtype`."""
    for name in ("name", "dtype"):
        if not isinstance(getattr(tensor_type, name, None), property):
            raise TypeError(f"Type {tensor_type.__name__} does not define a `{name}` property")


def is_resource_variable(var: Any) -> bool:
    """Return whether a variable is a resource variable, or consists of such variables."""
    is_one = isinstance(var, (ResourceVariable, DistributedVariable))
    return is_one or hasattr(var, "_should_act_as_resource_variable")


def registered_ops() -> dict[str, Any]:
    """Return a dict from op types to their OpDef messages."""
    return {name: op_def_message(op_def) for name, op_def in OP_DEFS.items()}


def registered_op(name: str) -> Any:
    """Return the OpDef of the op type `name`, or None."""
    return op_def_message(OP_DEFS[name]) if name in OP_DEFS else None


def do_nothing(*args: Any, **kwargs: Any) -> None:
    """Accept any arguments, and do nothing."""


@contextmanager
def nothing_changes(*args: Any, **kwargs: Any) -> Iterator[None]:
    """Accept any arguments, and return a context manager that has no effect."""
    yield


def backward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Callable[[Any], bool] | None = None,
    stop_at_ts: Any = (),
    control_inputs: bool = False,
) -> list[Any]:
    """Return the ops on which `seed_ops` depend, in the order of a walk that starts at `seed_ops`.

    Args:
      seed_ops: an op or tensor, or a list of them.
      stop_at_ts: tensors whose ops are not visited.
      within_ops: the set of ops that may be visited.
      within_ops_fn: a function that returns whether an op may be visited.
    """
    seeds = seed_ops if isinstance(seed_ops, (list, tuple)) else [seed_ops]
    waiting: list[Any] = [getattr(seed, "op", seed) for seed in seeds]
    stop, first = set(stop_at_ts), set(waiting)
    inside = None if within_ops is None else set(within_ops)
    walked: dict[Any, None] = {}
    while waiting:
        op = waiting.pop(0)
        is_allowed = (inside is None or op in inside) and (
            within_ops_fn is None or within_ops_fn(op)
        )
        if op in walked or not is_allowed:
            continue
        walked[op] = None
        waiting += [tensor.op for tensor in op.inputs if tensor not in stop]
        waiting += op.control_inputs if control_inputs else []
    return [op for op in walked if inclusive or op not in first]


class RoundRobinStrategy:
    """Chooses the tasks of parameter servers for variables, one after another."""

    def __init__(self, num_tasks: int) -> None:
        self._num_tasks, self._next = num_tasks, 0

    def __call__(self, unused_op: Any) -> int:
        task = self._next
        self._next = (task + 1) % self._num_tasks
        return task


def unconverted(function: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Return a function unchanged. Without a function, return a decorator that returns its function
    unchanged.
    """
    return function if callable(function) else lambda decorated: decorated


class FetchHandler:
    """The tensors and operations of a structure of fetches, as lists."""

    def __init__(self, graph: Any, fetches: Any, feeds: Any, feed_handles: Any = None) -> None:
        self._plan = FetchPlan(graph, fetches)

    def fetches(self) -> list[Any]:
        """Return the tensors."""
        return list(self._plan.tensors)

    def targets(self) -> list[Any]:
        """Return the operations."""
        return list(self._plan.targets)


def get_to_proto_function(collection_name: str) -> Any:
    """Return the function that converts a collection's items to messages, or None if no function is
    registered.
    """
    return collection_protos(collection_name).to_proto


def get_from_proto_function(collection_name: str) -> Any:
    """Return the function that converts messages to a collection's items, or None if no function is
    registered.
    """
    return collection_protos(collection_name).from_proto


def variable_to_proto(v: Any, export_scope: str | None = None) -> Any:
    """Return the message that describes a variable."""
    return v.to_proto(export_scope=export_scope)


def variable_from_proto(v: Any, import_scope: str | None = None) -> Any:
    """Return the variable of the default graph that a message describes."""
    return Variable.from_proto(v, import_scope=import_scope)
