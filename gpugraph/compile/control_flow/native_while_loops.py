"""Native loops: a loop whose variables are numbers, or vectors of one size, becomes one C function.

All ops of such a loop are elementwise. Until the function is compiled, and in every run with a time
limit, the loop's steps run instead. The compilation starts in the background when the estimated
total time of the loop's runs is long enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.compile.analysis.native_cost import WORTHWHILE_NS, numpy_nanoseconds
from gpugraph.compile.control_flow.loop_step import Loop
from gpugraph.compile.memory.memory_planning import passes_whole
from gpugraph.compile.steps.step_list import StepList
from gpugraph.compile.unit.compile_unit import TensorId
from gpugraph.compile.unit.guards import ALWAYS, Is
from gpugraph.compile.unit.jit_settings import warn_once
from gpugraph.devices.native import (
    FAILED,
    Fusion,
    NotNativeError,
    OpenCall,
    Prepared,
    prepare_loops,
    runtime_failure,
)
from gpugraph.graph.nodes.loop_frames import Frame, enters_once, is_loop_merge
from gpugraph.graph.nodes.node_and_edge import Edge
from gpugraph.graph.nodes.runtime_graph import Node, NodeClass
from gpugraph.kernel import Elementwise
from gpugraph.ops.framework.kernel_registry import find_kernel
from gpugraph.ops.fusion.op_expressions import build
from gpugraph.plan import NATIVE, Step, StepCode, StepGroup, step_codes


class NativeLoop(StepGroup):
    """A callable that runs a loop: its steps, or its C function once that is compiled.

    The callable does not check that variables are initialized.
    """

    def __init__(
        self,
        loop: Loop,
        compile_loop: Callable[[], Prepared[Any]],
        bind: Callable[[Any], Callable[[], int]],
        iteration_ns: float,
        at_once: bool,
        inputs: Sequence[TensorId],
        arrays: Sequence[Any],
        sizes: tuple[int, ...],
    ) -> None:
        """Create the callable. If `at_once`, start the compilation now.

        Args:
          inputs, arrays, sizes: the function's tensors, their arrays, and the sizes of its axes.
          compile_loop: a function that starts the compilation.
          bind: a function that returns a callable that calls the compiled function on the loop's
            arrays.
          iteration_ns: the estimated time in nanoseconds that the steps take for an iteration.
        """
        self.loop = loop
        self.steps = loop.steps
        self._compile = compile_loop
        self._bind = bind
        self._prepared: Prepared[Any] | None = compile_loop() if at_once else None
        self._run: Callable[[], int] | None = None
        self._iteration_ns = iteration_ns
        self.inputs, self._arrays, self._sizes = inputs, arrays, sizes

    def start_compilation(self) -> bool:
        """Start the compilation of the function, unless it was started before. Return whether the
        function is compiled.
        """
        if self._prepared is None:
            self._prepared = self._compile()
        return self._prepared.get() is not None

    def opened(self, views: Sequence[Any]) -> tuple[Callable[[], int], OpenCall]:
        """Return the call of the compiled function, and the same call for views with open sizes."""
        function = self._prepared.get() if self._prepared is not None else None
        assert function is not None, "the loop is compiled"
        call = function.call(self._arrays, self._sizes, stop=self.loop.clock.stop)
        vectors = [view.size for view, array in zip(views, self._arrays) if array.ndim]
        if self._sizes and any(size != vectors[0] for size in vectors):
            raise NotNativeError("its vectors have several sizes")
        return call, function.open_call(views, vectors[:1] if self._sizes else ())

    def go_on(self, call: Callable[[], int]) -> Callable[[], None]:
        """Return a callable that calls the function repeatedly until the loop ends."""
        clock = self.loop.clock

        def run() -> None:
            while status := call():
                if status == FAILED:
                    raise invalid_argument(self.failure)
                clock.check(f"in the loop '{self.loop.name}'")

        return run

    @property
    def failure(self) -> str:
        """The error message for a failure that the function reports."""
        function = self._prepared.get() if self._prepared is not None else None
        return "" if function is None else str(function.failure)

    def codes(self) -> Iterator[tuple[Step, StepCode]]:
        """Yield each step with the code that runs it. Python copies the values that enter the loop,
        and the function runs all other steps.
        """
        code = self._code()
        yield from step_codes(self.loop.loop_steps.start)
        for step, _ in step_codes(self.steps[len(self.loop.loop_steps.start) :]):
            yield step, code

    def notes(self, codes: Mapping[str, StepCode]) -> Sequence[str]:
        """Return lines for the report on whether the loop is currently a native function."""
        code = codes[self.loop.loop_steps.condition.label]
        reason = code.reason.partition("\n")[0]
        states = {
            "native": "a native function",
            "waiting": f"waits to be a native function ({reason})",
        }
        return [f"loop {self.loop.name}: {states.get(code.state, f'its steps ({reason})')}"]

    def _code(self) -> StepCode:
        """Return the `StepCode` of the loop's iterations."""
        if self._run is not None:
            return NATIVE
        if self._prepared is None:
            if failure := runtime_failure():
                return StepCode("plain", failure)
            estimate = f"an estimated {WORTHWHILE_NS / 1e6:.0f} ms"
            return StepCode("waiting", f"until the loop has taken {estimate}")
        if self._prepared.reason:
            return StepCode("plain", self._prepared.reason)
        is_there = self._prepared.get() is not None
        return StepCode("waiting", "for the next run" if is_there else "for the compiler")

    def run(self) -> None:
        """Run the loop. If the native function is compiled and the run has no time limit, call the
        function. Otherwise run the steps.
        """
        run = self._run
        if self.loop.clock.armed or (run is None and (run := self._ready()) is None):
            self.loop.run()
            return
        self.loop.start.run()
        clock = self.loop.clock
        while run() and clock.stop[0]:  # the function may return early
            clock.check(f"in the loop '{self.loop.name}'")

    def _ready(self) -> Callable[[], int] | None:
        """Return the function bound to the loop's arrays, or None if it is not compiled yet."""
        if self._prepared is None:
            spent = self.loop.iterations * self._iteration_ns
            if spent < WORTHWHILE_NS or runtime_failure():
                return None
            self._prepared = self._compile()
        function = self._prepared.get()
        if function is None and self._prepared.reason:
            warn_once(self._prepared.reason)
        if function is not None:
            self._run = self._bind(function)
        return self._run


def back_edge(merge: Node) -> Edge:
    """Return the edge that carries a loop variable's next value."""
    return next(edge for edge in merge._in if edge.is_back_edge)


def native_loop(
    step_list: StepList, frame: Frame
) -> tuple[Callable[[Loop], NativeLoop] | None, str]:
    """Return a function that converts a `Loop` to a `NativeLoop`, and "". If the frame has no
    native form, return None and the reason.
    """
    if not step_list.jit.is_on:
        return None, f"no native kernels: {step_list.jit.reason}"
    try:
        translation = _Translation(step_list, frame)
        compiled, sizes = translation.finish()
    except NotNativeError as error:
        return None, str(error)

    def bind(function: Any) -> Callable[[], int]:
        return function.bind(translation.arrays, sizes, stop=step_list.clock.stop)

    def native(loop: Loop) -> NativeLoop:
        calls = len(loop.loop_steps.head) + len(loop.loop_steps.tail) + 1
        nanoseconds = numpy_nanoseconds(translation.arrays, calls)
        return NativeLoop(
            loop,
            lambda: prepare_loops([compiled])[0],
            bind,
            nanoseconds,
            step_list.jit.waits,
            list(translation.inputs),
            translation.arrays,
            sizes,
        )

    return native, ""


class _Translation:
    """The translation of a frame's nodes to values of a `Fusion`. The constructor raises
    NotNativeError if a node has no native form.
    """

    def __init__(self, step_list: StepList, frame: Frame) -> None:
        self.step_list = step_list
        self.unit = step_list.unit
        self.frame = frame
        self.fusion = Fusion()
        self.values: dict[TensorId, int] = {}
        self.inputs: dict[TensorId, int] = {}
        self.arrays: list[Any] = []
        flow = self.unit.flow
        assert flow is not None
        self.flow = flow
        self.go_on = flow.go_on[frame] or ALWAYS
        self.predicate = self._predicate()
        for node in self.unit.order:
            if flow.frames.at(node) is frame and node is not frame.end:
                self._visit(node)

    def _predicate(self) -> TensorId:
        """Return the predicate under which the loop continues."""
        atoms = list(self.go_on)
        if len(atoms) != 1 or not isinstance(atoms[0], Is) or not atoms[0].value:
            raise NotNativeError("it does not go on by one condition")
        return atoms[0].pred

    def finish(self) -> tuple[Any, tuple[int, ...]]:
        """Return the translated loop, and the sizes of its axes."""
        changing = {}
        for merge in self.frame.merges:
            edge = back_edge(merge)
            changing[self.values[merge.id, 0]] = self.values[edge.src.id, edge.src_output]
        loop, sizes = self.fusion.finish_loop(self.values[self.predicate], changing)
        if len(sizes) > 1:
            raise NotNativeError("its variables are not numbers or vectors of one size")
        return loop, sizes

    def _visit(self, node: Node) -> None:
        if any(frame.parent is self.frame for frame in self.flow.frames.loops()):
            raise NotNativeError("there is a loop in it")
        guard = self.flow.guards[node.id]
        if node.node_class is not NodeClass.EXIT and guard not in (ALWAYS, self.go_on):
            raise NotNativeError(f"'{node.name}' is in a branch")
        if self.unit.device_types[node.assigned_device] != "CPU":
            raise NotNativeError(f"'{node.name}' is on {node.assigned_device}")
        if node.id in self.flow.irregular:
            raise NotNativeError(f"it may end without '{node.name}'")
        if enters_once(node):
            return  # a variable's first value is copied before the loop
        if node.node_class is NodeClass.ENTER:
            key, _ = self.step_list.home(node, 0)
            self.values[node.id, 0] = self._input(key)
        elif is_loop_merge(node):
            if any(edge.src_output == 1 for edge in node._out):
                raise NotNativeError(f"the index of '{node.name}' is taken")
            self.values[node.id, 0] = self._input((node.id, 0))
        elif node.node_class is NodeClass.CONSTANT:
            self._constant(node)
        elif node.node_class is NodeClass.EXIT:
            self._leave(node)
        elif passes_whole(node):
            key, _ = self.step_list.home(node, 0)
            for slot in range(len(node.output_types)):
                self.values[node.id, slot] = self.values[key]
        elif node.type == "_Fused":
            self._fused(node)
        else:
            self._apply(node)

    def _leave(self, node: Node) -> None:
        """Raise NotNativeError unless an Exit returns a loop variable. The function stores only
        loop variables.
        """
        homes = self.unit.homes
        variables = [homes[merge.id, 0].storage for merge in self.frame.merges]
        variables += [homes[enter.id, 0].storage for enter in self.frame.enters]
        if homes[node.id, 0].storage not in variables:
            raise NotNativeError(f"'{node.name}' is no variable of it")

    def _input(self, key: TensorId) -> int:
        """Return the `Fusion`'s value for an array that is filled before the loop."""
        if key not in self.inputs:
            home = self.unit.homes[key]
            if home.shape is None or home.storage.kind not in ("arena", "constant"):
                raise NotNativeError(f"'{home.storage.owner}' has no fixed place")
            value = self.fusion.input(home.dtype, home.shape)
            array = self.step_list.array(home)
            if not array.flags.c_contiguous:
                raise NotNativeError(f"'{home.storage.owner}' is not C-ordered")
            self.inputs[key] = value
            self.arrays.append(array)
        return self.inputs[key]

    def _constant(self, node: Node) -> None:
        value = node.attrs["value"]
        if np.ndim(value) == 0 and node.id not in self.unit.open_nodes:
            dtype = node.output_types[0]
            self.values[node.id, 0] = self.fusion.constant(value.item(), dtype)
        else:
            self.values[node.id, 0] = self._input((node.id, 0))

    def _inputs_of(self, node: Node) -> list[int]:
        """Return the `Fusion`'s values of a node's inputs."""
        keys = [self.step_list.home(node, slot)[0] for slot in range(node.num_inputs)]
        return [self.values[key] if key in self.values else self._input(key) for key in keys]

    def _fused(self, node: Node) -> None:
        """Translate the member ops of a `_Fused` node."""
        values = self._inputs_of(node)
        for member in node.attrs["members"]:
            if not isinstance(member.expressions, Elementwise):
                raise NotNativeError(f"'{member.name}' ({member.op_type}) is not elementwise")
            sources = [values[source] for source in member.sources]
            results = build(self.fusion, member.expressions, member.signature, sources)
            self._check(member.name, results[0], member.signature.output_shapes[0])
            values += map(self.fusion.stored, results)
        for slot, value in enumerate(node.attrs["stores"]):
            self.values[node.id, slot] = values[value]

    def _check(self, name: str, value: int, shape: tuple[int, ...]) -> None:
        if self.fusion.shape(value) != shape:
            raise NotNativeError(f"'{name}' is of another shape than its inputs")

    def _apply(self, node: Node) -> None:
        entry = find_kernel(node.type, "GPU", node.attrs)
        if entry is None or not isinstance(entry.kernel, Elementwise) or node.op_def.is_stateful:
            raise NotNativeError(f"'{node.name}' ({node.type}) is not elementwise")
        shape = self.unit.shapes[node.id][0]
        if not shape.is_fully_defined():
            raise NotNativeError(f"the shape of '{node.name}' is open")
        value = self.fusion.apply(entry.kernel, self._inputs_of(node), node.output_types[0])
        value = self.fusion.stored(value)
        self._check(node.name, value, tuple(size or 0 for size in shape.as_list()))
        self.values[node.id, 0] = value
