"""IndexedSlices: some rows of a large tensor, with their indices.

The gradient of a table lookup has this form. Rows that were not looked up have gradient 0 and are
absent. If an index occurs several times, the rows with this index are added.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpugraph.base.dtypes import DType
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.default_graph_functions import graph_of
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.op_library import constant_value


class IndexedSlicesValue(NamedTuple):
    """The value of IndexedSlices: a tuple of arrays. `Session.run` returns such a tuple and accepts
    it as a feed.
    """

    values: Any
    indices: Any
    dense_shape: Any = None


class IndexedSlices:
    """Some rows of a tensor `dense`: `dense[indices[i]] = values[i]`, and all other rows are 0.

    The constructor raises ValueError if the three tensors belong to several graphs.

    Args:
      values: a tensor of any dtype, shape (rows, ...).
      indices: an int tensor, shape (rows,).
      dense_shape: the shape of `dense`, an int vector, or None if it is unknown. If `dense_shape`
        is None, the slices can't be converted to a dense tensor.
    """

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        graph_of(part for part in (values, indices, dense_shape) if part is not None)
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape
        self._known = TensorShape.of(None)

    @property
    def values(self) -> Any:
        """The rows: a tensor of shape [n, ...]."""
        return self._values

    @property
    def indices(self) -> Any:
        """The positions of the rows along axis 0: an integer tensor of shape [n]."""
        return self._indices

    def consumers(self) -> list[Operation]:
        """Return the operations that consume the values, the indices or the dense shape."""
        parts = [self.values, self.indices, self._dense_shape]
        consumers = [part.consumers() for part in parts if part is not None]
        return list(dict.fromkeys(op for ops in consumers for op in ops))

    @property
    def dense_shape(self) -> Any:
        """The shape of the dense tensor, as a tensor. The property is None if the shape is not
        known.
        """
        return self._dense_shape

    def _of(self, parts: list[Any]) -> IndexedSlices:
        """Return IndexedSlices with these components, in the order of `_parts`."""
        return IndexedSlices(*parts)

    @property
    def shape(self) -> TensorShape:
        """The static shape of the dense tensor."""
        if self._dense_shape is None:
            return self._known
        return self._known.merge_with(self._static_dense_shape())

    def _static_dense_shape(self) -> TensorShape:
        """Return the static shape of the dense tensor. Sizes are unknown where `dense_shape` is not
        constant.
        """
        value = constant_value(self._dense_shape, as_shape=False)
        if value is not None:
            return TensorShape.of(tuple(int(size) for size in value))
        shape: TensorShape | None = constant_value(self._dense_shape, as_shape=True)
        if shape is not None:
            return shape
        sizes = self._dense_shape.shape.sizes
        return TensorShape.of((None,) * sizes[0] if sizes and sizes[0] is not None else None)

    def get_shape(self) -> TensorShape:
        """Return the static shape of the dense tensor."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Refine the static shape of the dense tensor.

        Raises ValueError if `shape` contradicts the known shape.
        """
        self._known = self.shape.merge_with(shape)

    @property
    def name(self) -> str:
        """The name of `values`."""
        return self._values.name

    @property
    def device(self) -> str:
        """The requested device of `values`."""
        return self._values.device

    @property
    def op(self) -> Operation:
        """The operation that produces `values`."""
        return self._values.op

    @property
    def dtype(self) -> DType:
        """The dtype of the rows."""
        return self._values.dtype

    @property
    def graph(self) -> Graph:
        """The graph of the values."""
        return self._values.graph

    def _parts(self) -> list[Any]:
        """Return the component tensors of these slices."""
        parts = [self._values, self._indices, self._dense_shape]
        return parts if self._dense_shape is not None else parts[:2]

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __str__(self) -> str:
        shape = "" if self._dense_shape is None else f", dense_shape={self._dense_shape}"
        return f"IndexedSlices(indices={self._indices}, values={self._values}{shape})"
