"""LookupInterface, the base class of tables, and functions that its subclasses share."""

from __future__ import annotations

from typing import Any

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.building.trackable import Trackable
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.sparse.sparse_tensor import SparseTensor


class LookupInterface(Trackable):
    """Base class of tables. The contents of a table belong to a session, and persist from run to
    run.
    """

    _resource_handle: Any = None

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)

    def _create_resource(self) -> Any:
        """Return the table's handle, a new resource tensor. Subclasses implement this method."""
        raise NotImplementedError

    @property
    def resource_handle(self) -> Any:
        """The handle of the table, a resource tensor."""
        return self._resource_handle

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values."""
        return self._value_dtype

    @property
    def name(self) -> Any:
        """The name of the table's operation. Subclasses define it."""
        return NotImplementedError

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of keys, an int64 scalar."""
        raise NotImplementedError

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the value of each key. Subclasses implement this method."""
        raise NotImplementedError

    def _check_keys(self, keys: Any) -> None:
        """Raise TypeError if the dtype of the keys is not the table's key dtype."""
        if keys.dtype.base_dtype != self._key_dtype:
            raise TypeError(
                f"Signature mismatch. Keys must be dtype {self._key_dtype}, got {keys.dtype}."
            )


def size_of(table: LookupInterface, name: str | None) -> Tensor:
    """Return the number of keys in a table, an int64 scalar."""
    with name_scope(name, f"{table.name}_Size", [table.resource_handle]):
        size: Tensor = raw_ops.LookupTableSizeV2(table.resource_handle)
        return size


def with_values(keys: Any, values: Any) -> Any:
    """Return `values`. If `keys` is a SparseTensor, return a SparseTensor with its indices, its
    dense shape and these values.
    """
    if isinstance(keys, SparseTensor):
        return SparseTensor(keys.indices, values, keys.dense_shape)
    return values
