"""Kernels of ops whose output sizes depend on the values of inputs. They are called on arrays,
without a run of a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.compile.steps.dynamic_steps import CallingStep, DynamicStep
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.kernel.several_calls import SEVERAL
from gpugraph.plan import Plan
from gpugraph.plan.plan_steps import all_steps


def _slice(source: Any, begin: Any, size: Any) -> Any:
    """Return a part of an array as a view. Raises ValueError if the part is not inside the
    array.
    """
    first, sizes = begin.tolist(), size.tolist()
    parts = []
    for start, count, whole in zip(first, sizes, source.shape, strict=True):
        stop = whole if count == -1 else start + count
        if not 0 <= start <= stop <= whole:
            raise ValueError("the part is not inside")
        parts.append(slice(start, stop))
    return source[tuple(parts)]


_FEW = 1024
"""The number of elements up to which NumPy takes less time than native code and its preparation."""


def _where(source: Any) -> Any:
    return np.argwhere(source) if source.ndim and source.size <= _FEW else None


SHORT: dict[str, Callable[..., Any]] = {"Where": _where}
"""By op type, a function that returns the output for small inputs, and None for others."""

VIEWS: dict[str, Callable[..., Any]] = {"Slice": _slice}
"""By op type, a function that returns a view of the first input, or raises an error."""


class DirectKernel:
    """The kernel of an op in a compiled plan. Several threads may call it at the same time.

    Args:
      fed: for each input of the op, its index among the arguments of a call, or -1 if the input is
        a constant.
    """

    def __init__(self, step: DynamicStep, fed: Sequence[int]) -> None:
        self._step = step
        sources = zip(step.sources, fed)
        self._constants = [None if place >= 0 else source().copy() for source, place in sources]
        self._fed = fed
        self._view = VIEWS.get(step.node.type)
        self._short = SHORT.get(step.node.type)
        self._several = SEVERAL.get(step.node.type)
        types = [dtype.base_dtype.as_numpy_dtype for dtype in step.node.output_types]
        self._types = [np.dtype(dtype) for dtype in types]

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Return the outputs for these arguments. They may share memory with the arguments."""
        pairs = zip(self._constants, self._fed)
        inputs = [constant if place < 0 else values[place] for constant, place in pairs]
        if self._view is not None:
            return [self._view(*inputs)]
        if self._short is not None and (result := self._short(*inputs)) is not None:
            return [result]
        return self._typed(self._step.outputs_of(inputs))

    def _typed(self, results: Sequence[Any]) -> list[Any]:
        return [
            result
            if isinstance(result, np.ndarray) and result.dtype == dtype
            else np.asarray(result, dtype)
            for result, dtype in zip(results, self._types, strict=True)
        ]

    @property
    def takes_several(self) -> bool:
        """Whether the kernel can compute several calls at once (`several`)."""
        return self._several is not None

    def several(self, calls: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]] | None:
        """Compute several calls at once and return the outputs of each call. Return None if the
        kernel requires separate calls.
        """
        if self._several is None:
            return None
        inputs = [
            [
                constant if place < 0 else values[place]
                for constant, place in zip(self._constants, self._fed)
            ]
            for values in calls
        ]
        context = self._step.context(inputs[0], [])
        results = self._several(context, inputs)
        return None if results is None else [self._typed(outputs) for outputs in results]


_READS = ("LookupTableFindV2", "LookupTableFind")
"""The types of stateful ops that only read the object of a handle."""


def kernel_in(plan: Plan, op: Operation, feeds: Sequence[Tensor]) -> DirectKernel | None:
    """Return the kernel of an op that a plan runs on these feeds. Return None if the op has an
    effect, or if the plan has no step whose kernel can be called on arrays.
    """
    is_reading = op.type in _READS
    if op._op_def.is_stateful and not is_reading:
        return None
    places = {tensor: number for number, tensor in enumerate(feeds)}
    for step in all_steps(plan.steps):
        run = step.run
        if is_reading and step.group is None and step.name == op._inputs[0].op.name:
            run()  # no run of the plan is in progress, so the object of the handle is free
        if isinstance(run, DynamicStep) and run.node.name == op.name:
            is_called = isinstance(run, CallingStep) and not is_reading
            if is_called or run.bound.variables:
                return None
            if len(run.sources) != len(op._inputs):
                return None
            return DirectKernel(run, [places.get(tensor, -1) for tensor in op._inputs])
    return None
