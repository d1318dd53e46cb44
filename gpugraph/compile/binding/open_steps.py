"""The steps of an open plan: native calls, and steps that are bound again for each set of sizes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.errors import InternalError
from gpugraph.base.sizes import SizeValues
from gpugraph.compile.binding.binder import Binder
from gpugraph.compile.binding.open_binding import run_of
from gpugraph.compile.steps.dynamic_steps import DynamicStep
from gpugraph.compile.steps.kernel_context import Cell
from gpugraph.compile.steps.tensor_moves import Move, move, target_of
from gpugraph.devices import Block
from gpugraph.devices.native import BlockWords, OpenCall, OpenView, one_blas_thread
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.ops.tensor_arrays.container_ops import ContainerAccess
from gpugraph.plan import Run, Step

StepKey = tuple[str, str]
"""The kind of a step and its part, which distinguish the steps of a node."""


Condition = tuple[str, Any, Any, bool]
"""A comparison of sizes, as in `SizeTrace.conditions`."""


class Opened(NamedTuple):
    """The native call of a step, bound to open sizes.

    Args:
      calls: the calls with open sizes of which `call` consists, each with the words of its block
        that depend on sizes. The list is empty if the step can't be bound to open sizes.
      conditions: comparisons of sizes that must be true so that `calls` are valid.
      bind: a function that returns the call for one set of sizes, or None.
    """

    step: Step
    call: Run
    calls: Sequence[tuple[BlockWords, OpenCall]]
    conditions: Sequence[Condition]
    bind: Callable[[Binder], Run | None]


def without_zero_tests(conditions: Iterable[Condition]) -> list[Condition]:
    """Return the conditions without those that a size is not 0. Native copies are correct for
    tensors without elements.
    """
    return [condition for condition in conditions if not _is_zero_test(*condition)]


def _is_zero_test(name: str, left: Any, right: Any, outcome: bool) -> bool:
    """Return whether a condition is that a size without a negative term is not 0."""
    sign = {"==": 1, "<": -1}.get(name, 0)
    is_met = outcome is (name == "<")
    return is_met and right == () and all(sign * n > 0 and atoms for atoms, n in left)


class NumPyStep:
    """The callable of a step that NumPy computes with the current sizes."""

    def __init__(self, node: Node, step: Step) -> None:
        self.node: Node = node
        self.key: StepKey = step.kind, step.part
        self.run: Run = step.run
        self._may_multiply = any(t.is_floating or t.is_complex for t in node.input_types)

    def bind(self, binder: Binder) -> Run:
        """Return the callable for the sizes of a binder's unit."""
        return run_of(binder, self.node, self.key)

    def __call__(self) -> Any:
        if not self._may_multiply:
            return self.run()
        with one_blas_thread():  # further threads would spin beside native code
            return self.run()


class CurrentSizes:
    """The current sizes and addresses. Steps that Python runs get their arrays through this object.

    Attributes:
      runs: the callables of steps that access containers, for the current sizes.
      differ: whether sizes differ between the iterations of a loop. If so, `runs` is not used.
    """

    def __init__(self, differ: bool = False) -> None:
        self.runs: dict[Any, Run] = {}
        self.differ = differ
        self._values: Callable[[], SizeValues] = lambda: SizeValues(())
        self._start: Callable[[Any], int] = id

    def attach(self, values: Callable[[], SizeValues], start: Callable[[Any], int]) -> None:
        """Set the function that returns the current values of sizes, and the function that returns
        the current address of a buffer.
        """
        self._values, self._start = values, start

    @property
    def values(self) -> SizeValues:
        """The current values of sizes."""
        return self._values()

    def array(self, view: Any) -> Any:
        """Return the array for a view or a cell. Return any other argument unchanged."""
        if isinstance(view, Cell):
            return view.array
        if not isinstance(view, OpenView):
            return view
        base, offset = view.start
        values = self._values()
        start = values.of(offset) + (self._start(base) if base != 0 else 0)
        shape = values.shape(view.shape)
        memory = (ctypes.c_char * (prod(shape) * view.itemsize)).from_address(start)
        return np.ndarray(shape, view.dtype, memory)

    def store(self, step: DynamicStep, outputs: Sequence[Any], results: Sequence[Any]) -> None:
        """Store the outputs that a step has computed.

        Args:
          outputs: the views and cells of the outputs.
        """
        for target, result in zip(outputs, results):
            if isinstance(target, Cell):
                target.fill(Block(step.device, None, result))
            else:
                array = self.array(target)
                if array.shape != np.shape(result):
                    shapes = f"{list(np.shape(result))}, not {list(array.shape)}"
                    raise InternalError.of_no_node(f"'{step.node.name}' has computed {shapes}")
                array[...] = result


class SizedStep:
    """The callable of a NumPy step whose output sizes are only known in the run. It allocates its
    outputs, so that it is valid for all sizes.
    """

    def __init__(
        self, run: DynamicStep, inputs: Sequence[Any], outputs: Sequence[Any], sizes: CurrentSizes
    ) -> None:
        """Create the callable.

        Args:
          inputs, outputs: the views of the tensors, or their cells.
        """
        self._step, self._inputs, self._outputs, self._sizes = run, inputs, outputs, sizes

    def __call__(self) -> None:
        results = self._step.outputs_of(list(map(self._sizes.array, self._inputs)))
        self._sizes.store(self._step, self._outputs, results)
        for cell in self._step.dying:
            cell.release()


class AccessStep:
    """A callable with which Python accesses a stack or TensorArray, with the current sizes."""

    def __init__(self, opened: ContainerAccess, sizes: CurrentSizes) -> None:
        """Create the callable.

        Args:
          opened: the access, bound to views with open sizes.
        """
        self._opened, self._sizes = opened, sizes
        self.form = opened.form

    def __call__(self) -> Any:
        if self._sizes.differ:
            return self._bound()()
        run = self._sizes.runs.get(self)
        if run is None:
            run = self._sizes.runs[self] = self._bound()
        return run()

    def _bound(self) -> Run:
        opened, sizes = self._opened, self._sizes
        kind = opened.kind
        if kind is not None:
            kind = sizes.values.shape(kind[0]), kind[1]
        value, index, copy = map(sizes.array, (opened.value, opened.index, opened.copy))
        return opened.make(value, kind, index, copy)


class ReportStep:
    """The callable of a kernel that reports sizes. It holds the kernel's outputs until `write` has
    copied them.

    Attributes:
      count: the array in which native code stores the sizes, or None if Python runs the kernel.
    """

    def __init__(
        self,
        run: DynamicStep,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        sizes: CurrentSizes,
        step: Step,
    ) -> None:
        """Create the callable.

        Args:
          inputs, outputs: the views of the inputs and outputs. In place of a constant input,
            `inputs` contains the value of the constant.
        """
        self.step, self._sizes, self.step_record = run, sizes, step
        self._inputs, self._outputs = inputs, outputs
        self.count: Any = None
        self._results: Sequence[Any] = ()

    @property
    def places(self) -> list[int]:
        """The addresses where native code stores the sizes, or 0s if Python runs the kernel."""
        if self.count is None:
            return [0] * len(self.step.counted)
        start, item = self.count.ctypes.data, self.count.itemsize
        return [start + item * number for number in range(len(self.count))]

    @property
    def sizes(self) -> list[int]:
        """The sizes that the kernel has reported in this run."""
        return self.step.counts_in(self._results)

    def __call__(self) -> None:
        self._results = self.step.computed(list(map(self._sizes.array, self._inputs)))

    def write(self) -> None:
        """Copy the kernel's outputs to the plan's memory. The caller must first enlarge the memory
        for the reported size.
        """
        self._sizes.store(self.step, self._outputs, self._results)
        self._results = ()


class MoveStep:
    """The callable of a copy that NumPy performs, with the current sizes."""

    def __init__(self, step: Step, args: Move) -> None:
        self.run: Run = step.run
        self._args = args

    def bind(self, binder: Binder) -> Run:
        """Return the callable for the sizes of a binder's unit."""
        device, (source, _), (target, _), take = self._args
        homes = binder.unit.homes
        home = target_of(homes[source], homes[target])
        return move(binder, device, (source, homes[source]), (target, home), take)

    def __call__(self) -> Any:
        return self.run()
