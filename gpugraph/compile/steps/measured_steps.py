"""Steps on a GPU whose kernels count the sizes of their outputs (`kernel.Sized`).

    measure     launches that count the output sizes; if all inputs have static sizes, a separate
                step, which can be captured with the steps before it
    wait        the host reads the counts and the error flags
    fill        launches that write the outputs, which are allocated with these sizes

If the sizes are known when the plan is compiled (because indices are constant), all launches form
one step, which does not wait. Otherwise the host waits for the counts, so the step can't be
captured. In both cases, the tensors remain on the GPU.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from gpugraph.compile.steps.dynamic_steps import DynamicStep
from gpugraph.compile.steps.gpu_node_steps import host_report, run_time_reason
from gpugraph.compile.steps.kernel_context import BoundNode
from gpugraph.compile.steps.plan_arrays import Arrays
from gpugraph.compile.unit.compile_unit import Home
from gpugraph.devices.native import NotNativeError
from gpugraph.kernel import Sized
from gpugraph.plan import Run

_logger = logging.getLogger(__name__)


def dynamic_step(arrays: Arrays, bound: BoundNode, report_lines: list[str]) -> Run:
    """Return the step of a node that has tensors whose size is known only in the run. Add a report
    line that tells where the step runs.
    """
    reason = run_time_reason(bound)
    if isinstance(bound.kernel, Sized) and bound.runner.has_kernels:
        try:
            step = SizedStep(arrays, bound, bound.kernel)
        except (NotNativeError, NotImplementedError) as error:
            reason = str(error)
        else:
            if step.whole is not None:
                return step.whole
            name = f"{bound.node.name} ({bound.node.type})"
            wait = f"waits for {bound.runner.name}, which counts the sizes of its outputs"
            report_lines.append(f"{name} {wait}")
            return step
    if reason:
        report_lines.append(host_report(bound, reason))
    return DynamicStep(arrays, bound)


class SizedStep(DynamicStep):
    """A step that runs a `Sized` kernel on the GPU. Its constructor raises NotNativeError or
    NotImplementedError if the kernel must run on the host.

    Attributes:
      whole: a callable that makes all launches if the sizes are known, or None.
    """

    def __init__(self, arrays: Arrays, bound: BoundNode, sized: Sized) -> None:
        super().__init__(arrays, bound)
        self.sized = sized
        self.kernels = bound.runner.kernels
        self.measurement: tuple[Any, Any] | None = None
        self.reported: set[str] = set()
        dtype = bound.node.attrs.get("T")
        if dtype is not None and dtype.base_dtype not in sized.types:
            raise NotNativeError(f"there is no kernel of {dtype.base_dtype.name}")
        if all(home.storage.kind != "cell" for _, home in bound.inputs):
            inputs = [source() for source in self.sources]
            self.measurement = self._measurement(inputs, arrays.owned)
        self.whole = self._whole(arrays.owned, [home for _, home in bound.outputs])

    def _whole(self, owned: list[Any], homes: Sequence[Home]) -> Any:
        """Return a callable that makes all launches if the sizes are known when the plan is
        compiled. Otherwise return None.
        """
        shapes = [home.shape for home in homes if home.storage.kind != "cell"]
        if self.measurement is None or self.sized.known is None or len(shapes) < len(homes):
            return None
        inputs = [source() for source in self.sources]
        context = self._context(inputs, [shape or () for shape in shapes], owned)
        sizing = self.measurement[1]
        fill = sizing.fill(context, self.sized.known(context), self.results, context.scratch)
        return self.kernels.both(sizing.measure, fill)

    @property
    def measures(self) -> Any:
        """The launches that count sizes, if they form a separate step that is bound with the plan.
        Otherwise the property is None.
        """
        return self.measurement[1].measure if self.measurement is not None else None

    def _measurement(self, inputs: list[Any], owned: list[Any]) -> tuple[Any, Any]:
        """Return the kernel's context, and the launches that count the output sizes for these
        inputs.
        """
        context = self._context(inputs, [], owned)
        arrays = [array for slot, array in enumerate(inputs) if slot not in self.bound.host]
        if not all(self.bound.runner.has_array(array) for array in arrays):
            raise NotNativeError("its inputs are objects")
        refused = self.bound.refusals.of(self.node.name, self.node.origin)
        return context, self.kernels.sized(self.sized, context, arrays, context.scratch, refused)

    def _run_dynamic(self, inputs: list[Any], owned: list[Any]) -> None:
        try:
            if self.measurement is not None:
                context, sizing = self.measurement
            else:
                context, sizing = self._measurement(inputs, owned)
                sizing.measure()
            numbers = self._numbers(sizing)
            shapes = self.sized.shapes(context, numbers)
        except (NotNativeError, NotImplementedError) as error:
            self._report(str(error))
            super()._run_dynamic(inputs, owned)
            return
        results = [
            self._prepared(result, tuple(shape), slot)
            for slot, (result, shape) in enumerate(zip(self.results, shapes, strict=True))
        ]
        take = self._context(inputs, [], owned).scratch
        sizing.fill(context, numbers, results, take)()

    def _report(self, reason: str) -> None:
        """Log once for each reason that a step runs on the host although it was planned for the
        GPU.
        """
        if reason not in self.reported:
            self.reported.add(reason)
            _logger.warning("%s", host_report(self.bound, reason))

    def _numbers(self, sizing: Any) -> list[int]:
        if sizing.numbers is None:
            return []
        numbers = self.device.read(sizing.numbers)  # waits for the GPU
        self.bound.refusals.check()
        return numbers.tolist()
