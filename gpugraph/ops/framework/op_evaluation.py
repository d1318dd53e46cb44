"""Evaluation of one op on arrays, outside any plan: for constant folding and constant values.

The op's CPU kernel runs on new NumPy arrays, so the value equals that of a run to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.errors import OpError
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.client_graph import output_types
from gpugraph.graph.inference_context import InferContext
from gpugraph.graph.op_def import OpDef, host_slots
from gpugraph.kernel import Call
from gpugraph.ops.framework.kernel_registry import find_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ContextOutsideRun:
    """The methods of a `KernelContext` that need a session or a run: here they raise
    LookupError.
    """

    name: str
    on_host: frozenset[int] = frozenset()

    def state(self, make: Callable[[], Any]) -> Any:
        """Raise LookupError: there is no state."""
        raise LookupError(f"'{self.name}' keeps no state")

    def shared(self, container: str, name: str, make: Callable[[], Any]) -> Any:
        """Raise LookupError: there is no session."""
        raise LookupError(f"'{self.name}' shares nothing: it is in no session")

    def variable(self, index: int) -> Any:
        """Raise LookupError: there is no variable."""
        raise LookupError(f"Input {index} of '{self.name}' is an array, not a variable")

    def compiled(self, file: str, dtype: str = "float32") -> Callable[[float], None]:
        """Return a callable that ignores its argument: outside a run, no native code is
        compiled.
        """
        return lambda seconds: None

    def allocate(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """Raise LookupError: there is no run that could own the memory."""
        raise LookupError(f"'{self.name}' can keep nothing: it is in no run")

    def own(self, container: Any) -> None:
        """Raise LookupError: there is no plan."""
        raise LookupError(f"'{self.name}' can keep nothing: it is in no run")

    def new_handle(self, block: Any) -> Any:
        """Raise LookupError: there is no session."""
        raise LookupError(f"'{self.name}' can keep nothing: it is in no session")

    @property
    def kept_tensors(self) -> Any:
        """LookupError: there is no session."""
        raise LookupError(f"'{self.name}' finds no kept tensors: it is in no session")

    def keep(self, container: Any) -> None:
        """Raise LookupError: there is no run."""
        raise LookupError(f"'{self.name}' can keep nothing: it is in no run")


@dataclass
class ArrayContext(ContextOutsideRun):
    """The `KernelContext` with which the kernel of a single op runs on NumPy arrays."""

    name: str
    attrs: Mapping[str, Any]
    inputs: Sequence[NDArray[Any]]
    output_shapes: Sequence[tuple[int, ...]]
    output_types: Sequence[DType]
    states: dict[str, Any] = field(default_factory=dict)
    on_host: frozenset[int] = frozenset()

    @property
    def input_shapes(self) -> Sequence[tuple[int, ...]]:
        """The shapes of the arrays."""
        return [array.shape for array in self.inputs]

    @property
    def input_types(self) -> Sequence[DType]:
        """The dtypes of the arrays."""
        return [as_dtype(array.dtype) for array in self.inputs]

    def value(self, index: int) -> NDArray[Any]:
        """Return input `index`."""
        return self.inputs[index]

    def scratch(self, shape: tuple[int, ...], dtype: DType) -> NDArray[Any]:
        """Return a new array."""
        return np.empty(shape, dtype.as_numpy_dtype)

    lasting = scratch

    def passing(self, slot: int, shape: tuple[int, ...], dtype: DType) -> NDArray[Any]:
        """Return a new array."""
        return self.scratch(shape, dtype)

    def state(self, make: Callable[[], Any]) -> Any:
        """Return the state under this op's name in `states`, which the first call creates with
        `make`.
        """
        return self.states.setdefault(self.name, make())


def evaluate(
    op_def: OpDef, attrs: Mapping[str, Any], values: Sequence[NDArray[Any]]
) -> list[NDArray[Any]] | None:
    """Return the op's outputs for these input values.

    The result is None if there is no NumPy kernel for the CPU, or if it raises an error.
    """
    entry = find_kernel(op_def.name, "CPU", attrs)
    if op_def.infer is None or entry is None or not isinstance(entry.kernel, Call):
        return None
    try:
        return run_kernel(op_def, entry.kernel, attrs, values)
    except (OpError, ValueError, TypeError, ArithmeticError, IndexError):
        return None  # a run will raise the error, with the node's name


def run_kernel(
    op_def: OpDef, kernel: Call, attrs: Mapping[str, Any], values: Sequence[NDArray[Any]]
) -> list[NDArray[Any]]:
    """Run `kernel` on new output arrays of the inferred shapes, and return them.

    A dynamic kernel allocates its outputs itself. Exceptions of inference and kernel are raised.
    """
    types = output_types(op_def, dict(attrs))
    shapes = [TensorShape.of(value.shape) for value in values]
    context = InferContext(
        shapes, attrs, [as_dtype(value.dtype) for value in values], len(types), values.__getitem__
    )
    assert op_def.infer is not None
    inferred = op_def.infer(context)
    sizes = [] if kernel.dynamic else [tuple(shape.as_list()) for shape in inferred]
    outputs = [np.empty(size, dtype.base_dtype.as_numpy_dtype) for size, dtype in zip(sizes, types)]
    host = host_slots(op_def.inputs, op_def.host_inputs, attrs)
    inputs = [value for index, value in enumerate(values) if kernel.late or index not in host]
    arrays = ArrayContext(op_def.name, attrs, values, sizes, types)
    with np.errstate(all="ignore"):
        returned = kernel.bind(arrays, [*inputs, *outputs])()
    return [np.asarray(array) for array in returned] if kernel.dynamic else outputs
