"""Steps of a GPU whose own kernels find the sizes of what they make (`kernel.Sized`).

    measure     launches; where all inputs have static sizes a step of their own before this one,
                which is bound with the plan and captured with what comes before
    wait        the host reads the numbers that they left, and what they refused
    fill        launches over outputs that are allocated with these sizes

Where the plan knows the sizes (indices are constant), both are one step, and nobody waits.
The data stays on the GPU. No capture goes over such a step, since the host waits in it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.compile.steps.dynamic_steps import DynamicStep, Place
from gpugraph.compile.steps.gpu_node_steps import at_run_time, on_host
from gpugraph.compile.steps.plan_arrays import Arrays
from gpugraph.compile.unit.compile_unit import Home
from gpugraph.devices import VariableState
from gpugraph.devices.native import NotNativeError
from gpugraph.graph.nodes.runtime_graph import Node
from gpugraph.kernel import Kernel, Sized

_logger = logging.getLogger(__name__)


def dynamic_step(
    arrays: Arrays,
    node: Node,
    kernel: Kernel,
    variables: dict[int, VariableState],
    inputs: Sequence[Place],
    outputs: Sequence[Place],
    host: frozenset[int],
    told: list[str],
) -> Callable[[], Any]:
    """The step of a node with tensors that are sized at run time; `told` gets where it runs."""
    runner = arrays.runner(node)
    given = arrays, node, kernel, variables, inputs, outputs, host
    if not (isinstance(kernel, Sized) and runner.has_kernels):
        told += at_run_time(runner, node, kernel)
        return DynamicStep(*given)
    try:
        step = SizedStep(*given, kernel)
    except NotNativeError as error:
        told.append(on_host(runner, node, str(error)))
        return DynamicStep(*given)
    if step.whole is not None:
        return step.whole
    told.append(
        f"{node.name} ({node.type}) waits for {runner.name}, which counts how large what it "
        "makes is"
    )
    return step


class SizedStep(DynamicStep):
    """Runs the kernel on the GPU; NotNativeError where it is known before a run that it can't."""

    def __init__(
        self,
        arrays: Arrays,
        node: Node,
        kernel: Kernel,
        variables: dict[int, VariableState],
        inputs: Sequence[Place],
        outputs: Sequence[Place],
        host: frozenset[int],
        sized: Sized,
    ) -> None:
        super().__init__(arrays, node, kernel, variables, inputs, outputs, host)
        self.sized = sized
        self.runner: Any = self.device
        self.bound: tuple[Any, Any] | None = None
        self.told: set[str] = set()
        dtype = node.attrs.get("T")
        if dtype is not None and dtype.base_dtype not in sized.types:
            raise NotNativeError(f"there is no kernel of {dtype.base_dtype.name}")
        if all(home.storage.kind != "cell" for _, home in inputs):
            self.bound = self._measuring([source() for source in self.sources], arrays.owned)
        self.whole = self._whole(arrays.owned, [home for _, home in outputs])

    def _whole(self, owned: list[Any], homes: Sequence[Home]) -> Any:
        """All launches as one, where the plan knows the sizes."""
        shapes = [home.shape for home in homes if home.storage.kind != "cell"]
        if self.bound is None or self.sized.known is None or len(shapes) < len(homes):
            return None
        inputs = [source() for source in self.sources]
        context = self._context(inputs, [shape or () for shape in shapes], owned)
        sizing = self.bound[1]
        try:
            fill = sizing.fill(context, self.sized.known(context), self.results, context.scratch)
        except NotImplementedError as error:
            raise NotNativeError(str(error)) from error
        return self.runner.kernels.both(sizing.measure, fill)

    @property
    def measures(self) -> Any:
        """What is to run before, if it is bound with the plan."""
        return self.bound[1].measure if self.bound is not None else None

    def _measuring(self, inputs: list[Any], owned: list[Any]) -> tuple[Any, Any]:
        """What knows sizes and dtypes, and the launches over the inputs."""
        context = self._context(inputs, [], owned)
        given = [array for slot, array in enumerate(inputs) if slot not in self.host]
        if not all(self.runner.has_array(array) for array in given):
            raise NotNativeError("it takes objects")
        refused = self.refusals.of(self.node.name, self.node.origin)
        kernels = self.runner.kernels
        try:
            return context, kernels.sized(self.sized, context, given, context.scratch, refused)
        except NotImplementedError as error:
            raise NotNativeError(str(error)) from error

    def _run_dynamic(self, inputs: list[Any], owned: list[Any]) -> None:
        try:
            if self.bound is not None:
                context, sizing = self.bound
            else:
                context, sizing = self._measuring(inputs, owned)
                sizing.measure()
            numbers = self._numbers(sizing)
            shapes = self.sized.shapes(context, numbers)
        except (NotNativeError, NotImplementedError) as error:
            self._tell(str(error))
            super()._run_dynamic(inputs, owned)
            return
        results = [
            self._prepared(result, tuple(shape), slot)
            for slot, (result, shape) in enumerate(zip(self.results, shapes, strict=True))
        ]
        take = self._context(inputs, [], owned).scratch
        sizing.fill(context, numbers, results, take)()

    def _tell(self, reason: str) -> None:
        """Says, once for each reason, that runs go by the host, which the plan could not know."""
        if reason not in self.told:
            self.told.add(reason)
            _logger.warning("%s", on_host(self.runner, self.node, reason))

    def _numbers(self, sizing: Any) -> list[int]:
        if sizing.numbers is None:
            return []
        found = self.device.read(sizing.numbers)  # waits
        self.refusals.check()
        return found.tolist()
