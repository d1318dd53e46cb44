"""Ops that combine sparse and dense tensors: SparseToDense, products, sums and elementwise ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.dtypes import ALL, COMPLEX, NUMERIC, bfloat16, float16, float32, float64, int32
from gpugraph.base.errors import invalid_argument
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Arg, Call, KernelContext, Launch, OpMemory, Signature, Source
from gpugraph.ops.arrays.reshape_and_transpose import INDEX
from gpugraph.ops.elementwise.complex_conjugate import conj
from gpugraph.ops.framework.kernel_helpers import ints
from gpugraph.ops.framework.op_declaration import Attr, op, raw_ops
from gpugraph.ops.framework.row_update_launches import (
    check_order,
    keep_last,
    sort_changes,
    spread_value,
)
from gpugraph.ops.framework.shape_functions import of_rank
from gpugraph.ops.indexing.coordinate_gather_scatter import combine_rows
from gpugraph.ops.linalg.matmul import matrix_transpose
from gpugraph.ops.sparse.native_sparse_sources import dense_sum, sparse_product, to_dense
from gpugraph.ops.sparse.sparse_positions import (
    PARTS,
    check_increasing,
    check_parts,
    positions,
    sparse_op,
)

# -- dense


def _infer_to_dense(context: InferContext) -> Sequence[TensorShape]:
    indices, values = context.shapes[0].sizes, context.shapes[2].sizes
    of_rank(context.shapes[3], 0, "default_value")
    shape = context.value_as_shape(1)
    if indices is not None and len(indices) > 2:
        raise ValueError(
            f"sparse_indices must be of rank 2 at most, but is {shape_text(context.shapes[0])}"
        )
    if values is not None and len(values) > 1:
        raise ValueError(
            f"sparse_values must be of rank 1 at most, but is {shape_text(context.shapes[2])}"
        )
    if indices and values and None not in (indices[0], values[0]) and indices[0] != values[0]:
        raise ValueError(f"There are {indices[0]} indices for {values[0]} values")
    columns = indices[1] if indices is not None and len(indices) == 2 else None
    if columns is not None and shape.rank not in (None, columns):
        raise ValueError(f"Indices of {columns} columns don't fit the shape {shape_text(shape)}")
    return [shape]


def _bind_to_dense(
    context: KernelContext, indices: Any, values: Any, default: Any, out: Any
) -> Callable[[], Any]:
    rows = indices if indices.ndim == 2 else indices.reshape(indices.size, 1)
    validate, shape = context.attrs["validate_indices"], ints(context.value(1))
    if any(size < 0 for size in shape):
        raise invalid_argument(f"output_shape can't be negative, but is {shape_text(shape)}")
    flat = out.reshape(-1)

    def run() -> None:
        numbers = positions(rows, shape)
        if validate:
            check_increasing(rows, numbers)
        np.copyto(out, default)
        flat[numbers] = values

    return run


def _launch_to_dense(signature: Signature) -> list[Launch]:
    indices, sizes = signature.input_shapes[0], signature.output_shapes[0]
    depth = indices[1] if len(indices) == 2 else 1
    if depth != len(sizes):
        raise NotImplementedError(f"indices have {depth} columns for {len(sizes)} dimensions")
    count, dtype = prod(indices) // depth, signature.output_types[0]
    step = int(prod(signature.input_shapes[2]) == count)
    index_type = signature.input_types[0]
    order, changes = sort_changes(Arg(0), index_type, count, 1, sizes, step=step)
    launches = [*order, spread_value(Arg(2), Arg(3), prod(sizes), dtype)]
    if signature.attrs["validate_indices"]:
        message = "indices are out of order or repeated; see tf.sparse.reorder"
        launches.append(check_order(changes, message))
    return launches + keep_last(Arg(3), Arg(1), changes, dtype)


def _to_dense_back(op: Any, dy: Any) -> list[Any]:
    indices, _, values, _ = op.inputs
    rank = indices.shape.rank
    if rank is None or rank < 2:
        count = np.array([1, -1] if rank == 0 else [-1, 1], np.int32)
        if rank is None:
            columns = raw_ops.Size(op.inputs[1])
            count = raw_ops.Pack([np.array(-1, np.int32), columns])
        indices = raw_ops.Reshape(indices, count)
    gathered = raw_ops.GatherNd(dy, indices)
    others = raw_ops.Sub(_total(dy), _total(gathered))
    if values.shape.rank == 1:
        return [None, None, gathered, others]
    axes, _ = raw_ops.BroadcastGradientArgs(raw_ops.Shape(values), raw_ops.Shape(gathered))
    shared = raw_ops.Reshape(raw_ops.Sum(gathered, axes), raw_ops.Shape(values))
    return [None, None, shared, others]


def _total(tensor: Any) -> Any:
    flat = raw_ops.Reshape(tensor, np.array([-1], np.int32))
    return raw_ops.Sum(flat, np.array([0], np.int32))


sparse_to_dense_op = op(
    "SparseToDense",
    inputs="sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, default_value: T",
    outputs="dense: T",
    attrs={"validate_indices": Attr("bool", True), "T": ALL, "Tindices": INDEX},
    infer=_infer_to_dense,
    memory=OpMemory(host_inputs=[1]),
    cpu=Call(make=_bind_to_dense),
    gpu=Source("row_gather_and_put.cu", _launch_to_dense, Call(make=_bind_to_dense)),
    native=to_dense(),
    grad=_to_dense_back,
    doc=(
        "dense[sparse_indices[i]] = sparse_values[i] (or the single value), and default_value "
        "elsewhere. Raises InvalidArgumentError if indices are out of bounds. If validate_indices "
        "is true, also raises it if indices are out of order or repeated."
    ),
)

# -- products


def _infer_product(context: InferContext) -> Sequence[TensorShape]:
    check_parts(context)
    sizes = context.value_as_shape(2).sizes
    rows, inner = of_rank(TensorShape.of(sizes), 2, "A sparse matrix")
    left, right = of_rank(context.shapes[3], 2, "A dense matrix")
    if context.attrs["adjoint_a"]:
        rows, inner = inner, rows
    if context.attrs["adjoint_b"]:
        left, right = right, left
    if inner is not None and left is not None and inner != left:
        raise ValueError(
            f"Cannot multiply A and B because inner dimension does not match: {inner} vs. {left}"
        )
    return [TensorShape.of((rows, right))]


def _bind_product(
    context: KernelContext, indices: Any, values: Any, b: Any, out: Any
) -> Callable[[], Any]:
    turned = context.attrs["adjoint_a"]
    shape = ints(context.value(2))
    column = values.reshape(-1, 1)

    def run() -> None:
        positions(indices, shape)
        rows, inner = (indices[:, 1], indices[:, 0]) if turned else (indices[:, 0], indices[:, 1])
        dense = b.conj().T if context.attrs["adjoint_b"] else b
        factors = column.conj() if turned else column
        out.fill(0)
        combine_rows(np.add, out, rows, factors * dense[inner])

    return run


def _adjoint(matrix: Any) -> Any:
    return matrix_transpose(matrix, conjugate=True)


def _product_back(op: Any, dy: Any) -> list[Any]:
    indices, values, shape, b = op.inputs
    turned, adjoint_b = op.attrs["adjoint_a"], op.attrs["adjoint_b"]
    db = raw_ops.SparseTensorDenseMatMul(indices, values, shape, dy, adjoint_a=not turned)
    row, column = raw_ops.Unpack(indices, num=2, axis=1)
    of_output, of_b = (column, row) if turned else (row, column)
    dense = _adjoint(b) if adjoint_b else b
    gathered = raw_ops.GatherV2(dy, of_output, np.array(0, np.int32))
    others = raw_ops.GatherV2(dense, of_b, np.array(0, np.int32))
    dvalues = raw_ops.Sum(raw_ops.Mul(gathered, conj(others)), np.array([1], np.int32))
    return [None, conj(dvalues) if turned else dvalues, None, _adjoint(db) if adjoint_b else db]


sparse_dense_matmul_op = sparse_op(
    "SparseTensorDenseMatMul", _infer_product, Call(make=_bind_product), _product_back,
    inputs="a_indices: Tindices, a_values: T, a_shape: int64, b: T",
    outputs="product: T",
    attrs={
        "T": (float64, float32, float16, bfloat16, int32, *COMPLEX),
        "Tindices": INDEX,
        "adjoint_a": Attr("bool", False),
        "adjoint_b": Attr("bool", False),
    },
    memory=OpMemory(host_inputs=[2]),
    native=sparse_product(),
    doc=(
        "The product of a sparse and a dense matrix, or of their adjoints. Raises "
        "InvalidArgumentError if indices are out of bounds."
    ),
)  # fmt: skip

# -- sums


def _infer_dense_sum(context: InferContext) -> Sequence[TensorShape]:
    check_parts(context)
    return [context.value_as_shape(2).merge_with(context.shapes[3])]


def _bind_dense_sum(
    context: KernelContext, indices: Any, values: Any, b: Any, out: Any
) -> Callable[[], Any]:
    flat = out.reshape(-1)
    shape = ints(context.value(2))

    def run() -> None:
        numbers = positions(indices, shape)
        np.copyto(out, b)
        np.add.at(flat, numbers, values)

    return run


sparse_dense_add_op = sparse_op(
    "SparseTensorDenseAdd", _infer_dense_sum, Call(make=_bind_dense_sum),
    lambda op, dy: [None, raw_ops.GatherNd(dy, op.inputs[0]), None, dy],
    inputs="a_indices: Tindices, a_values: T, a_shape: Tindices, b: T",
    outputs="output: T",
    attrs={"T": NUMERIC, "Tindices": INDEX},
    memory=OpMemory(host_inputs=[2]),
    native=dense_sum(),
    doc="A dense tensor plus a sparse tensor of the same shape.",
)  # fmt: skip

# -- elementwise


def _infer_by_element(context: InferContext) -> Sequence[TensorShape]:
    """Return the shape of the values. Only a run checks whether the dense side can be broadcast, as
    in TensorFlow.
    """
    count, _ = check_parts(context)
    return [TensorShape.of((count,))]


def _dense_elements(indices: Any, shape: Sequence[int], dense: Any) -> Any:
    """Broadcast a dense array to `shape`, and return its elements at `indices`.

    Raises InvalidArgumentError if an index is out of bounds or the array cannot be broadcast.
    """
    positions(indices, shape)
    try:
        whole = np.broadcast_to(dense, shape)
    except ValueError:
        sizes = [",".join(map(str, part)) for part in (shape, dense.shape)]
        raise invalid_argument(
            "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: "
            f"[{sizes[0]}] vs. [{sizes[1]}]"
        ) from None
    return whole[tuple(indices.T)]


def _bind_by_element(
    combine: Any, context: KernelContext, indices: Any, values: Any, dense: Any, out: Any
) -> Callable[[], Any]:
    shape = ints(context.value(2))

    def run() -> None:
        np.copyto(out, combine(values, _dense_elements(indices, shape, dense)), casting="unsafe")

    return run


def _quotient(x: Any, y: Any) -> Any:
    """Return x / y. Quotients of integers are truncated.

    Raises InvalidArgumentError if an integer is divided by 0.
    """
    if x.dtype.kind not in "iu":
        return x / y
    if (y == 0).any():
        raise invalid_argument("Integer division by zero")
    quotient = x // y
    return quotient + ((quotient < 0) & (quotient * y != x))


def _places(indices: Any, dense: Any) -> Any:
    """Return, for each sparse element, the indices of the dense element with which it was combined.

    Each size of the dense tensor is equal to the corresponding one of the last sizes of the sparse
    tensor, or is 1.
    """
    rank = raw_ops.Rank(dense)
    skipped = raw_ops.Sub(raw_ops.Shape(indices)[1], rank)
    begin = raw_ops.Pack([np.array(0, np.int32), skipped])
    ends = raw_ops.Slice(indices, begin, np.array([-1, -1], np.int32))
    last = raw_ops.Sub(raw_ops.Shape(dense, out_type=indices.dtype), np.array(1, np.int64))
    return raw_ops.Minimum(ends, last)


def _put_back(places: Any, values: Any, dense: Any) -> Any:
    return raw_ops.ScatterNd(places, values, raw_ops.Shape(dense, out_type=places.dtype))


def _mul_back(op: Any, dy: Any) -> list[Any]:
    indices, values, _, dense = op.inputs
    places = _places(indices, dense)
    others = raw_ops.GatherNd(dense, places)
    ddense = _put_back(places, raw_ops.Mul(dy, conj(values)), dense)
    return [None, raw_ops.Mul(dy, conj(others)), None, ddense]


def _div_back(op: Any, dy: Any) -> list[Any]:
    indices, values, _, dense = op.inputs
    places = _places(indices, dense)
    others = conj(raw_ops.GatherNd(dense, places))
    dvalues = raw_ops.RealDiv(dy, others)
    slope = raw_ops.Neg(raw_ops.RealDiv(conj(values), others))
    return [None, dvalues, None, _put_back(places, raw_ops.Mul(dvalues, slope), dense)]


def _add_back(op: Any, dy: Any) -> list[Any]:
    indices, _, _, dense = op.inputs
    return [None, dy, None, _put_back(_places(indices, dense), dy, dense)]


for _name, _combine, _back, _formula in (
    ("SparseDenseCwiseMul", np.multiply, _mul_back, "values * dense"),
    ("SparseDenseCwiseDiv", _quotient, _div_back, "values / dense"),
    ("SparseDenseCwiseAdd", np.add, _add_back, "values + dense"),
):
    sparse_op(
        _name, _infer_by_element, Call(make=partial(_bind_by_element, _combine)), _back,
        inputs=f"{PARTS.format('sp')}, dense: T",
        outputs="output: T",
        attrs={"T": NUMERIC},
        memory=OpMemory(host_inputs=[2]),
        doc=f"{_formula} at the elements of a sparse tensor; the dense one is broadcast to it.",
    )  # fmt: skip
