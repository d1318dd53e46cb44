"""A search for the tensors and operations that depend on given inputs.

The function has the same name as in TensorFlow's `tf_utils`.
"""

from __future__ import annotations

from typing import Any

from gpugraph.base.nest import flatten
from gpugraph.building.variables import Variable
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.sparse.sparse_tensor import SparseTensor


def get_reachable_from_inputs(inputs: Any, targets: Any = None) -> set[Any]:
    """Return `inputs` and all tensors and operations that are computed from them.

    Raises TypeError for any other object.

    Args:
      inputs: tensors, variables or operations.
      targets: tensors or operations. The search ends when all targets are found. By default, the
        search finds everything.
    """
    waiting: dict[Operation, list[Operation]] = {}
    reachable = set(flatten(inputs))
    missing = set() if targets is None else set(flatten(targets))
    stops = bool(missing)
    stack = list(reachable)
    while stack and not (stops and not missing):
        for follower in _followers(stack.pop(), waiting):
            if follower not in reachable:
                reachable.add(follower)
                missing.discard(follower)
                stack.append(follower)
    return reachable


def _followers(x: Any, waiting: dict[Operation, list[Operation]]) -> list[Any]:
    """Return the consumers of a tensor or variable. For an operation, return its outputs and
    control outputs.

    Args:
      waiting: for each operation of the graph, the operations that have it as a control input. The
        dict is filled on first use.
    """
    if isinstance(x, Operation):
        if not waiting:
            for op in x.graph.get_operations():
                for control_input in op.control_inputs:
                    waiting.setdefault(control_input, []).append(op)
        return [*x.outputs, *waiting.get(x, ())]
    if isinstance(x, Variable):
        return [x.op]
    if isinstance(x, (Tensor, SparseTensor)):
        return list(x.consumers())
    raise TypeError(f"Expected Operation, Variable, or Tensor, got {x}")
