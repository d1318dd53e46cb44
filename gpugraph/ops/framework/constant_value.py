"""The value of a tensor before any run, if it can be computed from constants.

Shape inference needs these values, for example the axis of a sum or the sizes of a reshape. If the
inputs of an op are constant, and its output is a small integer or bool tensor, its CPU kernel
computes the value. The output of a Shape op is constant if the static shape is known. If only some
sizes in a vector are known, `constant_value_as_shape` returns the known sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.op_library import register_constant_value
from gpugraph.ops.framework.op_declaration import DECLARATIONS
from gpugraph.ops.framework.op_evaluation import evaluate
from gpugraph.ops.framework.tensor_conversion import CONST

if TYPE_CHECKING:
    from numpy.typing import NDArray


_FOLDED = {
    "Add", "AddV2", "Sub", "Mul", "FloorDiv", "FloorMod", "RealDiv", "Maximum", "Minimum", "Neg",
    "Cast", "ConcatV2", "Pack", "Range", "Reshape", "Slice", "StridedSlice", "GatherV2", "Prod",
    "Sum", "ExpandDims", "Squeeze", "Equal", "NotEqual", "Less", "LessEqual", "Greater",
    "GreaterEqual", "Fill", "BroadcastGradientArgs", "DynamicStitch", "InvertPermutation",
    "LogicalAnd", "LogicalOr", "LogicalNot", "Select", "ZerosLike", "OnesLike", "ConcatOffset",
}  # fmt: skip
_FOLDED_OF_ANY_DTYPE = {"Cast", "ConcatV2", "Pack", "Fill"}
_STATIC = {"Cast", "Concat", "ConcatV2", "Equal", "Fill", "NotEqual", "Pack", "Range"}
_PASSED_ON = {"Identity", "StopGradient", "PreventGradient"}
_MAX_ELEMENTS = 1024
_MAX_VISITED = 4096
_MAX_DEPTH = 64


def constant_value(tensor: Any) -> Any:
    """Return the value that `tensor` has in every run, as an array. If it is unknown, return None.

    A value that is not a tensor is returned unchanged.
    """
    if not isinstance(tensor, Tensor):
        return tensor
    if tensor.op._op_def is CONST:
        return tensor.op._attrs["value"]
    return _Search().value(tensor)


def value_for_programs(tensor: Tensor, partial: bool = False) -> NDArray[Any] | None:
    """Return the value that `tf.get_static_value` returns. Only the op types that TensorFlow 1.15
    evaluates are evaluated.

    Args:
      partial: whether to return an array of objects for a Pack along axis 0 with unknown inputs.
        The array has None for each unknown input.
    """
    value = _ProgramSearch().value(tensor)
    if value is not None or not partial or not _is_static(tensor.op) or tensor.op.type != "Pack":
        return value
    return np.array([value_for_programs(part, True) for part in tensor.op.inputs], object)


def constant_value_as_shape(tensor: Tensor) -> TensorShape | None:
    """Return the shape whose sizes are the elements of `tensor`, a vector. If even the number of
    elements is unknown, return None.

    A size that is not constant is None in the shape.
    """
    return _Search().shape(tensor, _MAX_DEPTH)


class _Search:
    """One search for the value of a tensor. It visits each tensor once, and at most `_MAX_VISITED`
    tensors.
    """

    def __init__(self) -> None:
        self._values: dict[Tensor, NDArray[Any] | None] = {}
        self._shapes: dict[Tensor, TensorShape | None] = {}

    def value(self, tensor: Tensor) -> NDArray[Any] | None:
        """Return the tensor's value, or None if it is unknown.

        Inputs are evaluated before the ops that read them. The search uses an explicit stack
        instead of recursion.
        """
        values = self._values
        stack = [tensor]
        while stack:
            current = stack[-1]
            sources = () if current in values else self._sources(current)
            missing = [source for source in sources if source not in values]
            if missing and len(values) + len(stack) < _MAX_VISITED:
                stack += missing
                continue
            stack.pop()
            if current not in values:
                values[current] = None if missing else self._evaluate(current)
        return values[tensor]

    def _sources(self, tensor: Tensor) -> Sequence[Tensor]:
        """Return the tensors from whose values the value of `tensor` is computed.

        If `tensor` cannot be evaluated, return an empty sequence.
        """
        operation = tensor.op
        if operation.type in _PASSED_ON:
            return operation.inputs[:1]
        return operation.inputs if _is_folded(tensor) else ()

    def _evaluate(self, tensor: Tensor) -> NDArray[Any] | None:
        """Return the value of a tensor whose sources are already evaluated, or None if a source has
        no value.
        """
        operation = tensor.op
        if operation.type == "Const":
            return operation.attrs["value"]
        if operation.type in ("Shape", "Size", "Rank"):
            return _of_shape(operation.type, operation.inputs[0].shape, tensor.dtype)
        if not self._sources(tensor):
            return None
        if operation.type in _PASSED_ON:
            return self._values[operation.inputs[0]]
        known = [self._values[source] for source in operation.inputs]
        values = [value for value in known if value is not None]
        if len(values) < len(known):
            return None
        outputs = evaluate(DECLARATIONS[operation.type].op_def, operation.attrs, values)
        return None if outputs is None else outputs[tensor.value_index]

    def shape(self, tensor: Tensor, depth: int) -> TensorShape | None:
        """Return the shape whose sizes are the elements of `tensor`. `depth` limits the
        recursion.
        """
        tensor = _cast_from(tensor)
        if tensor not in self._shapes:
            self._shapes[tensor] = self._sizes(tensor, depth - 1) if depth else None
        return self._shapes[tensor]

    def _sizes(self, tensor: Tensor, depth: int) -> TensorShape | None:
        operation = tensor.op
        if operation.type == "Shape":
            return operation.inputs[0].shape
        if operation.type == "Pack":
            return TensorShape.of(tuple(self._size(source) for source in operation.inputs))
        if operation.type == "ConcatV2":
            return self._concatenated_shape(operation.inputs[:-1], depth)
        if operation.type == "StridedSlice":
            return self._sliced_shape(operation, depth)
        return None

    def _size(self, tensor: Tensor) -> int | None:
        """Return the value of a scalar tensor that contains a size, or None if the tensor is not
        constant.
        """
        value = self.value(tensor)
        if value is None:
            value = self.value(_cast_from(tensor))
        size = -1 if value is None else int(value.reshape(()))
        return None if size < 0 else size

    def _concatenated_shape(self, parts: Sequence[Tensor], depth: int) -> TensorShape | None:
        whole: tuple[int | None, ...] = ()
        for part in parts:
            value = self.value(part)
            if value is not None:
                whole += tuple(None if size < 0 else int(size) for size in value.tolist())
                continue
            shape = self.shape(part, depth)
            length = part.shape.num_elements() if shape is None or shape.sizes is None else 0
            if length is None or len(whole) + length > _MAX_ELEMENTS:
                return None
            whole += (None,) * length if shape is None or shape.sizes is None else shape.sizes
        return TensorShape.of(whole)

    def _sliced_shape(self, operation: Operation, depth: int) -> TensorShape | None:
        """Return the shape whose sizes a StridedSlice selects from a vector of sizes."""
        source = self.shape(operation.inputs[0], depth)
        bounds = [self.value(source_bound) for source_bound in operation.inputs[1:]]
        if source is None or source.sizes is None or any(bound is None for bound in bounds):
            return None
        attrs = operation.attrs
        if attrs["new_axis_mask"] or attrs["ellipsis_mask"] or attrs["shrink_axis_mask"]:
            return None
        begin, end, step = (int(bound[0]) for bound in bounds if bound is not None)
        start = None if attrs["begin_mask"] & 1 else begin
        stop = None if attrs["end_mask"] & 1 else end
        return TensorShape.of(source.sizes[slice(start, stop, step)])


class _ProgramSearch(_Search):
    """A search for `tf.get_static_value`. It evaluates the same op types as TensorFlow 1.15, for
    tensors of any size.
    """

    def _sources(self, tensor: Tensor) -> Sequence[Tensor]:
        operation = tensor.op
        if not _is_static(operation):
            return ()
        return operation.inputs[1:] if operation.type == "Fill" else operation.inputs

    def _evaluate(self, tensor: Tensor) -> NDArray[Any] | None:
        if tensor.op.type != "Fill":
            return super()._evaluate(tensor)
        value = self._values[tensor.op.inputs[1]]
        sizes = tensor.shape.sizes
        if value is None or sizes is None or None in sizes:
            return None
        return np.full([size or 0 for size in sizes], value, value.dtype)


def _is_static(operation: Operation) -> bool:
    """Return whether `_ProgramSearch` evaluates this operation."""
    stacks_deeper = operation.type == "Pack" and operation.attrs["axis"] != 0
    return operation.type in _STATIC and not stacks_deeper


def _is_folded(tensor: Tensor) -> bool:
    """Return whether the search evaluates the op of `tensor`. The op type must be in `_FOLDED`, and
    the tensor must be small.

    Unless the op type is in `_FOLDED_OF_ANY_DTYPE`, the tensor must also hold integers or bools.
    """
    if tensor.op.type not in _FOLDED:
        return False
    discrete = tensor.dtype.is_integer or tensor.dtype.is_bool
    if not discrete and tensor.op.type not in _FOLDED_OF_ANY_DTYPE:
        return False
    count = tensor.shape.num_elements()
    return count is None or count <= _MAX_ELEMENTS


def _cast_from(tensor: Tensor) -> Tensor:
    """Follow identities and casts backwards from `tensor`, and return the tensor at the start of
    this chain.
    """
    for _ in range(_MAX_VISITED):
        if tensor.op.type not in _PASSED_ON and tensor.op.type != "Cast":
            break
        tensor = tensor.op.inputs[0]
    return tensor


def _of_shape(kind: str, shape: TensorShape, dtype: Any) -> NDArray[Any] | None:
    numpy_type = dtype.as_numpy_dtype
    if kind == "Rank":
        return None if shape.sizes is None else np.array(len(shape.sizes), numpy_type)
    if not shape.is_fully_defined():
        return None
    if kind == "Shape":
        return np.array(shape.sizes, numpy_type)
    return np.array(shape.num_elements(), numpy_type)


def _resolve(tensor: Tensor, as_shape: bool) -> Any:
    return constant_value_as_shape(tensor) if as_shape else constant_value(tensor)


register_constant_value(_resolve)
