"""Dependents of tensors: TensorFlow's `tf_utils.get_reachable_from_inputs`."""

from __future__ import annotations

from typing import Any

from gpugraph.base.nest import flatten
from gpugraph.building.variables import Variable
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.sparse.sparse_tensor import SparseTensor


def get_reachable_from_inputs(inputs: Any, targets: Any = None) -> set[Any]:
    """Return the tensors and operations that are computed from `inputs`, including `inputs`.

    inputs: tensors, variables or operations. targets: the search ends when all of them are found.
    TypeError for inputs of another kind.
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
    """Return the consumers and control dependents of `x`. `waiting` is filled on first use."""
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
