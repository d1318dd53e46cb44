"""The evaluation of a single op on arrays, outside of any plan. Constant folding and
`constant_value` use it.

The op's CPU kernel runs on new NumPy arrays, so the value has the same bits as in a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.errors import OpError
from gpugraph.base.shapes import TensorShape
from gpugraph.base.sizes import as_whole_numbers, has_open_sizes, is_open
from gpugraph.graph.client.op_inference import output_types
from gpugraph.graph.inference_context import InferContext
from gpugraph.graph.op_def import OpDef, host_slots
from gpugraph.kernel import Call
from gpugraph.ops.framework.kernel_registry import find_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ContextOutsideRun:
    """The methods of a `KernelContext` that need a session or a run. Without them, the methods
    raise LookupError.
    """

    name: str
    on_host: frozenset[int] = frozenset()

    def state(self, make: Callable[[], Any]) -> Any:
        """Raise LookupError, because there is no state outside a run."""
        raise LookupError(f"'{self.name}' keeps no state")

    def shared(self, container: str, name: str, make: Callable[[], Any]) -> Any:
        """Raise LookupError, because outside a run there is no session that could share objects."""
        raise LookupError(f"'{self.name}' shares nothing: it is in no session")

    def variable(self, index: int) -> Any:
        """Raise LookupError, because outside a run inputs are arrays, not variables."""
        raise LookupError(f"Input {index} of '{self.name}' is an array, not a variable")

    def compiled(self, file: str, dtype: str = "float32") -> Callable[[float], None]:
        """Return a callable that always returns None, because no native code is compiled outside a
        run.
        """
        return lambda seconds: None

    def allocate(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """Raise LookupError, because there is no run that could own the memory."""
        raise LookupError(f"'{self.name}' can keep nothing: it is in no run")

    def own(self, container: Any) -> None:
        """Raise LookupError, because there is no plan outside a run."""
        raise LookupError(f"'{self.name}' can keep nothing: it is in no run")

    def new_handle(self, block: Any) -> Any:
        """Raise LookupError, because there is no session outside a run."""
        raise LookupError(f"'{self.name}' can keep nothing: it is in no session")

    def function(self, function: Any) -> Any:
        """Raise LookupError, because there is no session."""
        raise LookupError(f"'{self.name}' calls no functions: it is in no session")

    @property
    def kept_tensors(self) -> Any:
        """Raise LookupError, because outside a run there is no session that keeps tensors."""
        raise LookupError(f"'{self.name}' finds no kept tensors: it is in no session")

    def keep(self, container: Any) -> None:
        """Raise LookupError, because there is no run at whose end the container could be
        released.
        """
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
        """Return the array of input `index`."""
        return self.inputs[index]

    def scratch(self, shape: tuple[int, ...], dtype: DType) -> NDArray[Any]:
        """Return a new array."""
        return np.empty(shape, dtype.as_numpy_dtype)

    lasting = scratch

    def passing(self, slot: int, shape: tuple[int, ...], dtype: DType) -> NDArray[Any]:
        """Return a new array."""
        return self.scratch(shape, dtype)

    def state(self, make: Callable[[], Any]) -> Any:
        """Return the state in `states` under this op's name. If there is none, create it with
        `make`.
        """
        return self.states.setdefault(self.name, make())


def evaluate(
    op_def: OpDef,
    attrs: Mapping[str, Any],
    values: Sequence[NDArray[Any]],
    types: Sequence[DType] = (),
) -> list[NDArray[Any]] | None:
    """Return the outputs of an op for these inputs, or None if the op has no CPU `Call` or the call
    fails.

    Args:
      types: the inputs' dtypes. They are required if some inputs are arrays of open sizes, which
        are unknown until a run.
    """
    entry = find_kernel(op_def.name, "CPU", attrs)
    if op_def.infer is None or entry is None or not isinstance(entry.kernel, Call):
        return None
    try:
        if types and any(map(has_open_sizes, values)):
            return _of_open_sizes(op_def, entry.kernel, attrs, values, types)
        return run_kernel(op_def, entry.kernel, attrs, values)
    except (OpError, ValueError, TypeError, ArithmeticError, IndexError):
        return None  # A run will raise the error, with the node's name.


def run_kernel(
    op_def: OpDef, kernel: Call, attrs: Mapping[str, Any], values: Sequence[NDArray[Any]]
) -> list[NDArray[Any]]:
    """Run `kernel` on `values`, and return new outputs of the inferred shapes. Exceptions of the
    kernel are passed on.
    """
    dtypes = [as_dtype(value.dtype) for value in values]
    return _run(op_def, kernel, attrs, values, dtypes, attrgetter("as_numpy_dtype"))


def _of_open_sizes(
    op_def: OpDef,
    kernel: Call,
    attrs: Mapping[str, Any],
    values: Sequence[NDArray[Any]],
    types: Sequence[DType],
) -> list[NDArray[Any]] | None:
    """Return the outputs for inputs that contain open sizes. The kernel runs on arrays of objects
    in place of these inputs.

    If the outputs are neither integers nor bools, return None.
    """
    results = output_types(op_def, dict(attrs))
    if not all(dtype.is_integer or dtype.is_bool for dtype in (*results, *types)):
        return None
    values = [value.astype(object) if has_open_sizes(value) else value for value in values]
    outputs = _run(op_def, kernel, attrs, values, types, _type_of_sizes)
    return [
        as_whole_numbers(array, dtype.as_numpy_dtype) if dtype.is_integer else array
        for array, dtype in zip(outputs, results)
    ]


def _type_of_sizes(dtype: DType) -> Any:
    return object if dtype.is_integer else dtype.as_numpy_dtype


def _run(
    op_def: OpDef,
    kernel: Call,
    attrs: Mapping[str, Any],
    values: Sequence[NDArray[Any]],
    dtypes: Sequence[DType],
    numpy_type: Callable[[DType], Any],
) -> list[NDArray[Any]]:
    types = output_types(op_def, dict(attrs))
    shapes = [TensorShape.of(value.shape) for value in values]
    context = InferContext(shapes, attrs, dtypes, len(types), values.__getitem__)
    assert op_def.infer is not None
    inferred = op_def.infer(context)
    sizes = [] if kernel.dynamic else [tuple(shape.as_list()) for shape in inferred]
    if any(map(is_open, sizes)):
        raise TypeError("the number of elements is open")
    outputs = [np.empty(size, numpy_type(dtype.base_dtype)) for size, dtype in zip(sizes, types)]
    host = host_slots(op_def.inputs, op_def.host_inputs, attrs)
    inputs = [value for index, value in enumerate(values) if kernel.late or index not in host]
    arrays = ArrayContext(op_def.name, attrs, values, sizes, types)
    with np.errstate(all="ignore"):
        returned = kernel.bind(arrays, [*inputs, *outputs])()
    return [np.asarray(array) for array in returned] if kernel.dynamic else outputs
