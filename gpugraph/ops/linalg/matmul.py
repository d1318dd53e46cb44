"""Matrix products, products of batches of matrices, and transposes of matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.dtypes import COMPLEX, FLOATING, float32, int32, int64
from gpugraph.base.misfit import Misfit
from gpugraph.base.shapes import TensorShape, broadcast_shapes, shape_text
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, KernelContext, MatrixProducts, Signature
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.framework.kernel_helpers import run_all
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.shape_functions import UNKNOWN, of_rank
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor

_FEW_HALVES = 1024
"""The number of elements below which NumPy converts float16 as fast as a C function."""

_TYPES = (*FLOATING, int32, int64, *COMPLEX)


def _check_inner(left: int | None, right: int | None, operands: Sequence[TensorShape]) -> None:
    if left is not None and right is not None and left != right:
        first, second = map(shape_text, operands[:2])
        raise Misfit(
            f"Dimensions must be equal, but are {left} and {right}",
            in_run=f"Matrix size-incompatible: In[0]: {first}, In[1]: {second}",
        )


# -- two matrices


def infer_matmul(context: InferContext) -> Sequence[TensorShape]:
    """Return the shape of the product of inputs 0 and 1.

    Any further inputs of fused ops are ignored.
    """
    a, b = [of_rank(shape, 2, "A matrix") for shape in context.shapes[:2]]
    rows, left = a[::-1] if context.attrs["transpose_a"] else a
    right, columns = b[::-1] if context.attrs["transpose_b"] else b
    _check_inner(left, right, context.shapes)
    return [TensorShape.of((rows, columns))]


def matrices_of(signature: Signature, a: Any, b: Any, out: Any) -> list[tuple[Any, Any, Any]]:
    """Return a list of one triple (left factor, right factor, product) of views of a MatMul's
    arrays.
    """
    left = a.T if signature.attrs["transpose_a"] else a
    right = b.T if signature.attrs["transpose_b"] else b
    return [(left, right, out)]


def bind_matmul(context: KernelContext, a: Any, b: Any, out: Any) -> Callable[[], Any]:
    """Bind the NumPy call that computes a MatMul."""
    [matrices] = matrices_of(context, a, b, out)
    return _bind_product(context, *matrices)


def _bind_product(context: KernelContext, left: Any, right: Any, out: Any) -> Callable[[], Any]:
    """Bind the call that computes out = left @ right.

    NumPy has no fast product for float16. Factors of float16 are therefore converted to float32,
    and the float32 result is rounded once, as in TensorFlow.
    """
    if out.dtype != np.float16 or not isinstance(out, np.ndarray):
        return partial(np.matmul, left, right, out)
    wide = [_wide_like(context, array) for array in (left, right, out)]
    return run_all(
        [
            _conversion(context, "gg_widen", left, wide[0]),
            _conversion(context, "gg_widen", right, wide[1]),
            partial(np.matmul, *wide),
            _conversion(context, "gg_narrow", wide[2], out),
        ]
    )


def _is_transposed(array: Any) -> bool:
    return array.ndim == 2 and not array.flags.c_contiguous and array.T.flags.c_contiguous


def _wide_like(context: KernelContext, array: Any) -> Any:
    """Return a float32 scratch array with the shape of `array`. If `array` is transposed in memory,
    so is the scratch array.
    """
    if _is_transposed(array):
        return context.scratch(array.T.shape, float32).T
    return context.scratch(array.shape, float32)


def _conversion(
    context: KernelContext, function: str, source: Any, target: Any
) -> Callable[[], Any]:
    """Return a call that converts float16 to float32 (`gg_widen`) or back (`gg_narrow`). If both
    arrays are contiguous, the call uses native code once that is compiled.
    """
    copy = partial(np.copyto, target, source, casting="same_kind")
    if _is_transposed(source):
        source, target = source.T, target.T
    if source.size < _FEW_HALVES or not source.flags.c_contiguous:
        return copy
    compiled = context.compiled("host_half.h", "float32")
    call: Callable[[], Any] | None = None

    def run() -> None:
        nonlocal call
        if call is None:
            file = compiled(0.0)
            if file is None:
                copy()
                return
            call = file.bind(function, [source.size, 0], [source, target], dtype="float32")
        call()

    return run


def _matmul_back(op: Any, dy: Any) -> list[Any]:
    def product(left: Any, right: Any, trans_left: bool, trans_right: bool) -> Any:
        return raw_ops.MatMul(left, right, transpose_a=trans_left, transpose_b=trans_right)

    a, b = map(conj, op.inputs)
    return _factor_gradients(product, a, b, dy, op.attrs["transpose_a"], op.attrs["transpose_b"])


def _factor_gradients(
    product: Callable[..., Any], a: Any, b: Any, dy: Any, trans_a: bool, trans_b: bool
) -> list[Any]:
    """Return the gradients of the two factors.

    Args:
      product: a function that adds a product, given two factors and whether each is transposed.
      trans_a, trans_b: whether the forward op transposes its factors.
    """
    da = product(b, dy, trans_b, True) if trans_a else product(dy, b, False, not trans_b)
    db = product(dy, a, True, trans_a) if trans_b else product(a, dy, not trans_a, False)
    return [da, db]


matmul_op = op(
    "MatMul",
    inputs="a: T, b: T",
    outputs="product: T",
    attrs={"transpose_a": Attr("bool", False), "transpose_b": Attr("bool", False), "T": _TYPES},
    infer=infer_matmul,
    cpu=Call(make=bind_matmul),
    gpu=Call(make=bind_matmul),
    native=MatrixProducts(matrices_of),
    grad=_matmul_back,
    doc="The product of two matrices. Each is transposed first if its attr is true.",
)


# -- batches of matrices


def infer_batch_matmul(context: InferContext) -> Sequence[TensorShape]:
    """Return the shape of the products of inputs 0 and 1. Any further inputs of fused ops are
    ignored.
    """
    x, y = (shape.with_rank_at_least(2) for shape in context.shapes[:2])
    if x.sizes is None or y.sizes is None:
        return [UNKNOWN]
    rows, left = x.sizes[-2:][::-1] if context.attrs["adj_x"] else x.sizes[-2:]
    right, columns = y.sizes[-2:][::-1] if context.attrs["adj_y"] else y.sizes[-2:]
    _check_inner(left, right, context.shapes)
    return [broadcast_shapes(x[:-2], y[:-2]) + TensorShape.of((rows, columns))]


def bind_batch_matmul(context: KernelContext, x: Any, y: Any, out: Any) -> Callable[[], Any]:
    """Bind the NumPy call that computes a BatchMatMulV2."""
    conjugates: list[Callable[[], Any]] = []

    def operand(array: Any, index: int, adjoint: bool) -> Any:
        dtype = context.input_types[index].base_dtype
        if adjoint and dtype.is_complex:
            copy = context.scratch(array.shape, dtype)
            conjugates.append(partial(np.conjugate, array, copy))
            array = copy
        return array.swapaxes(-1, -2) if adjoint else array

    left = operand(x, 0, context.attrs["adj_x"])
    right = operand(y, 1, context.attrs["adj_y"])
    product = _bind_product(context, left, right, out)
    if not conjugates:
        return product

    def run() -> None:
        for conjugate in conjugates:
            conjugate()
        product()

    return run


def batches_of_matrices(
    signature: Signature, x: Any, y: Any, out: Any
) -> list[tuple[Any, Any, Any]]:
    """Return a list of one triple (left factors, right factors, products) of views of the arrays.

    Raises NotImplementedError if an adjoint of complex matrices is needed, because it is not a
    view.
    """

    def operand(array: Any, index: int, adjoint: bool) -> Any:
        if adjoint and signature.input_types[index].is_complex:
            raise NotImplementedError("the adjoint of a complex matrix is not a view")
        matrix = array.swapaxes(-1, -2) if adjoint else array
        return np.broadcast_to(matrix, (*out.shape[:-2], *matrix.shape[-2:]))

    left = operand(x, 0, signature.attrs["adj_x"])
    return [(left, operand(y, 1, signature.attrs["adj_y"]), out)]


def _batch_matmul_back(op: Any, dy: Any) -> list[Any]:
    def product(left: Any, right: Any, adjoint_left: bool, adjoint_right: bool) -> Any:
        return raw_ops.BatchMatMulV2(left, right, adj_x=adjoint_left, adj_y=adjoint_right)

    x, y = op.inputs
    adjoints = op.attrs["adj_x"], op.attrs["adj_y"]
    x_gradient, y_gradient = _factor_gradients(product, x, y, dy, *adjoints)
    return _unbroadcast_batches(x_gradient, y_gradient, x, y)


def _unbroadcast_batches(dx: Any, dy: Any, x: Tensor, y: Tensor) -> list[Any]:
    """Return the gradients of both operands, each summed over the batch axes along which the
    operand was broadcast.
    """
    x_batch, y_batch = x.shape[:-2], y.shape[:-2]
    if x_batch.is_fully_defined() and y_batch.is_fully_defined() and x_batch == y_batch:
        return [dx, dy]
    x_shape, y_shape = raw_ops.Shape(x), raw_ops.Shape(y)
    x_axes, y_axes = raw_ops.BroadcastGradientArgs(x_shape[:-2], y_shape[:-2])
    return [
        raw_ops.Reshape(raw_ops.Sum(dx, x_axes), x_shape),
        raw_ops.Reshape(raw_ops.Sum(dy, y_axes), y_shape),
    ]


batch_matmul_op = op(
    "BatchMatMulV2",
    inputs="x: T, y: T",
    outputs="output: T",
    attrs={"T": _TYPES, "adj_x": Attr("bool", False), "adj_y": Attr("bool", False)},
    infer=infer_batch_matmul,
    cpu=Call(make=bind_batch_matmul),
    gpu=Call(make=bind_batch_matmul),
    native=MatrixProducts(batches_of_matrices),
    grad=_batch_matmul_back,
    doc=(
        "Matrix products over the last two axes. All other axes are broadcast. adj_x and adj_y "
        "replace a factor with its adjoint."
    ),
)


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the product of the matrices in the last two axes. Leading axes are broadcast.

    Each operand may first be transposed, or transposed and conjugated (adjoint).

    Raises ValueError if the inner sizes differ, if a rank is below 2, or if both the transpose and
    the adjoint of an operand are requested.

    Args:
      a_is_sparse, b_is_sparse: ignored.

    >>> session.run(tf.matmul([[1, 2], [3, 4]], [[1], [1]]))
    array([[3],
           [7]], dtype=int32)
    """
    del a_is_sparse, b_is_sparse
    if transpose_a and adjoint_a:
        raise ValueError("Only one of transpose_a and adjoint_a can be True.")
    if transpose_b and adjoint_b:
        raise ValueError("Only one of transpose_b and adjoint_b can be True.")
    if type(a) is Tensor and type(b) is Tensor:
        return _product(a, b, (transpose_a, adjoint_a), (transpose_b, adjoint_b), name or "MatMul")
    with op_scope(name, "MatMul", a, b) as scope:
        dtype = getattr(b, "dtype", None) if isinstance(b, Tensor) else None
        left = convert_to_tensor(a, name="a", dtype_hint=dtype and dtype.base_dtype)
        right = convert_to_tensor(b, name="b", dtype_hint=left.dtype.base_dtype)
        return _product(left, right, (transpose_a, adjoint_a), (transpose_b, adjoint_b), scope)


def _product(
    a: Tensor, b: Tensor, flags_a: tuple[bool, bool], flags_b: tuple[bool, bool], name: str
) -> Tensor:
    """Add the product of `a` and `b`.

    Args:
      flags_a, flags_b: for each operand, whether to transpose it, and whether to use its adjoint.
    """
    left, right = a._shape.sizes, b._shape.sizes
    if left is not None and right is not None and len(left) <= 2 and len(right) <= 2:
        if flags_a == flags_b == (False, False):
            return matmul_op(a, b, name=name)
        if flags_a[1]:
            a = conj(a)
        if flags_b[1]:
            b = conj(b)
        return matmul_op(a, b, transpose_a=any(flags_a), transpose_b=any(flags_b), name=name)
    if flags_a[0]:
        a = conj(a)
    if flags_b[0]:
        b = conj(b)
    return batch_matmul_op(a, b, adj_x=any(flags_a), adj_y=any(flags_b), name=name)


# -- transposes


def matrix_transpose(
    a: Any, name: str | None = "matrix_transpose", conjugate: bool = False
) -> Tensor:
    """Transpose the last two axes of `a`. If `conjugate` is true, also conjugate its elements.

    Raises ValueError if `a` has fewer than two axes.
    """
    with op_scope(name, "matrix_transpose", a):
        source = convert_to_tensor(a, name="a")
        rank = source.shape.rank
        perm: Any
        if rank is None:
            count = raw_ops.Rank(source)
            others = raw_ops.Range(0, raw_ops.Sub(count, 2), 1)
            last = raw_ops.Pack([raw_ops.Sub(count, 1), raw_ops.Sub(count, 2)])
            perm = raw_ops.ConcatV2([others, last], 0)
        elif rank < 2:
            raise ValueError(
                "Argument 'a' should be a (batch) matrix, with rank >= 2.  Received 'a' = "
                f"{source} with shape: {source.shape}"
            )
        else:
            perm = [*range(rank - 2), rank - 1, rank - 2]
        turned = conj(source) if conjugate else source
        return raw_ops.Transpose(turned, perm, name="transpose")
