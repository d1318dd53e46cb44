"""Identity ops, and ops that read the shape of a tensor but not its elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import ALL, as_dtype
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.default_stacks import traced_graph
from gpugraph.graph.client.resource_handles import handle_maker, value_static_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, OpMemory
from gpugraph.ops.framework.composite_tensors import Composite, SparseTensorValue, of_parts
from gpugraph.ops.framework.kernel_helpers import copy_array, numpy_kernels, run_all
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op, raw_ops
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.public_function import InputFunction, public_function
from gpugraph.ops.framework.shape_functions import same_shape, scalar
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray


# -- identities


def _same(op_type: str, grad: Any, doc: str, **attrs: Any) -> OpFunction:
    """Declare an op whose output is a view of its input.

    The op copies its input only if the memory can't be shared.
    """
    return op(
        op_type,
        inputs="input: T",
        outputs="output: T",
        attrs={"T": ALL, **attrs},
        infer=same_shape(0),
        memory=OpMemory(view={0: 0}),
        cpu=Call(copy_array),
        elementwise="x",
        grad=grad,
        doc=doc,
    )


identity: InputFunction = of_parts(
    public_function(
        _same(
            "Identity",
            lambda op, dy: dy,
            "A tensor of the same shape, dtype and elements as `input`.",
        )
    )
)
stop_gradient: InputFunction = of_parts(
    public_function(
        _same("StopGradient", lambda op, dy: [None], "`input`, a constant to gradients.")
    )
)


def _refuse_gradient(op: Any, dy: Any) -> Any:
    del dy
    raise LookupError(f"Gradient explicitly disabled. Reason: {op.attrs['message']} ('{op.name}')")


_prevent_gradient = _same(
    "PreventGradient",
    _refuse_gradient,
    "The input, unchanged; a gradient through it raises LookupError.",
    message=Attr("string", ""),
)


def prevent_gradient(input: Any, message: str = "", name: str | None = None) -> Tensor:
    """Return `input`. Building a gradient through this op raises LookupError with `message`."""
    return _prevent_gradient(input, message=message, name=name)


# -- shapes


def _writes(make: Callable[[tuple[int, ...]], Any]) -> Call:
    """Return a NumPy kernel that writes `make(shape)` into each output, where `shape` is the shape
    of the corresponding input.
    """

    def bind(context: KernelContext, *arrays: Any) -> Callable[[], Any]:
        outputs = arrays[len(context.input_shapes) :]
        copies = [
            partial(np.copyto, out, np.asarray(make(tuple(sizes)), dtype.as_numpy_dtype))
            for out, sizes, dtype in zip(
                outputs, context.input_shapes, context.output_types, strict=True
            )
        ]
        return run_all(copies)

    return Call(make=bind)


def _element_count(sizes: tuple[int, ...]) -> NDArray[Any]:
    return np.prod(np.array(sizes, np.int64), dtype=np.int64)  # type: ignore[return-value]


def _infer_shape(context: InferContext) -> Sequence[TensorShape]:
    return [
        TensorShape.of((None if known.sizes is None else len(known.sizes),))
        for known in context.shapes
    ]


_OUT_TYPE = Attr("type", dtypes.int32, allowed=(dtypes.int32, dtypes.int64))


def _shape_op(op_type: str, input: str, output: str, infer: Any, write: Any, doc: str) -> Any:
    """Declare an op that returns `write(shape)` for the shape of each input. The outputs are in
    host memory.
    """
    is_typed = "out_type" in output
    return op(
        op_type,
        inputs=f"input: {input}",
        outputs=f"output: {output}",
        attrs={"T": ALL, **({"out_type": _OUT_TYPE} if is_typed else {})},
        infer=infer,
        **numpy_kernels(_writes(write)),
        memory=OpMemory(host_outputs=[0]),
        grad=NO_GRADIENT,
        doc=doc,
    )


_SIZES = (_infer_shape, lambda sizes: sizes)
_shape = _shape_op("Shape", "T", "out_type", *_SIZES, "The sizes of the input, a vector.")
_shape_n = _shape_op(
    "ShapeN", "N * T", "N * out_type", *_SIZES, "The sizes of each of N inputs, N vectors."
)
_size = _shape_op(
    "Size", "T", "out_type", scalar, _element_count, "The number of elements of the input."
)
_rank = _shape_op("Rank", "T", "int32", scalar, len, "The number of dimensions of the input.")


def shape(
    input: Any, name: str | None = None, out_type: Any = dtypes.int32, optimize: bool = True
) -> Tensor:
    """Return the shape of `input` as an int vector.

    Args:
      optimize: whether to return a constant if the shape is fully known.

    >>> x = tf.placeholder(tf.float32, [None, 3])
    >>> session.run(tf.shape(x), {x: np.ones((2, 3))})
    array([2, 3], dtype=int32)
    """
    element = as_dtype(out_type)
    if isinstance(input, (Composite, SparseTensorValue)):
        with op_scope(name, "Shape", input.dense_shape):
            return _sizes_as(input, element)
    source = convert_to_tensor(input, name="input")
    sizes = source.shape.sizes
    if optimize and sizes is not None and None not in sizes:
        values = np.array(sizes, np.int64)
        if np.array_equal(
            values.astype(element.as_numpy_dtype), values
        ):  # only if all sizes fit the dtype
            with traced_graph(source.graph).as_default():
                return constant(values.astype(element.as_numpy_dtype), name=name or "Shape")
    return _shape(source, out_type=element, name=name)


def _sizes_as(sparse: Composite | SparseTensorValue, dtype: Any) -> Tensor:
    sizes = convert_to_tensor(sparse.dense_shape, dtypes.int64)
    if sizes.dtype.base_dtype is dtype:
        return sizes
    return raw_ops.Cast(sizes, DstT=dtype)


def value_shape(tensor: Tensor, optimize: bool = True) -> Tensor:
    """Return the shape of a tensor. For the handle of a resource variable, return the shape of the
    variable.
    """
    if handle_maker(tensor) is None:
        return shape(tensor, optimize=optimize)
    sizes = value_static_shape(tensor).sizes
    if optimize and sizes is not None and None not in sizes:
        return constant(np.array(sizes, np.int32))
    return raw_ops.VariableShape(tensor)


def shape_n(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> list[Tensor]:
    """Return the shapes of several tensors of the same dtype, as a list of int vectors."""
    return _shape_n(input, out_type=out_type, name=name)


def size(input: Any, name: str | None = None, out_type: Any = dtypes.int32) -> Tensor:
    """Return the number of elements of `input` as an int scalar, which is a constant if the number
    is known.

    >>> session.run(tf.size([[1, 2, 3], [4, 5, 6]]))
    np.int32(6)
    """
    element = as_dtype(out_type)
    if isinstance(input, (Composite, SparseTensorValue)):
        with op_scope(name, "Size", input.dense_shape) as scope:
            sizes = _sizes_as(input, element)
            return raw_ops.Prod(sizes, np.array([0], np.int32), name=scope)
    source = convert_to_tensor(input, name="input")
    count = source.shape.num_elements()
    if count is not None:
        with traced_graph(source.graph).as_default():
            return constant(count, element, name=name or "Size")
    return _size(source, out_type=element, name=name)


def rank(input: Any, name: str | None = None) -> Tensor:
    """Return the rank of `input` as an int32 scalar, which is a constant if the rank is known.

    >>> session.run(tf.rank([[1, 2]]))
    np.int32(2)
    """
    if isinstance(input, (Composite, SparseTensorValue)):
        return _size(input.dense_shape, name=name or "Rank")
    source = convert_to_tensor(input, name="input")
    if source.shape.sizes is not None:
        with traced_graph(source.graph).as_default():
            return constant(len(source.shape.sizes), dtypes.int32, name=name or "Rank")
    return _rank(source, name=name)
