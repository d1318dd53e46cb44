"""Steps whose inputs or outputs have a size that is known only during a run.

In each run, such a step infers the shapes of its outputs from its inputs, allocates the outputs,
binds its kernel and calls it. Then the step frees the tensors that no later step uses.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import InternalError, InvalidArgumentError
from gpugraph.base.shapes import TensorShape
from gpugraph.compile.analysis.counted_rows import counted_rows
from gpugraph.compile.steps.call_threads import CallThread
from gpugraph.compile.steps.gpu_node_steps import bind_on_device
from gpugraph.compile.steps.kernel_context import (
    BoundNode,
    Cell,
    KernelBinding,
    KernelMemory,
    Place,
)
from gpugraph.compile.steps.native_node_code import Piece
from gpugraph.compile.steps.plan_arrays import Arrays
from gpugraph.compile.steps.run_time_native import RunTimeNative, plain_reason, run_time_native
from gpugraph.compile.unit.compile_unit import Unit
from gpugraph.compile.unit.inference_errors import inference_error
from gpugraph.devices import Block, Device, VariableState
from gpugraph.devices.device import HostDevice
from gpugraph.devices.native import one_blas_thread, prepare_source
from gpugraph.graph.inference_context import InferContext
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.kernel import reference
from gpugraph.kernel.reused_memory import is_from_empty_array, is_only_in
from gpugraph.plan import Clock, StepCode


class DynamicStep:
    """A step that binds its kernel in each run."""

    def __init__(self, arrays: Arrays, bound: BoundNode) -> None:
        node = bound.node
        self.bound = bound
        self.node = node
        self.device: Device = bound.runner
        self.resources = arrays.unit.target.resources
        self.jit = arrays.jit
        self.kept = arrays.holdings.memory.kept
        self.native = self._native(arrays, bound)
        self.multiplies = node.type in _PRODUCTS and not self.device.has_kernels
        self.plain = StepCode("plain", plain_reason(bound, arrays.jit, "sizes are left open"))
        self.reserved: list[Block] = []  # written by this run
        self.known_shapes: dict[Any, list[tuple[int, ...]]] = {}  # outputs' by the inputs'
        self.counted = counted_rows(node)
        self.counts = arrays.reported
        self.names = names_of(arrays.unit, node) if self.counted else ()
        self.sources = [self._source(arrays, *item) for item in enumerate(bound.inputs)]
        self.results = [self._result(arrays, place) for place in bound.outputs]
        self.dying = arrays.dying_cells(node, [key for key, _ in bound.inputs])
        here = arrays.positions[node.id]
        self.dying += [
            cell
            for (_, home), cell in zip(bound.outputs, self.results)
            if isinstance(cell, Cell) and home.storage.last == here
        ]

    @staticmethod
    def _native(arrays: Arrays, bound: BoundNode) -> RunTimeNative | None:
        """Return the node's native code. Plans for other sizes share the code of the same node."""
        known = arrays.run_time_natives
        if bound.node.id not in known:
            known[bound.node.id] = run_time_native(bound, arrays.jit, arrays.unit.target.verify)
        native: RunTimeNative | None = known[bound.node.id]
        return native

    def code(self) -> StepCode:
        """Return the code that the next run uses. This is NumPy's code until it is known whether
        native code is used.
        """
        return self.plain if self.native is None else self.native.code

    def _source(self, arrays: Arrays, slot: int, place: Place) -> Callable[[], Any]:
        """Return a callable that reads an input. If the input is a variable without a value, the
        callable returns an empty array.
        """
        state = self.bound.variables.get(slot)
        is_first = state is not None and self.node.op_def.allows_uninitialized_input
        if state is not None and is_first and place[1].storage.kind == "cell":
            return lambda: state.block.array if state.block is not None else _NOTHING
        return arrays.source(*place, on_host=slot in self.bound.host)

    def _result(self, arrays: Arrays, place: Place) -> Any:
        _, home = place
        if home.storage.kind != "cell":
            return arrays.array(home)
        if home.storage.node is not None:
            return arrays.variable(home.storage.node)
        return arrays.cell(home.storage)

    def __call__(self) -> None:
        held = [state.block for state in self.bound.variables.values()]  # variables may move
        inputs = [source() for source in self.sources]
        owned: list[Block] = []
        try:
            if reference(self.bound.kernel).dynamic:
                self._run_dynamic(inputs, owned)
            else:
                self._run(inputs, owned)
        finally:
            for block in owned:
                block.release()
            self.reserved.clear()
            del held
        for cell in self.dying:
            cell.release()

    def _run(self, inputs: list[Any], owned: list[Block]) -> None:
        shapes = self._infer(inputs)
        results = [
            self._prepared(result, shape, slot)
            for slot, (result, shape) in enumerate(zip(self.results, shapes))
        ]
        refs = [self._ref(slot, array, results) for slot, array in enumerate(inputs)]
        context = self._context(inputs, [array.shape for array in results], owned)
        arrays = [*(refs[slot] for slot in self.bound.array_slots), *results]
        self._compute(context, arrays)

    def outputs_of(self, inputs: list[Any]) -> Sequence[Any]:
        """Return new arrays with the outputs for these inputs. The arrays do not use the plan's
        memory.
        """
        if reference(self.bound.kernel).dynamic:
            return self.computed(inputs)
        owned: list[Block] = []
        try:
            types = [dtype.base_dtype.as_numpy_dtype for dtype in self.node.output_types]
            results = [np.empty(*pair) for pair in zip(self._output_shapes(inputs), types)]
            context = self._context(inputs, [array.shape for array in results], owned)
            self._compute(context, [*(inputs[slot] for slot in self.bound.array_slots), *results])
            return results
        finally:
            for block in owned:
                block.release()

    def _output_shapes(self, inputs: list[Any]) -> list[tuple[int, ...]]:
        """Return the shapes of the outputs. If the shapes do not depend on the values of the
        inputs, they are cached.
        """
        if self.bound.host:
            return self._infer(inputs)
        shapes = tuple([array.shape for array in inputs])
        known = self.known_shapes.get(shapes)
        if known is None:
            if len(self.known_shapes) > _MOST_SHAPES:
                self.known_shapes.clear()
            known = self.known_shapes[shapes] = self._infer(inputs)
        return known

    def computed(self, inputs: list[Any]) -> Sequence[Any]:
        """Return the outputs for these inputs, if the kernel determines the sizes of the
        outputs.
        """
        owned: list[Block] = []
        try:
            arrays = [inputs[slot] for slot in self.bound.array_slots]
            results: Sequence[Any] = self._compute(self._context(inputs, [], owned), arrays)
            if owned:  # their memory may be the results'
                results = [np.array(result) for result in results]
            return results
        finally:
            for block in owned:
                block.release()

    def counts_in(self, results: Sequence[Any]) -> list[int]:
        """Return the numbers of rows that the kernel has counted. They are the lengths of
        outputs.
        """
        return [len(results[rows.slots[0]]) for rows in self.counted]

    def context(self, inputs: Sequence[Any], output_shapes: Sequence[Any]) -> KernelBinding:
        """Return a context of the kernel for these inputs. The context allocates no memory."""
        return self._context(list(inputs), list(output_shapes), [])

    def code_of(self, piece: Piece) -> Any:
        """Return the compiled form of a step's native code, or None if it is not compiled yet."""
        assert piece.source is not None
        return prepare_source(*piece.source).get(self.jit.waits)

    def is_settled(self) -> bool:
        """Return whether the choice between NumPy and native code is final. If native code is not
        compiled yet, start its compilation.
        """
        try:
            inputs = [source() for source in self.sources]
        except InternalError:  # an input is freed at the end of a run
            return True
        if self.native is None or any(array is None for array in inputs):
            return True
        arrays = [inputs[slot] for slot in self.bound.array_slots]
        prepared = self.native.prepared(self._context(inputs, [], []), arrays)
        is_there = prepared is None or prepared.get(self.jit.waits) is not None
        return is_there or bool(prepared and prepared.reason)

    def _compute(self, context: KernelBinding, arrays: list[Any]) -> Any:
        """Run the kernel, in native code if it is compiled, and return the result."""
        if self.native is None:
            run = bind_on_device(self.bound, context, arrays)
            if self.multiplies and _multiplications(arrays) < _WORTH_TWO_THREADS:
                with one_blas_thread():  # further threads would spin
                    return run()
            return run()
        return self.native.run(
            context, arrays, lambda: bind_on_device(self.bound, context, arrays)()
        )

    def _ref(self, slot: int, array: Any, results: list[Any]) -> Any:
        """Return the array of input `slot`. If the input is a variable that the kernel writes,
        return the array of the output.
        """
        state = self.bound.variables.get(slot)
        if state is not None:
            for result, written in zip(self.results, results):
                if result is state:
                    return written
        return array

    def _run_dynamic(self, inputs: list[Any], owned: list[Block]) -> None:
        context = self._context(inputs, [], owned)
        arrays = [inputs[slot] for slot in self.bound.array_slots]
        results = self._compute(context, arrays)
        for rows, count in zip(self.counted, self.counts_in(results)):
            self.counts |= dict.fromkeys([name + rows.suffix for name in self.names], count)
        self._write(results)

    def _write(self, returned: Sequence[Any]) -> None:
        for slot, result in enumerate(self.results):
            if isinstance(result, Cell) and self._may_keep(returned, slot):
                result.fill(Block(self.device, None, returned[slot]))
                continue
            # NumPy's own type of byte strings drops zeros at the end.
            is_text = isinstance(returned[slot], bytes)
            array = np.asarray(returned[slot], object if is_text else None)
            self.device.write(self._prepared(result, array.shape, slot), array)

    def _may_keep(self, returned: Sequence[Any], slot: int) -> bool:
        """Return whether a returned array may be used as the output without a copy. This is the
        case if the array is large and nothing else refers to it.
        """
        if not isinstance(self.device, HostDevice) or not is_from_empty_array(returned[slot]):
            return False
        return sys.getrefcount(returned) == _OF_OUTPUTS and is_only_in(returned, slot)

    def _context(
        self, inputs: list[Any], output_shapes: list[tuple[int, ...]], owned: list[Block]
    ) -> KernelBinding:
        shapes = [array.shape for array in inputs]
        values = {slot: inputs[slot] for slot in self.bound.host}
        memory = KernelMemory(owned, self.kept, {})
        return KernelBinding(
            self.bound, shapes, output_shapes, values, memory, self.resources, self.jit
        )

    def _infer(self, inputs: list[Any]) -> list[tuple[int, ...]]:
        node = self.node
        context = InferContext(
            [TensorShape.of(None if array is _NOTHING else array.shape) for array in inputs],
            node.attrs,
            node.input_types,
            len(node.output_types),
            lambda index: inputs[index] if index in self.bound.host else None,
        )
        assert node.op_def.infer is not None
        try:
            shapes = node.op_def.infer(context)
        except ValueError as error:
            raise inference_error(node, context, error) from error
        for shape in shapes:
            if not shape.is_fully_defined():
                raise self._error(f"The shape of '{node.name}' stays open: {shape}")
        return [tuple(shape.as_list()) for shape in shapes]

    def _error(self, message: str) -> InvalidArgumentError:
        return InvalidArgumentError(self.node.node_def, None, message)

    def _prepared(self, result: Any, shape: tuple[int, ...], slot: int) -> Any:
        """Return the array to which output `slot` will be written."""
        if isinstance(result, Cell):
            dtype = self.node.output_types[slot].base_dtype
            result.fill(self.device.allocate(shape, dtype, result.name))
            return result.array
        if isinstance(result, VariableState):
            block = result.reserve(shape)
            self.reserved.append(block)
            return block.array
        if tuple(result.shape) != shape:
            raise self._error(
                f"'{self.node.name}' must return a tensor of shape {list(result.shape)}, but it "
                f"has shape {list(shape)}"
            )
        return result


def _references() -> int:
    def may_keep(returned: Sequence[Any], _: int) -> int:
        return sys.getrefcount(returned)

    def write(returned: Sequence[Any]) -> int:
        return may_keep(returned, 0)

    returned = (np.empty(1),)
    return write(returned)


_OF_OUTPUTS = _references()
"""The reference count in `_may_keep` of outputs to which only the calls of this module refer."""

_MOST_SHAPES = 256

_PRODUCTS = frozenset((
    *("MatMul", "BatchMatMul", "BatchMatMulV2", "SparseMatMul", "Einsum", "BiasAddGrad"),
    *("Softmax", "LogSoftmax", "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"),
))  # fmt: skip
"""The op types that NumPy computes by its BLAS."""

_WORTH_TWO_THREADS = 30_000_000
"""The number of multiplications from which on two threads of a BLAS take less time than one."""


def _multiplications(arrays: Sequence[Any]) -> float:
    """Return the number of multiplications of a product: m * n * k, for arrays of m*k, k*n and m*n
    elements.
    """
    return math.sqrt(math.prod(float(array.size) for array in arrays))


def names_of(unit: Unit, node: Node) -> list[str]:
    """Return the names of a node and of the nodes that were merged into it."""
    names = [node.name]
    for name in unit.absorbed:
        by = name
        while by in unit.absorbed:
            by = unit.absorbed[by].by
        if by == node.name:
            names.append(name)
    return names


class CallingStep(DynamicStep):
    """A step that calls a user function. It has three phases: read the inputs, call the function,
    and write the results.

    The call itself does not access the plan's memory. So several calls can run concurrently in
    separate threads (`concurrent_calls.py`), and an abandoned call does no harm. In a run with a
    time limit, even a single call runs in a separate thread, unless the called function checks
    itself whether the run must end.
    """

    def __init__(self, arrays: Arrays, bound: BoundNode, clock: Clock) -> None:
        super().__init__(arrays, bound)
        self.clock = clock
        self.gives_up = reference(bound.kernel).gives_up
        name = self.node.name
        self.place = f"in '{name}'" if self.gives_up else f"in the Python function of '{name}'"

    def __call__(self) -> None:
        call = self.begin()
        if not self.clock.is_limited or self.gives_up:
            self.end(call())
            return
        thread = CallThread(self.node.name, call, self.place)
        thread.start()
        thread.wait(self.clock.check)
        self.end(thread.result())

    def begin(self) -> Callable[[], Any]:
        """Copy the inputs, and return a callable that calls the function on the copies."""
        held = [state.block for state in self.bound.variables.values()]  # variables may move
        inputs = [self.device.read(source()) for source in self.sources]
        del held
        owned: list[Block] = []
        context = self._context(inputs, [], owned)
        arrays = [inputs[slot] for slot in self.bound.array_slots]
        call = self.device.bind(self.bound.kernel, context, arrays)

        def call_and_release() -> Any:
            try:
                return call()
            finally:
                for block in owned:
                    block.release()

        return call_and_release

    def end(self, returned: Sequence[Any]) -> None:
        """Write the results of the call."""
        self._write(returned)
        for cell in self.dying:
            cell.release()


_NOTHING = np.empty(0)
"""The array that represents a variable without a value."""
