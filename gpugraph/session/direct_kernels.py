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
        types = [dtype.base_dtype.as_numpy_dtype for dtype in step.node.output_types]
        self._types = [np.dtype(dtype) for dtype in types]

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Return the outputs for these arguments. They may share memory with the arguments."""
        pairs = zip(self._constants, self._fed)
        inputs = [constant if place < 0 else values[place] for constant, place in pairs]
        if self._view is not None:
            return [self._view(*inputs)]
        results = self._step.outputs_of(inputs)
        return [
            result
            if isinstance(result, np.ndarray) and result.dtype == dtype
            else np.asarray(result, dtype)
            for result, dtype in zip(results, self._types, strict=True)
        ]


def kernel_in(plan: Plan, op: Operation, feeds: Sequence[Tensor]) -> DirectKernel | None:
    """Return the kernel of an op that a plan runs on these feeds. Return None if the op has an
    effect, or if the plan has no step whose kernel can be called on arrays.
    """
    if op._op_def.is_stateful:
        return None
    places = {tensor: number for number, tensor in enumerate(feeds)}
    for step in all_steps(plan.steps):
        run = step.run
        if isinstance(run, DynamicStep) and run.node.name == op.name:
            if isinstance(run, CallingStep) or run.bound.variables:
                return None
            if len(run.sources) != len(op._inputs):
                return None
            return DirectKernel(run, [places.get(tensor, -1) for tensor in op._inputs])
    return None
