"""What a tensor's value is before anything runs, where that follows from constants.

Shape inference asks for it: the axis of a sum, the sizes of a reshape. Small integer and bool ops
whose inputs are constant are evaluated by their own CPU kernels; shapes of known tensors count as
constants. Where only some sizes are known, `as_shape` still gives those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugraph.graph.client import CONSTANT_VALUE
from gpugraph.graph.tensor import Tensor
from gpugraph.ops.declare import DECLARATIONS
from gpugraph.ops.evaluate import evaluate
from gpugraph.shapes import TensorShape

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["constant_value", "constant_value_as_shape"]

_FOLDED = {
    "Add", "AddV2", "Sub", "Mul", "FloorDiv", "FloorMod", "RealDiv", "Maximum", "Minimum", "Neg",
    "Cast", "ConcatV2", "Pack", "Range", "Reshape", "Slice", "StridedSlice", "GatherV2", "Prod",
    "Sum", "ExpandDims", "Squeeze", "Equal", "NotEqual", "Less", "LessEqual", "Greater",
    "GreaterEqual", "Fill", "BroadcastGradientArgs", "DynamicStitch", "InvertPermutation",
    "LogicalAnd", "LogicalOr", "LogicalNot", "Select", "ZerosLike", "OnesLike", "ConcatOffset",
}  # fmt: skip
_PASSED_ON = {"Identity", "StopGradient", "PreventGradient"}
_LARGEST = 1024
_DEEPEST = 64


def constant_value(tensor: Tensor, partial: bool = False) -> NDArray[Any] | None:
    """The array that `tensor` holds at every run, or None where that isn't known."""
    del partial
    if tensor.op.type == "Const":
        value: NDArray[Any] = tensor.op.attrs["value"]
        return value
    return _value(tensor, _DEEPEST)


def _value(tensor: Tensor, depth: int) -> NDArray[Any] | None:
    maker = tensor.op
    if maker.type == "Const":
        value: NDArray[Any] = maker.attrs["value"]
        return value
    if depth == 0:
        return None
    if maker.type in _PASSED_ON:
        return _value(maker.inputs[0], depth - 1)
    if maker.type in ("Shape", "Size", "Rank"):
        return _of_shape(maker.type, maker.inputs[0].shape, tensor.dtype)
    if maker.type not in _FOLDED or not _is_small(tensor):
        return None
    values = []
    for source in maker.inputs:
        value_in = _value(source, depth - 1)
        if value_in is None:
            return None
        values.append(value_in)
    found = evaluate(DECLARATIONS[maker.type].op_def, maker.attrs, values)
    return None if found is None else found[tensor.value_index]


def _is_small(tensor: Tensor) -> bool:
    if not (tensor.dtype.is_integer or tensor.dtype.is_bool):
        return False
    count = tensor.shape.num_elements()
    return count is None or count <= _LARGEST


def _of_shape(kind: str, shape: TensorShape, dtype: Any) -> NDArray[Any] | None:
    numpy_type = dtype.as_numpy_dtype
    if kind == "Rank":
        return None if shape.sizes is None else np.array(len(shape.sizes), numpy_type)
    if not shape.is_fully_defined():
        return None
    if kind == "Shape":
        return np.array(shape.sizes, numpy_type)
    return np.array(shape.num_elements(), numpy_type)


def constant_value_as_shape(tensor: Tensor) -> TensorShape | None:
    """What is known of a vector of sizes as a shape; None where nothing is."""
    maker = tensor.op
    if maker.type == "Shape":
        return maker.inputs[0].shape
    if maker.type in _PASSED_ON or maker.type == "Cast":
        return constant_value_as_shape(maker.inputs[0])
    if maker.type == "Pack":
        return TensorShape.of(tuple(_size(source) for source in maker.inputs))
    if maker.type == "ConcatV2":
        return _concatenated(maker.inputs[:-1])
    if maker.type == "StridedSlice":
        return _sliced(maker)
    return None


def _size(tensor: Tensor) -> int | None:
    """One size, where it is constant or an element of a partly known shape."""
    value = constant_value(tensor)
    if value is not None:
        size = int(value.reshape(()))
        return None if size < 0 else size
    if tensor.op.type in _PASSED_ON or tensor.op.type == "Cast":
        return _size(tensor.op.inputs[0])
    return None


def _concatenated(parts: Any) -> TensorShape | None:
    whole: tuple[int | None, ...] = ()
    for part in parts:
        value = constant_value(part)
        if value is not None:
            whole += tuple(None if size < 0 else int(size) for size in value.tolist())
            continue
        shape = constant_value_as_shape(part)
        if shape is None or shape.sizes is None:
            return None
        whole += shape.sizes
    return TensorShape.of(whole)


def _sliced(maker: Any) -> TensorShape | None:
    """`shape[begin:end]` of a partly known shape."""
    source = constant_value_as_shape(maker.inputs[0])
    bounds = [constant_value(each) for each in maker.inputs[1:]]
    if source is None or source.sizes is None or any(bound is None for bound in bounds):
        return None
    attrs = maker.attrs
    if attrs["new_axis_mask"] or attrs["ellipsis_mask"] or attrs["shrink_axis_mask"]:
        return None
    begin, end, step = (int(bound[0]) for bound in bounds if bound is not None)
    start = None if attrs["begin_mask"] & 1 else begin
    stop = None if attrs["end_mask"] & 1 else end
    return TensorShape.of(source.sizes[slice(start, stop, step)])


def _resolve(tensor: Tensor, as_shape: bool) -> Any:
    return constant_value_as_shape(tensor) if as_shape else constant_value(tensor)


CONSTANT_VALUE[:] = [_resolve]
