"""Initializers of tables, which fill them from two tensors or from a text file."""

from __future__ import annotations

from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.building.trackable import Trackable
from gpugraph.graph.client.default_graph_functions import (
    add_to_collection,
    device,
    init_scope,
    name_scope,
)
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.tables.table_files import LINE_NUMBER, WHOLE_LINE


class TableInitializerBase(Trackable):
    """Base class of table initializers, with the dtypes of keys and values.

    Subclasses define `initialize(table)`.
    """

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys that this initializer provides."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values that this initializer provides."""
        return self._value_dtype

    def initialize(self, table: Any) -> Operation:
        """Return the operation that fills `table`. Subclasses implement this method."""
        raise NotImplementedError

    @property
    def _shared_name(self) -> str:
        """A name that depends on the content. Tables of a session with the same name share their
        contents.

        The name is "" if the contents are not shared.
        """
        return ""

    def _initialized(self, table: Any, op: Any, *inputs: Any, **attrs: Any) -> Operation:
        """Return the operation `op(table, *inputs)`, which fills the table.

        Also add the operation to the collection TABLE_INITIALIZERS.
        """
        operation: Operation = op(table.resource_handle, *inputs, **attrs)
        add_to_collection(GraphKeys.TABLE_INITIALIZERS, operation)
        return operation

    def _check(self, table: Any) -> None:
        """Raise TypeError if the dtypes of a table differ from the dtypes of this initializer."""
        for kind, mine, its in (
            ("key", self.key_dtype, table.key_dtype),
            ("value", self.value_dtype, table.value_dtype),
        ):
            if mine.base_dtype != its:
                raise TypeError(f"Invalid {kind} dtype, expected {its} but got {mine}.")


class KeyValueTensorInitializer(TableInitializerBase):
    """An initializer that fills a table from two vectors of equal length.

    Args:
      keys, values: tensors, or lists that are converted to `key_dtype` and `value_dtype`.
    """

    def __init__(
        self,
        keys: Any,
        values: Any,
        key_dtype: Any = None,
        value_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        with init_scope():
            self._keys = convert_to_tensor(keys, dtype=key_dtype, name="keys")
            self._values = convert_to_tensor(values, dtype=value_dtype, name="values")
        self._name = name if name is not None else "key_value_init"
        super().__init__(self._keys.dtype, self._values.dtype)

    def initialize(self, table: Any) -> Operation:
        """Return the operation that fills `table`. Raises TypeError if the dtypes of the table and
        of the initializer differ.
        """
        self._check(table)
        with name_scope(self._name, values=(table.resource_handle, self._keys, self._values)):
            return self._initialized(table, raw_ops.LookupTableImportV2, self._keys, self._values)


class TextFileIndex:
    """Special column numbers for TextFileInitializer: the whole line, and the line number, counted
    from 0.
    """

    WHOLE_LINE = WHOLE_LINE
    LINE_NUMBER = LINE_NUMBER


class TextFileInitializer(TableInitializerBase):
    """An initializer that fills a table from the lines of a text file.

    The constructor raises ValueError for an empty path, for unknown columns, and for dtypes that
    these columns can't have.

    Args:
      filename: a path, or a scalar string tensor. A constant filename is added to the collection
        ASSET_FILEPATHS.
      key_index, value_index: the number of a column, counted from 0, or one of `TextFileIndex`.
      vocab_size: the number of lines to use. If it is None, all lines are used.
      delimiter: the character between columns.
    """

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
    ) -> None:
        if not isinstance(filename, Tensor) and not filename:
            raise ValueError(f"Filename required for {name}.")
        super().__init__(key_dtype, value_dtype)
        _check_column("key", "Keys", key_index, self.key_dtype, self.key_dtype.is_integer)
        _check_column("value", "Values", value_index, self.value_dtype, False)
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"Invalid vocab_size {vocab_size}.")
        self._path, self._name = str(filename), name
        with init_scope(), device("CPU"):
            self._filename = convert_to_tensor(filename, dtypes.string, name="asset_path")
        self._key_index, self._value_index = key_index, value_index
        self._vocab_size, self._delimiter = vocab_size, delimiter

    def initialize(self, table: Any) -> Operation:
        """Return the operation that fills `table`. Raises TypeError if the dtypes of the table and
        of the initializer differ.
        """
        self._check(table)
        with name_scope(self._name, "text_file_init", (table.resource_handle,)):
            operation = self._initialized(
                table,
                raw_ops.InitializeTableFromTextFileV2,
                self._filename,
                key_index=self._key_index,
                value_index=self._value_index,
                vocab_size=-1 if self._vocab_size is None else self._vocab_size,
                delimiter=self._delimiter,
            )
        if self._filename.op.type == "Const":
            add_to_collection(GraphKeys.ASSET_FILEPATHS, self._filename)
        return operation

    @property
    def _shared_name(self) -> str:
        size = f"_{self._vocab_size}" if self._vocab_size else ""
        return f"hash_table_{self._path}{size}_{self._key_index}_{self._value_index}"


def _check_column(name: str, what: str, index: int, dtype: DType, may_be_number: bool) -> None:
    if index < WHOLE_LINE:
        raise ValueError(f"Invalid {name} index {index}.")
    if index == LINE_NUMBER and dtype != dtypes.int64:
        raise ValueError(f"Signature mismatch. {what} must be dtype {dtypes.int64}, got {dtype}.")
    if index == WHOLE_LINE and dtype != dtypes.string and not may_be_number:
        kind = "integer or string" if name == "key" else f"dtype {dtypes.string}"
        raise ValueError(f"Signature mismatch. {what} must be {kind}, got {dtype}.")


class TextFileStringTableInitializer(TextFileInitializer):
    """An initializer for a table from numbers to strings. By default, the table maps line numbers
    to lines.
    """

    def __init__(
        self,
        filename: Any,
        key_column_index: int = LINE_NUMBER,
        value_column_index: int = WHOLE_LINE,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str = "text_file_string_table_init",
    ) -> None:
        super().__init__(
            filename, dtypes.int64, key_column_index, dtypes.string, value_column_index,
            vocab_size, delimiter, name,
        )  # fmt: skip


class TextFileIdTableInitializer(TextFileInitializer):
    """An initializer for a table from strings to numbers. By default, the table maps lines to line
    numbers.
    """

    def __init__(
        self,
        filename: Any,
        key_column_index: int = WHOLE_LINE,
        value_column_index: int = LINE_NUMBER,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str = "text_file_id_table_init",
        key_dtype: Any = dtypes.string,
    ) -> None:
        super().__init__(
            filename, key_dtype, key_column_index, dtypes.int64, value_column_index,
            vocab_size, delimiter, name,
        )  # fmt: skip
