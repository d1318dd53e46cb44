"""Native calls of several steps, joined into one call. If a call rejects its input, the step's
error is raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpugraph.base.errors import InternalError
from gpugraph.compile.steps.native_node_code import Calls, Candidate, NativeCall
from gpugraph.devices.native import NotNativeError, failed_at, is_tiled, one_blas_thread, sequence
from gpugraph.kernel import MatmulWithEpilogue, MatrixProducts
from gpugraph.plan import NATIVE, Step, StepCode, noting_step


def native_step(members: Sequence[tuple[Step, Calls]]) -> Step:
    """Return one step that makes the native calls of several steps. If a call rejects its input,
    the NumPy step of that call runs and raises the error.
    """
    first, _ = members[0]
    return replace(first, run=_native_call(members), kind="native", code=native_code)


def step_beside_native(step: Step) -> Step:
    """Return a NumPy step that uses only one BLAS thread, to run between native steps. Additional
    BLAS threads would keep spinning after the step.
    """

    def run() -> None:
        with one_blas_thread():
            step.run()

    return replace(step, run=run)


def native_code() -> StepCode:
    """Return the `StepCode` of a native step."""
    return NATIVE


class RefusableCall:
    """A native call of several steps. If the input of a step is rejected, its NumPy step raises the
    error.
    """

    def __init__(self, call: NativeCall, steps: Sequence[Step]) -> None:
        """Wrap a call.

        Args:
          call: a sequence of native calls that are made as one call.
          steps: for each call in the sequence, the step that it performs.
        """
        self.call = call
        self.steps = steps

    def __call__(self) -> int:
        return self.refuse() if self.call() else 0

    def refuse(self) -> int:
        """Run the NumPy step of the native call that has rejected its input. The step raises the
        error.
        """
        step = self.steps[failed_at(self.call) if len(self.steps) > 1 else 0]
        with noting_step(step):
            step.run()
            raise InternalError.of_no_node(f"The native code of '{step.name}' failed")


def _native_call(members: Sequence[tuple[Step, Calls]]) -> NativeCall:
    parts = [call for _, calls in members for call in calls.calls]
    call = parts[0] if len(parts) == 1 else sequence(parts)
    if not any(calls.may_fail for _, calls in members):
        return call
    return RefusableCall(call, [step for step, calls in members for _ in calls.calls])


def library_of(step: Candidate, known: dict[Any, str]) -> str:
    """Return the name of the library that computes a step's matrix products. Return "" for any
    other step.

    Args:
      known: the results for earlier steps. New results are added.
    """
    native = step.native
    if not isinstance(native, (MatrixProducts, MatmulWithEpilogue)) or not step.inputs:
        return ""
    layouts = [(array.shape, array.strides, array.dtype.char) for array in step.arrays]
    key = id(native), id(step.context.attrs), *layouts
    if key not in known:
        known[key] = _library_of(native, step)
    return known[key]


def _library_of(native: MatrixProducts | MatmulWithEpilogue, step: Candidate) -> str:
    try:
        form = native if isinstance(native, MatrixProducts) else native.products
        triples = form.matrices(step.context, *step.arrays)
        is_own = not isinstance(native, MatrixProducts) or is_tiled(triples)
    except (NotNativeError, NotImplementedError):
        return ""
    return "tiles" if is_own else "NumPy's BLAS"
