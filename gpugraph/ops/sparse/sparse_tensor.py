"""SparseTensor, which holds some elements of a tensor with their indices. All other elements are 0.

A SparseTensor consists of three tensors. `indices`, int64 of shape (n, rank), has a row for each
element that is present. `values`, of shape (n,), has these elements. `dense_shape`, int64 of shape
(rank,), has the sizes of the dense tensor. Ops expect the rows of indices in row-major order and
without repetitions. `sparse_reorder` sorts them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.dtypes import DType, as_dtype, int32, int64
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_stacks import session_stack
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.constants_and_placeholders import placeholder, placeholder_with_default
from gpugraph.ops.framework.composite_tensors import (
    Composite,
    SparseTensorValue as SparseTensorValue,
)
from gpugraph.ops.framework.constant_value import constant_value, constant_value_as_shape
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.shape_functions import as_output_shape
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor


class SparseTensor(Composite):
    """A tensor of shape `dense_shape` with `dense[indices[i]] = values[i]`, and 0 everywhere else.

    The operators `sparse * dense` and `sparse / dense` compute only the elements that are present.
    Each argument may be a tensor, or a value that can be converted to a tensor. The constructor
    raises ValueError if a rank is wrong, or if the static shapes contradict each other.

    Args:
      indices: int64 of shape (n, rank).
      values: any dtype, of shape (n,).
      dense_shape: int64 of shape (rank,).

    >>> sparse = tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2])
    >>> session.run(tf.sparse_tensor_to_dense(sparse))
    array([[0, 5],
           [6, 0]], dtype=int32)
    """

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        with op_scope(None, "SparseTensor", indices, values, dense_shape):
            self._indices = convert_to_tensor(indices, int64, name="indices")
            self._values = convert_to_tensor(values, name="values")
            self._dense_shape = convert_to_tensor(dense_shape, int64, name="dense_shape")
        rows = self._indices.shape.with_rank(2)
        count, sizes = self._values.shape.with_rank(1), self._dense_shape.shape.with_rank(1)
        rows.merge_with(count + sizes)

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """Return a SparseTensor with the indices, values and shape of a SparseTensorValue or
        SparseTensor.

        Raises TypeError if the value is neither of these.
        """
        if not isinstance(sparse_tensor_value, (SparseTensor, SparseTensorValue)):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {sparse_tensor_value}.")
        value = sparse_tensor_value
        return cls(value.indices, value.values, value.dense_shape)

    @property
    def indices(self) -> Tensor:
        """The indices of the elements that are present, int64 [n, rank]."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """The elements that are present, [n]."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """The sizes of the dense tensor, int64 [rank]."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The static shape of the dense tensor."""
        sizes = self._dense_shape
        if (
            sizes.op.type == "PlaceholderWithDefault"
        ):  # a fed shape must agree with the default shape
            sizes = sizes.op.inputs[0]
        value = constant_value(sizes)
        if value is not None:
            return as_output_shape(value)
        shape = constant_value_as_shape(sizes)
        if shape is not None:
            return shape
        known = self._dense_shape.shape.sizes
        rank = None if known is None else known[0]
        return TensorShape.of(None if rank is None else (None,) * rank)

    def get_shape(self) -> TensorShape:
        """Return `shape`."""
        return self.shape

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self._values.dtype

    @property
    def op(self) -> Operation:
        """The operation that produces the values."""
        return self._values.op

    @property
    def graph(self) -> Graph:
        """The graph that contains the three tensors."""
        return self._values.graph

    def consumers(self) -> list[Operation]:
        """Return the operations that read the values, the indices or the shape."""
        return list(dict.fromkeys(op for part in self._parts() for op in part.consumers()))

    def eval(self, feed_dict: Any = None, session: Any = None) -> SparseTensorValue:
        """Return the values of the three tensors, evaluated in `session`, by default in the default
        session.

        Raises ValueError if there is no session.
        """
        chosen = session if session is not None else session_stack.top()
        if chosen is None:
            raise ValueError(
                "Cannot evaluate a SparseTensor: no default session is registered. Use `with "
                "sess.as_default()` or pass a session to eval(session=sess)."
            )
        return chosen.run(self, feed_dict=feed_dict)

    def _parts(self) -> list[Tensor]:
        """Return the three tensors: indices, values and dense shape."""
        return [self._indices, self._values, self._dense_shape]

    def _with(self, values: Any) -> SparseTensor:
        """Return a SparseTensor with new `values` at the same indices, and with the same shape."""
        return SparseTensor(self._indices, values, self._dense_shape)

    def _of(self, parts: list[Tensor]) -> SparseTensor:
        """Return a SparseTensor of [indices, values, dense_shape]."""
        return SparseTensor(*parts)

    def _by_element(self, make: Callable[..., Any], dense: Any, name: str) -> SparseTensor:
        with op_scope(None, name, self, dense) as scope:
            other = convert_to_tensor(dense, self.dtype.base_dtype, name="y")
            return self._with(make(*self._parts(), other, name=scope))

    def __mul__(self, dense: Any) -> SparseTensor:
        return self._by_element(raw_ops.SparseDenseCwiseMul, dense, "mul")

    def __truediv__(self, dense: Any) -> SparseTensor:
        return self._by_element(raw_ops.SparseDenseCwiseDiv, dense, "truediv")

    def __str__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices}, values={self._values}, "
            f"dense_shape={self._dense_shape})"
        )

    __repr__ = __str__


def expect_sparse(value: Any) -> SparseTensor:
    """Return a SparseTensor unchanged. Convert a SparseTensorValue to a SparseTensor.

    Raises TypeError if the value is neither of these.
    """
    if isinstance(value, SparseTensorValue):
        return SparseTensor(*value)
    if not isinstance(value, SparseTensor):
        raise TypeError(f"Input must be a SparseTensor, but it is {value!r}")
    return value


def convert_to_tensor_or_sparse_tensor(
    value: Any, dtype: Any = None, name: str | None = None
) -> Any:
    """Return a SparseTensor unchanged. Convert a SparseTensorValue to a SparseTensor, and any other
    value to a tensor.

    Raises RuntimeError if the dtype of a SparseTensor is not `dtype`. Also raises the errors of
    `convert_to_tensor`.
    """
    if isinstance(value, SparseTensorValue):
        value = SparseTensor(*value)
    if isinstance(value, SparseTensor):
        if dtype is not None and not as_dtype(dtype).is_compatible_with(value.dtype):
            raise RuntimeError(
                f"Sparse dtype: requested = {as_dtype(dtype).name}, actual = {value.dtype.name}"
            )
        return value
    return convert_to_tensor(value, dtype, name=name)


def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """Return a SparseTensor of placeholders. A run feeds it a SparseTensorValue or three arrays.

    A run that needs the SparseTensor but does not feed it raises InvalidArgumentError.

    Args:
      shape: the dense shape, in which None means an unknown size. A feed always contains the whole
        shape.

    >>> x = tf.sparse_placeholder(tf.float32, [2, 2])
    >>> session.run(tf.sparse_tensor_to_dense(x), {x: ([[0, 1]], [5.0], [2, 2])})
    array([[0., 5.],
           [0., 0.]], dtype=float32)
    """
    label = {part: f"{name}/{part}" if name else None for part in ("shape", "values", "indices")}
    rank = None
    if shape is None:
        sizes = placeholder(int64, [None], name=label["shape"])
    elif isinstance(shape, Tensor):
        known = shape.shape.sizes
        rank = known[0] if known else None
        sizes = shape if shape.dtype is not int32 else raw_ops.Cast(shape, DstT=int64)
    else:
        known_sizes = as_shape(shape)
        rank = len(known_sizes)
        numbers = [-1 if n is None else n for n in known_sizes.as_list()]
        if known_sizes.is_fully_defined():
            sizes = constant(numbers, int64, name=label["shape"] or "Const")
        else:
            default = constant(numbers, int64, name=f"{name}/shape_default" if name else "Const")
            sizes = placeholder_with_default(default, [rank], name=label["shape"])
    values = placeholder(as_dtype(dtype), [None], name=label["values"])
    indices = placeholder(int64, [None, rank], name=label["indices"])
    return SparseTensor(indices, values, sizes)
