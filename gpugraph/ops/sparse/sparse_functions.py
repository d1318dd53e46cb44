"""The public functions on sparse tensors, such as `sparse_reorder`.

The functions also accept a SparseTensorValue, which consists of arrays, instead of a SparseTensor.
If an argument is neither, they raise TypeError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.graph.client.default_stacks import traced_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.reshape_and_transpose import transpose
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue, expect_sparse

# -- dense


def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Return a dense tensor with the sparse values at their indices, and `default_value` elsewhere.

    A run raises InvalidArgumentError if indices are out of bounds. If `validate_indices` is true,
    it also raises this error if they are out of order or repeated.

    Args:
      sparse_indices: a tensor of shape (n, rank). If the result is a vector, it may also have shape
        (n,) or be a scalar.
      output_shape: the shape of the result.
      sparse_values: a tensor of shape (n,), or a scalar for all indices.

    >>> session.run(tf.sparse_to_dense([1], [3], [7]))
    array([0, 7, 0], dtype=int32)
    """
    return raw_ops.SparseToDense(
        sparse_indices,
        output_shape,
        sparse_values,
        default_value,
        validate_indices=validate_indices,
        name=name,
    )


def sparse_tensor_to_dense(
    sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """Convert a SparseTensor to a dense tensor, with `default_value` where it has no element.

    A run raises InvalidArgumentError if indices are out of bounds. If `validate_indices` is true,
    it also raises this error if they are out of order or repeated.

    Args:
      default_value: a scalar, by default 0, or "" for strings.
    """
    source = expect_sparse(sp_input)
    if default_value is None:
        element = source.dtype.base_dtype
        with traced_graph(source.graph).as_default():
            zero: Any = b"" if element is dtypes.string else element.as_numpy_dtype(0)
            default_value = convert_to_tensor(zero, element, name="zeros")
    return sparse_to_dense(
        source.indices, source.dense_shape, source.values, default_value, validate_indices, name
    )


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """Return the nonzero elements of a dense tensor as a SparseTensor."""
    with op_scope(name, "dense_to_sparse", tensor):
        source = convert_to_tensor(tensor)
        indices = raw_ops.Where(raw_ops.NotEqual(source, raw_ops.ZerosLike(source)))
        values = raw_ops.GatherNd(source, indices)
        shape = raw_ops.Shape(source, out_type=dtypes.int64)
        return SparseTensor(indices, values, shape)


def sparse_to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Tensor:
    """Convert a SparseTensor of ids, with the dense shape [..., n], to bools of shape [...,
    vocab_size].

    Bool i of a row is true if id i is in the row. The ids are int32 or int64. A run raises
    InvalidArgumentError if an id is outside [0, vocab_size).
    """
    source = expect_sparse(sp_input)
    with op_scope(name, "SparseToIndicator", source) as scope:
        ids = raw_ops.ExpandDims(cast(source.values, dtypes.int64), np.array(1, np.int32))
        count = raw_ops.Sub(raw_ops.Shape(source.dense_shape)[0], np.array(1, np.int32))
        before = raw_ops.Slice(
            source.indices, np.array([0, 0], np.int32), raw_ops.Pack([-1, count])
        )
        size = raw_ops.Reshape(cast(vocab_size, dtypes.int64), np.array([1], np.int32))
        sizes = raw_ops.Slice(
            source.dense_shape, np.array([0], np.int32), raw_ops.Reshape(count, [1])
        )
        indices = raw_ops.ConcatV2([before, ids], np.array(1, np.int32))
        shape = raw_ops.ConcatV2([sizes, size], np.array(0, np.int32))
        unordered_trues = raw_ops.Fill(raw_ops.Shape(source.values), np.array(True))
        ordered, trues = raw_ops.SparseReorder(indices, unordered_trues, shape)
        return sparse_to_dense(ordered, shape, trues, False, False, scope)


def sparse_tensor_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """Multiply a sparse matrix by a dense matrix. `adjoint_a` and `adjoint_b` replace a matrix with
    its adjoint.

    Raises ValueError if the inner sizes differ. A run raises InvalidArgumentError if indices are
    out of bounds.

    Args:
      sp_a: a sparse matrix of shape (m, n), or (n, m) if `adjoint_a` is true. Its elements may be
        in any order, and repeated elements are added.
      b: a dense matrix of shape (n, k), or (k, n) if `adjoint_b` is true.
    """
    source = expect_sparse(sp_a)
    with op_scope(name, "SparseTensorDenseMatMul", source, b):
        dense = convert_to_tensor(b, name="b", dtype_hint=source.dtype.base_dtype)
        return raw_ops.SparseTensorDenseMatMul(
            *source._parts(), dense, adjoint_a=adjoint_a, adjoint_b=adjoint_b
        )


# -- two sparse tensors


def sparse_add(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Any:
    """Add two tensors of the same shape. At least one of them must be sparse.

    The sum of two SparseTensors is a SparseTensor. Any other sum is a tensor. Raises TypeError if
    neither operand is sparse. A run raises InvalidArgumentError if the shapes differ.

    Args:
      threshold: the sum of two SparseTensors omits an element that is in both operands if the
        magnitude of the sum is below this number. Elements that only one operand has are always
        kept. `thresh` is an older name of `threshold`.
    """
    sparse = (SparseTensor, SparseTensorValue)
    if not isinstance(a, sparse) and not isinstance(b, sparse):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    minimum = thresh if threshold is None else threshold
    if isinstance(a, sparse) and isinstance(b, sparse):
        left, right = expect_sparse(a), expect_sparse(b)
        left.shape.assert_is_compatible_with(right.shape)
        element = left.dtype.base_dtype
        if element.is_complex:
            real = dtypes.float32 if element.size == 8 else dtypes.float64
        else:
            real = element
        with traced_graph(left.graph).as_default():
            limit = convert_to_tensor(0 if minimum is None else minimum, real, name="thresh")
        return SparseTensor(*raw_ops.SparseAdd(*left._parts(), *right._parts(), limit))
    if isinstance(b, sparse):
        a, b = b, a
    left = expect_sparse(a)
    return raw_ops.SparseTensorDenseAdd(*left._parts(), b)


def _extreme(function: Any, a: Any, b: Any, name: str | None) -> SparseTensor:
    left, right = expect_sparse(a), expect_sparse(b)
    with op_scope(name, function.op_def.name, left, right) as scope:
        indices, values = function(*left._parts(), *right._parts(), name=scope)
        return SparseTensor(indices, values, left.dense_shape)


def sparse_maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """Return the elementwise maximum of two sparse tensors. A missing element counts as 0.

    The result has an element wherever at least one of the tensors has one. A run raises
    InvalidArgumentError if the shapes differ.
    """
    return _extreme(raw_ops.SparseSparseMaximum, sp_a, sp_b, name)


def sparse_minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """Return the elementwise minimum of two sparse tensors. A missing element counts as 0.

    The result has an element wherever at least one of the tensors has one.
    """
    return _extreme(raw_ops.SparseSparseMinimum, sp_a, sp_b, name)


def sparse_concat(
    axis: Any,
    sp_inputs: Any,
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: Any = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """Concatenate a list of SparseTensors along `axis`.

    The elements of the result are in row-major order. Unless `expand_nonconcat_dims` is set, a run
    raises InvalidArgumentError if the tensors have different sizes in another dimension. Raises
    TypeError if `sp_inputs` is not a list.

    Args:
      concat_dim: an older name of `axis`.
      expand_nonconcat_dims: whether to extend each other dimension to its largest size in any of
        the tensors. `expand_nonconcat_dim` is an older name of this argument.
    """
    dimension = axis if concat_dim is None else concat_dim
    if not isinstance(sp_inputs, (list, tuple)):
        raise TypeError("SparseTensor inputs are expected to be a list of SparseTensors")
    inputs = [expect_sparse(value) for value in sp_inputs]
    if len(inputs) == 1:
        return inputs[0]
    shapes = [tensor.dense_shape for tensor in inputs]
    if expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims:
        shapes = _widen_shapes(shapes, int(dimension))
    parts = raw_ops.SparseConcat(
        [tensor.indices for tensor in inputs],
        [tensor.values for tensor in inputs],
        shapes,
        concat_dim=int(dimension),
        name=name,
    )
    return SparseTensor(parts[0], parts[1], _joined_shape(inputs, int(dimension), parts[2]))


def _joined_shape(inputs: Sequence[SparseTensor], axis: int, shape: Tensor) -> Any:
    """Return the shape of the concatenation. It is a constant if all shapes are known, otherwise
    `shape`.
    """
    known = [tensor.shape for tensor in inputs]
    rank = known[0].rank
    if rank is None or not all(shape.is_fully_defined() and shape.rank == rank for shape in known):
        return shape
    if not -rank <= axis < rank:
        return shape
    sizes = np.array([shape.as_list() for shape in known], np.int64)
    whole = sizes.max(axis=0)
    whole[axis] = sizes[:, axis].sum()
    return convert_to_tensor(whole, name="Const")


def _widen_shapes(shapes: Sequence[Any], axis: int) -> list[Any]:
    """Return the shapes, in which the maximum over all shapes replaces each size, except along
    `axis`.
    """
    largest = raw_ops.Max(raw_ops.Pack(list(shapes)), np.array(0, np.int32))
    rank = shapes[0].shape.as_list()[0]
    if rank is None:
        raise ValueError("expand_nonconcat_dim needs SparseTensors of known rank")
    is_axis = np.arange(rank) == axis % rank
    return [raw_ops.Select(is_axis, shape, largest) for shape in shapes]


# -- one sparse tensor


def sparse_reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """Sort the elements into row-major order, which most ops on SparseTensors require.

    A run raises InvalidArgumentError if indices are out of bounds.
    """
    source = expect_sparse(sp_input)
    indices, values = raw_ops.SparseReorder(*source._parts(), name=name)
    return SparseTensor(indices, values, source.dense_shape)


def sparse_reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """Return the elements, in row-major order, as a SparseTensor of dense shape `shape`.

    One size may be -1, which is inferred. If `shape` requires a different number of elements, the
    call raises ValueError. If the number is known only in a run, the run raises
    InvalidArgumentError instead.
    """
    source = expect_sparse(sp_input)
    wanted = cast(shape, dtypes.int64)
    with op_scope(name, "SparseReshape", source) as scope:
        indices, sizes = raw_ops.SparseReshape(
            source.indices, source.dense_shape, wanted, name=scope
        )
        known, value = source.shape.num_elements(), constant_value(wanted)
        if known is not None and value is not None:
            sizes = convert_to_tensor(_complete_sizes(known, value), name="Const")
        return SparseTensor(indices, raw_ops.Identity(source.values), sizes)


def _complete_sizes(count: int, sizes: Any) -> Any:
    """Return `sizes`, with -1 replaced by the size that gives a total of `count` elements.

    Raises ValueError if there is no such size.
    """
    completed = sizes.astype(np.int64)
    product = int(np.prod(completed[completed >= 0]))
    open_sizes = int((completed < 0).sum())
    if open_sizes == 1 and product and count % product == 0:
        return np.where(completed < 0, count // product, completed)
    if open_sizes or product != count:
        shown = [None if size < 0 else size for size in completed.tolist()]
        raise ValueError(
            f"Cannot reshape a tensor with {count} elements to shape {shown} ({product} elements)."
        )
    return completed


def sparse_retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """Keep the elements for which `to_retain`, a vector with one bool for each element, is true."""
    source = expect_sparse(sp_input)
    is_retained = convert_to_tensor(to_retain)
    source.values.shape[:1].merge_with(is_retained.shape.with_rank(1)[:1])
    where = raw_ops.Reshape(raw_ops.Where(is_retained), np.array([-1], np.int32))
    indices, values = gather(source.indices, where), gather(source.values, where)
    return SparseTensor(indices, values, raw_ops.Identity(source.dense_shape))


def sparse_transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """Permute the dimensions by `perm`. By default, reverse their order.

    Raises TypeError if the value of `perm` is not known when the op is added, or if `perm` is None
    and the rank is unknown.
    """
    source = expect_sparse(sp_input)
    with op_scope(name, "SparseTranspose", source):
        if perm is None:
            rank = source.shape.rank
            if rank is None:
                raise TypeError("sparse_transpose needs a known rank or perm")
            perm = np.arange(rank, dtype=np.int32)[::-1].copy()
        order = constant_value(convert_to_tensor(perm))
        if order is None:
            raise TypeError("perm must be known when the graph is built")
        columns = transpose(gather(transpose(source.indices), order.astype(np.int32)))
        sizes = gather(source.dense_shape, order.astype(np.int32))
        return sparse_reorder(SparseTensor(columns, source.values, sizes))


def sparse_slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """Return the slice of shape `size` that begins at `start`, as a SparseTensor. The slice is
    clipped at the end of the tensor.
    """
    source = expect_sparse(sp_input)
    begin = convert_to_tensor(start, dtypes.int64)
    count = convert_to_tensor(size, dtypes.int64)
    with op_scope(name, "SparseSlice", source) as scope:
        return SparseTensor(*raw_ops.SparseSlice(*source._parts(), begin, count, name=scope))


def sparse_split(
    keyword_required: Any = None,
    sp_input: Any = None,
    num_split: int | None = None,
    axis: Any = None,
    name: str | None = None,
    split_dim: Any = None,
) -> list[SparseTensor]:
    """Split a SparseTensor into `num_split` parts along `axis` (older name: `split_dim`).

    If the size s of the axis is not divisible by `num_split`, each of the first s % num_split parts
    is larger by one. All arguments must be passed by keyword. Raises ValueError if an argument is
    missing.
    """
    if keyword_required is not None:
        raise ValueError("Keyword arguments are required for this function.")
    dimension = split_dim if axis is None else axis
    if sp_input is None or num_split is None or dimension is None:
        raise ValueError("sp_input, num_split and axis are required")
    source = expect_sparse(sp_input)
    dim = (
        convert_to_tensor(dimension, dtypes.int64)
        if not isinstance(dimension, Tensor)
        else dimension
    )
    parts = raw_ops.SparseSplit(
        cast(dim, dtypes.int64), *source._parts(), num_split=num_split, name=name
    )
    return [SparseTensor(*piece) for piece in zip(*parts)]


def sparse_fill_empty_rows(
    sp_input: Any, default_value: Any, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """Add an element `default_value` in column 0 of each row that has no elements.

    Return the new SparseTensor, and a bool vector that is true for the rows that were empty.
    """
    source = expect_sparse(sp_input)
    with op_scope(name, "SparseFillEmptyRows", source):
        default = convert_to_tensor(default_value, source.dtype.base_dtype)
        indices, values, empty, _ = raw_ops.SparseFillEmptyRows(*source._parts(), default)
        return SparseTensor(indices, values, source.dense_shape), empty


def sparse_softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """Return the softmax along the last dimension. It is computed only over the elements that are
    present.
    """
    source = expect_sparse(sp_input)
    with op_scope(name, "SparseSoftmax", source):
        return source._with(raw_ops.SparseSoftmax(*source._parts()))
