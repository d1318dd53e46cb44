"""Constants, placeholders, and tensors filled with one value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import ALL, NUMERIC, DType, as_dtype
from gpugraph.base.shapes import TensorShape, as_shape, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, Elementwise, KernelContext, OpMemory
from gpugraph.ops.framework.kernel_helpers import copy_array, numpy_kernels
from gpugraph.ops.framework.numpy_conversion import zero_of
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import int_argument, op_scope
from gpugraph.ops.framework.shape_functions import (
    SCALAR,
    UNKNOWN,
    is_old_scalar,
    of_rank,
    same_shape,
)
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor, infer_const

_SMALL = 1000
"""For fewer elements than this, `zeros` and `ones` add a Const; for more, they add a Fill."""


def _const(context: KernelContext, out: Any) -> Callable[[], Any]:
    value = context.attrs["value"]
    return lambda: np.copyto(out, value)


op(
    "Const",
    outputs="output: dtype",
    attrs={"value": Attr("tensor", required=True), "dtype": ALL},
    infer=infer_const,
    **numpy_kernels(Call(make=_const)),
    grad=NO_GRADIENT,
    doc="A constant. In every run, it has the array of the attr `value`.",
)


def _not_fed(context: KernelContext, *_: Any) -> Callable[[], Any]:
    raise LookupError(f"You must feed a value for placeholder tensor '{context.name}'")


def _infer_placeholder(context: InferContext) -> Sequence[TensorShape]:
    """Return the shape in the attr `shape`.

    In graphs of producer version 21 or less, a scalar shape in the attr, or no shape, means an
    unknown shape.
    """
    shape: TensorShape = context.attrs["shape"]
    return [UNKNOWN if context.producer <= _LAST_OPEN and not shape.sizes else shape]


_LAST_OPEN = 21
_placeholder = op(
    "Placeholder",
    outputs="output: dtype",
    attrs={"dtype": ALL, "shape": Attr("shape", UNKNOWN)},
    infer=_infer_placeholder,
    **numpy_kernels(Call(make=_not_fed)),
    grad=NO_GRADIENT,
    stateful=True,
    doc="A tensor that must be fed in every run that needs it.",
)


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """Add a tensor that is fed in each run.

    `shape` may be partially known.

    A run that needs the tensor but does not feed it raises InvalidArgumentError.

    >>> x = tf.placeholder(tf.float32, [None, 2], name="x")
    >>> session.run(x + 1, {x: [[1, 2]]})
    array([[2., 3.]], dtype=float32)
    """
    return _placeholder(dtype=dtype, shape=as_shape(shape), name=name)


def _infer_with_default(context: InferContext) -> Sequence[TensorShape]:
    shape: TensorShape = context.attrs["shape"]
    shape.assert_is_compatible_with(context.shapes[0])
    return [shape]


_placeholder_with_default = op(
    "PlaceholderWithDefault",
    inputs="input: dtype",
    outputs="output: dtype",
    attrs={"dtype": ALL, "shape": Attr("shape", required=True)},
    infer=_infer_with_default,
    cpu=Call(copy_array),
    elementwise="x",
    grad=lambda op, dy: dy,
    doc="A tensor that a run may feed. In all other runs, it has the value of `input`.",
)


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """Add a tensor that has the value of `input` in each run that does not feed the tensor.

    Raises ValueError if the shape of `input` is not compatible with `shape`.

    Args:
      shape: the shape of the tensor, which may be partially known.
    """
    return _placeholder_with_default(input, shape=as_shape(shape), name=name)


def _fill_with_value(context: KernelContext, value: Any, out: Any) -> Callable[[], Any]:
    del context
    return lambda: out.fill(value.reshape(())[()])


def _infer_fill(context: InferContext) -> Sequence[TensorShape]:
    sizes, dims, value = context.shapes[0].sizes, context.value(0), context.shapes[1]
    if sizes != () or context.is_building:
        of_rank(context.shapes[0], 1, "dims")
    if dims is not None and (dims < 0).any():
        raise ValueError(f"Sizes must be >= 0, but they are {dims.tolist()}")
    if not (value.is_compatible_with(SCALAR) or is_old_scalar(context, 1)):
        raise ValueError(f"The value must be a scalar, but its shape is {shape_text(value)}")
    if sizes == ():
        return [TensorShape.of((None if dims is None else int(dims),))]
    return [context.value_as_shape(0)]


def _fill_gradient(op: Any, dy: Any) -> list[Any]:
    return [None, raw_ops.Sum(dy, raw_ops.Range(0, raw_ops.Rank(dy), 1))]


_fill = op(
    "Fill",
    inputs="dims: index_type, value: T",
    outputs="output: T",
    attrs={"T": ALL, "index_type": (dtypes.int32, dtypes.int64)},
    infer=_infer_fill,
    memory=OpMemory(host_inputs=[0]),
    cpu=Call(make=_fill_with_value),
    gpu=Elementwise("x", Call(make=_fill_with_value)),
    grad=_fill_gradient,
    doc="A tensor of shape `dims`. All its elements are equal to the scalar `value`.",
)


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """Return a tensor of shape `dims`, an int vector, filled with the scalar `value`.

    >>> session.run(tf.fill([2], 7))
    array([7, 7], dtype=int32)
    """
    return _fill(int_argument(dims), value, name=name)


def _clear(x: Any, out: Any) -> None:
    if out.size and out.dtype.hasobject and hasattr(first := x.flat[0], "zero"):
        out[...] = np.frompyfunc(type(first).zero, 1, 1)(x)
    else:
        out.fill(zero_of(out.dtype))


def _fill_with_ones(_: Any, out: Any) -> None:
    out.fill(1)


def _zeros_like_gradient(op: Any, dy: Any) -> list[Any]:
    del op, dy
    return [None]


_LIKE: dict[str, Any] = {
    "inputs": "x: T",
    "outputs": "y: T",
    "infer": same_shape(0),
    "grad": _zeros_like_gradient,
}
_zeros_like = op(
    "ZerosLike",
    **_LIKE,
    attrs={"T": ALL},
    cpu=Call(_clear),
    elementwise="(T)0",
    doc="Zeros (empty strings) of the shape and dtype of x.",
)
_ones_like = op(
    "OnesLike",
    **_LIKE,
    attrs={"T": (*NUMERIC, dtypes.bool)},
    cpu=Call(_fill_with_ones),
    elementwise="(T)1",
    doc="Ones of the shape and dtype of x.",
)


def _element(value: int, dtype: DType) -> Any:
    """Return 0 or 1 as a Python value of `dtype`: a bool for bool, b"" for string, otherwise an
    int.

    Raises TypeError if `dtype` is string and the value is 1.
    """
    if dtype is dtypes.string:
        if value:
            raise TypeError("There are no ones of dtype string")
        return b""
    return bool(value) if dtype is dtypes.bool else value


def _filled(shape: Any, value: int, dtype: DType, name: str | None, default: str) -> Tensor:
    element = _element(value, dtype)
    with op_scope(name, default, shape) as scope:
        if not isinstance(shape, Tensor):
            try:
                sizes = as_shape(shape)
            except (TypeError, ValueError):
                sizes = UNKNOWN
            count = sizes.num_elements()
            if count is not None:
                if count < _SMALL:
                    return constant(element, dtype, sizes, scope)
                shape = convert_to_tensor(sizes)
        if isinstance(shape, Tensor) and not shape.shape.sizes:  # one size is a scalar too
            shape = raw_ops.Reshape(shape, np.array([-1], np.int32))
        return fill(shape, constant(element, dtype), name=scope)


def zeros(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """Return a tensor of zeros. If `dtype` is string, its elements are empty strings.

    `shape` is a TensorShape, an int vector, or a scalar, which is the size of a vector.

    >>> session.run(tf.zeros([3], tf.int32))
    array([0, 0, 0], dtype=int32)
    """
    return _filled(shape, 0, as_dtype(dtype).base_dtype, name, "zeros")


def ones(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """Return a tensor of ones.

    `shape` is a TensorShape, an int vector, or a scalar, which is the size of a vector. Raises
    TypeError if `dtype` is string.

    >>> session.run(tf.ones([2, 2]))
    array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return _filled(shape, 1, as_dtype(dtype).base_dtype, name, "ones")


def _like(tensor: Any, dtype: Any, name: str | None, optimize: bool, value: int) -> Tensor:
    default = "ones_like" if value else "zeros_like"
    with op_scope(name, default, tensor) as scope:
        source = convert_to_tensor(tensor, name="tensor")
        element = source.dtype.base_dtype if dtype is None else as_dtype(dtype).base_dtype
        if (
            element is dtypes.variant and not value
        ):  # a zero that has the type of the value in the variant
            return _zeros_like(source, name=scope)
        if optimize and source.shape.is_fully_defined():
            return _filled(source.shape, value, element, scope, default)
        if element is not source.dtype.base_dtype:
            return _filled(raw_ops.Shape(source), value, element, scope, default)
        return (_ones_like if value else _zeros_like)(source, name=scope)


def zeros_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Return zeros of the shape of `tensor`. The dtype of the result is `dtype`, by default the
    dtype of `tensor`.

    Args:
      optimize: whether to add a constant instead of a ZerosLike op if the shape is known and small.

    >>> session.run(tf.zeros_like([[1.5, 2.5]]))
    array([[0., 0.]], dtype=float32)
    """
    return _like(tensor, dtype, name, optimize, 0)


def ones_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Return ones of the shape of `tensor`. The dtype of the result is `dtype`, by default the
    dtype of `tensor`.

    Args:
      optimize: whether to add a constant instead of a OnesLike op if the shape is known and small.

    >>> session.run(tf.ones_like([1.5, 2.5]))
    array([1., 1.], dtype=float32)
    """
    return _like(tensor, dtype, name, optimize, 1)
