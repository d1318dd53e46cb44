"""OperatorShape: the dtype, name, promises and shape of a LinearOperator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dimensions import Dimension
from gpugraph.base.dtypes import DType, int32
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.identity_and_shape import size
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor


class OperatorShape:
    """The mixin of LinearOperator for its dtype, name, promises and shape."""

    def __init__(
        self,
        dtype: Any,
        graph_parents: Sequence[Any] | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        parents = list(graph_parents or ())
        for number, parent in enumerate(parents):
            if not isinstance(parent, Tensor):
                raise ValueError(f"Graph parent item {number} is not a Tensor; {parent}.")
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            is_non_singular = True
        for is_promised, kind in (
            (is_non_singular, "non-singular"),
            (is_self_adjoint, "self-adjoint"),
        ):
            if is_promised:
                if is_square is False:
                    raise ValueError(f"A {kind} matrix is always square.")
                is_square = True
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._graph_parents, self._name = parents, name or type(self).__name__
        self._is_non_singular, self._is_self_adjoint = is_non_singular, is_self_adjoint
        self._is_positive_definite, self._is_square = is_positive_definite, is_square

    @property
    def dtype(self) -> DType:
        """The dtype of the matrix."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name of the operator, which is the name scope of its operations."""
        return self._name

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors on which the operator depends."""
        return self._graph_parents

    @property
    def is_non_singular(self) -> bool | None:
        """Whether the matrix has an inverse, as the caller promised. None means that it is
        unknown.
        """
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """Whether the matrix is its own adjoint, as the caller promised. None means that it is
        unknown.
        """
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """Whether x^H A x has a positive real part for all x != 0, as the caller promised. None
        means that it is unknown.
        """
        return self._is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """Whether the matrix has as many rows as columns. None means that it is unknown."""
        rows, columns = self.range_dimension.value, self.domain_dimension.value
        if rows is None or columns is None:
            return self._is_square
        if self._is_square is not None and self._is_square != (rows == columns):
            raise ValueError(
                "User provided is_square hint conflicted with static shape: "
                f"is_square={self._is_square}, {rows} rows, {columns} columns"
            )
        return rows == columns

    # -- shapes

    def _shape(self) -> TensorShape:
        raise NotImplementedError("_shape is not implemented.")

    def _shape_tensor(self) -> Tensor:
        raise NotImplementedError("_shape_tensor is not implemented.")

    @property
    def shape(self) -> TensorShape:
        """The static shape [..., rows, columns]."""
        return self._shape()

    @property
    def batch_shape(self) -> TensorShape:
        """The static shape without the two axes of the matrix."""
        return self.shape[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """The static rank of the dense tensor. None means that it is unknown."""
        return self.shape.ndims

    @property
    def domain_dimension(self) -> Dimension:
        """The static number of columns."""
        sizes = self.shape.dims
        return sizes[-1] if sizes else Dimension(None)

    @property
    def range_dimension(self) -> Dimension:
        """The static number of rows."""
        sizes = self.shape.dims
        return sizes[-2] if sizes else Dimension(None)

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """Return the shape as an int32 vector."""
        with self._scope(name):
            return self._whole_shape()

    def _whole_shape(self) -> Tensor:
        """Return the shape as a constant if it is known. Otherwise return a tensor that a run
        computes.
        """
        known = self.shape
        if known.is_fully_defined():
            return constant(known.as_list(), int32)
        return self._shape_tensor()

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """Return the rank of the dense tensor, as an int32 scalar."""
        with self._scope(name):
            rank = self.tensor_rank
            return size(self._whole_shape()) if rank is None else constant(rank, int32)

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Return the shape without the two axes of the matrix, as an int32 vector."""
        with self._scope(name):
            known = self.batch_shape
            if known.is_fully_defined():
                return constant(known.as_list(), int32)
            return self._whole_shape()[:-2]

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """Return the number of columns, as an int32 scalar."""
        return self._dimension(self.domain_dimension, -1, name)

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """Return the number of rows, as an int32 scalar."""
        return self._dimension(self.range_dimension, -2, name)

    def _dimension(self, known: Dimension, axis: int, name: str) -> Tensor:
        """Return the size of an axis as a scalar tensor. It is a constant if the size is known
        statically.
        """
        with self._scope(name):
            if known.value is not None:
                return constant(known.value, int32)
            return self._whole_shape()[axis]

    # -- helpers of the methods

    @contextmanager
    def _scope(self, name: str | None = None, *values: Any) -> Iterator[None]:
        with name_scope(self._name), name_scope(name, values=list(values)):
            yield

    _name_scope = _scope
    """TensorFlow's name of this method, which subclasses of programs call."""

    def _check_input_dtype(self, arg: Tensor) -> None:
        """Raise TypeError unless a tensor has the operator's dtype."""
        self._argument(arg, "arg")

    def _argument(self, value: Any, name: str) -> Tensor:
        tensor = convert_to_tensor(value, name=name)
        if tensor.dtype.base_dtype != self.dtype.base_dtype:
            raise TypeError(
                f"Expected argument to have dtype {self.dtype!r}.  Found: {tensor.dtype!r} in "
                f"tensor {tensor}"
            )
        return tensor
