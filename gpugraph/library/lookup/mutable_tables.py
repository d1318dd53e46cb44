"""Tables that runs can change. Checkpoints contain their contents."""

from __future__ import annotations

from functools import partial
from typing import Any

from gpugraph.graph.client.default_graph_functions import (
    add_to_collection,
    colocate_with,
    name_scope,
)
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.lookup.lookup_interface import LookupInterface, size_of
from gpugraph.library.train.savers.saveable_objects import SaveableObject, SaveSpec
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


class MutableHashTable(LookupInterface):
    """A table in which runs insert and remove keys and values.

    Args:
      default_value: the value for missing keys. It is a scalar, or a vector if all values are
        vectors.
      checkpoint: whether savers of all variables also save the table's contents.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
    ) -> None:
        super().__init__(key_dtype, value_dtype)
        self._default_value = convert_to_tensor(default_value, dtype=self._value_dtype)
        self._finish(name, checkpoint)

    def _finish(self, name: str, checkpoint: bool) -> None:
        self._name, self._checkpoint = name, checkpoint
        self._resource_handle = self._create_resource()
        self._table_name = self._resource_handle.op.name.split("/")[-1]
        if checkpoint:
            add_to_collection(GraphKeys.SAVEABLE_OBJECTS, TableSaveable(self, name))

    def _create_resource(self) -> Any:
        shape = self._default_value.get_shape()
        options: dict[str, Any] = {
            "key_dtype": self._key_dtype,
            "value_dtype": self._value_dtype,
            "use_node_name_sharing": self._checkpoint,
            "name": self._name,
        }
        if shape.rank == 0:
            return raw_ops.MutableHashTableV2(**options)
        return raw_ops.MutableHashTableOfTensorsV2(value_shape=shape, **options)

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        """Return {name: function}: the name of the table's contents in object-based checkpoints,
        and the function that saves them.
        """
        return {"table": partial(TableSaveable, self)} if self._checkpoint else {}

    @property
    def name(self) -> Any:
        """The name of the table's operation, without name scopes."""
        return self._table_name

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of keys, an int64 scalar."""
        with colocate_with(self.resource_handle):
            return size_of(self, name)

    def lookup(self, keys: Any, name: str | None = None) -> Tensor:
        """Return the value of each key, in the shape [*shape of `keys`, *shape of a value]."""
        inputs = self.resource_handle, keys, self._default_value
        with name_scope(name, f"{self.name}_lookup_table_find", inputs):
            tensor = convert_to_tensor(keys, dtype=self._key_dtype, name="keys")
            with colocate_with(self.resource_handle):
                values: Tensor = raw_ops.LookupTableFindV2(
                    self.resource_handle, tensor, self._default_value
                )
        return values

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """Return an operation that stores a value for each key.

        Args:
          values: a tensor of shape [*shape of `keys`, *shape of a value].
        """
        with name_scope(name, f"{self.name}_lookup_table_insert", [self.resource_handle]):
            keys = convert_to_tensor(keys, self._key_dtype, name="keys")
            values = convert_to_tensor(values, self._value_dtype, name="values")
            with colocate_with(self.resource_handle):
                operation: Operation = raw_ops.LookupTableInsertV2(
                    self.resource_handle, keys, values
                )
        return operation

    def remove(self, keys: Any, name: str | None = None) -> Operation:
        """Return an operation that removes these keys from the table.

        Raises TypeError if the dtype of the keys is not the table's key dtype.
        """
        self._check_keys(keys)
        inputs = self.resource_handle, keys, self._default_value
        with name_scope(name, f"{self.name}_lookup_table_remove", inputs):
            operation: Operation = raw_ops.LookupTableRemoveV2(self.resource_handle, keys)
        return operation

    def export(self, name: str | None = None) -> Any:
        """Return all keys and their values, in an unspecified order."""
        with (
            name_scope(name, f"{self.name}_lookup_table_export_values", [self.resource_handle]),
            colocate_with(self.resource_handle),
        ):
            return raw_ops.LookupTableExportV2(
                self.resource_handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype
            )


class DenseHashTable(MutableHashTable):
    """A mutable table of scalars or tensors, with scalar or vector keys.

    `export` returns all buckets, including unused ones, as TensorFlow does.

    Args:
      default_value: the value for missing keys, in the shape of all values.
      empty_key, deleted_key: two different keys that mark unused buckets. Runs must not use these
        keys.
      initial_num_buckets: a power of 2, by default 131072.
      checkpoint: whether savers of all variables also save the table's contents.
    """

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
    ) -> None:
        LookupInterface.__init__(self, key_dtype, value_dtype)
        self._default_value = convert_to_tensor(
            default_value, dtype=self._value_dtype, name="default_value"
        )
        self._buckets = {"initial_num_buckets": initial_num_buckets} if initial_num_buckets else {}
        self._empty_key = convert_to_tensor(empty_key, dtype=self._key_dtype, name="empty_key")
        self._deleted_key = convert_to_tensor(
            deleted_key, dtype=self._key_dtype, name="deleted_key"
        )
        self._finish(name, checkpoint)

    def _create_resource(self) -> Any:
        return raw_ops.MutableDenseHashTableV2(
            empty_key=self._empty_key,
            deleted_key=self._deleted_key,
            use_node_name_sharing=self._checkpoint,
            value_dtype=self._value_dtype,
            value_shape=self._default_value.get_shape(),
            name=self._name,
            **self._buckets,
        )

    def lookup(self, keys: Any, name: str | None = None) -> Tensor:
        """Return the value of each key, in the shape [*shape of `keys`, *shape of a value]."""
        values = super().lookup(keys, name)
        shape, key_shape = values.op.inputs[1].get_shape(), self._empty_key.get_shape()
        if shape.rank is not None and key_shape.rank is not None:
            outer = shape[: shape.rank - key_shape.rank]
            values.set_shape(outer.concatenate(self._default_value.get_shape()))
        return values

    def insert_or_assign(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """Call `insert`. This is another name for that method."""
        return self.insert(keys, values, name)

    def erase(self, keys: Any, name: str | None = None) -> Operation:
        """Call `remove`. This is another name for that method."""
        return self.remove(keys, name)


class TableSaveable(SaveableObject):
    """The keys and values of a table, which a saver stores under `NAME-keys` and `NAME-values`."""

    def __init__(self, table: MutableHashTable, name: str) -> None:
        keys, values = table.export()
        specs = [SaveSpec(keys, "", f"{name}-keys"), SaveSpec(values, "", f"{name}-values")]
        super().__init__(table, specs, name)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
        """Return the operation that replaces the table's keys and values."""
        del restored_shapes
        handle = self.op.resource_handle
        with name_scope(f"{self.name}_table_restore"), colocate_with(handle):
            return raw_ops.LookupTableImportV2(handle, *restored_tensors)
