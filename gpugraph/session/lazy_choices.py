"""Choices between two large tensors by a scalar, in functions that are cut into pieces.

    Select(chance < 0.5, ReverseV2(image), image)

The choice returns one of the two arrays without a copy. If a tensor is only used by choices and its
op can be called alone, its computation is deferred until a choice needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.devices.native.strided_copies import contiguous_copy
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.functions.func_graph import FuncGraph
from gpugraph.kernel.reused_memory import empty_array
from gpugraph.ops.arrays.reverse import backwards
from gpugraph.ops.framework.constant_value import constant_value

_CHOICES = ("Select", "SelectV2")

_LARGE = 4096
"""The number of elements from which on a copy takes longer than a call."""


def choices_in(graph: FuncGraph, free: set[Operation]) -> set[Operation]:
    """Return the ops that choose between large tensors by a scalar.

    Args:
      free: the ops that depend on no argument.
    """
    return {op for op in graph._ops if op.type in _CHOICES and _is_choice(op, free)}


def _is_choice(op: Operation, free: set[Operation]) -> bool:
    condition, *values = op._inputs
    if condition.shape.rank != 0 or any(tensor.op in free for tensor in op._inputs):
        return False
    shapes = [value.shape for value in values]
    if any(shape.rank is None or shape.rank != shapes[0].rank for shape in shapes):
        return False
    return all(_is_large(value) and value.dtype.is_numpy_compatible for value in values)


def _is_large(tensor: Tensor) -> bool:
    if not tensor.shape.is_fully_defined():
        return True
    return (tensor.shape.num_elements() or 0) >= _LARGE


def deferred_in(graph: FuncGraph, choices: set[Operation]) -> set[Operation]:
    """Return the reversals whose results only `choices` use."""
    users: dict[Tensor, set[Operation]] = {}
    for op in graph._ops:
        for tensor in op._inputs:
            users.setdefault(tensor, set()).add(op)
    outputs = set(graph.outputs)
    return {
        op
        for op in graph._ops
        if op.type == "ReverseV2"
        and op._outputs[0] not in outputs
        and choices.issuperset(users.get(op._outputs[0], {op}))
        and op._inputs[0].shape.rank is not None
        and constant_value(op._inputs[1]) is not None
    }


class Deferred:
    """The result of an op that is computed when it is first needed."""

    __slots__ = ("_result", "_run")

    def __init__(self, run: Callable[[], Any]) -> None:
        self._run: Callable[[], Any] | None = run
        self._result: Any = None

    def value(self) -> Any:
        """Return the result."""
        if self._run is not None:
            self._result, self._run = self._run(), None
        return self._result


class ChoiceCall:
    """A call of a choice. It returns the chosen one of two arrays."""

    __slots__ = ("_places",)

    def __init__(self, op: Operation, feeds: Sequence[Tensor]) -> None:
        self._places = [feeds.index(tensor) for tensor in op._inputs]

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Return the chosen array, given the fed values."""
        condition, first, second = self._places
        chosen = values[first] if values[condition] else values[second]
        return [chosen.value() if isinstance(chosen, Deferred) else chosen]


class ReversalCall:
    """A call of ReverseV2 that is deferred."""

    __slots__ = ("_axes",)

    def __init__(self, op: Operation) -> None:
        axes = constant_value(op._inputs[1])
        self._axes = [int(axis) for axis in np.ravel(axes)]

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Return the deferred result, given the array."""
        view = backwards(values[0], self._axes)
        return [Deferred(lambda: contiguous_copy(view, empty_array))]
