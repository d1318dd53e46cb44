"""Tables that are filled once, and vocabularies with buckets for unknown words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from gpugraph.base import dtypes
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.default_graph_functions import init_scope, name_scope
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.lookup.lookup_interface import LookupInterface, size_of, with_values
from gpugraph.library.lookup.table_initializers import TableInitializerBase
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.control.group_and_no_op import no_op
from gpugraph.ops.elementwise.arithmetic_functions import add
from gpugraph.ops.elementwise.comparison_and_select import not_equal, where
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.sparse.sparse_tensor import SparseTensor
from gpugraph.ops.strings.hash_buckets import (
    string_to_hash_bucket,
    string_to_hash_bucket_fast,
    string_to_hash_bucket_strong,
)
from gpugraph.ops.strings.string_to_number import as_string


class InitializableLookupTableBase(LookupInterface):
    """A table that is filled when a run executes the operation `initializer`.

    `tf.tables_initializer()` runs the initializers of all tables.

    Args:
      default_value: a scalar, the value of missing keys.
      initializer: a `TableInitializerBase`, which supplies keys and values.
    """

    def __init__(self, default_value: Any, initializer: Any) -> None:
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        self._default_value = convert_to_tensor(default_value, dtype=self._value_dtype)
        self._default_value.get_shape().merge_with(TensorShape.of(()))
        self._initializer = initializer
        with init_scope():
            self._resource_handle = self._create_resource()
            self._init_op = self._initialize()

    def _initialize(self) -> Operation:
        operation: Operation = self._initializer.initialize(self)
        return operation

    @property
    def initializer(self) -> Operation:
        """The operation that fills the table. A second run has no effect."""
        return self._init_op

    @property
    def init(self) -> Operation:
        """The operation `initializer`. This is an older name for it."""
        return self.initializer

    @property
    def default_value(self) -> Tensor:
        """The value of missing keys, a scalar tensor."""
        return self._default_value

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of keys, an int64 scalar. It is 0 before the table is filled."""
        return size_of(self, name)

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the value of each key, in the shape of `keys`. If `keys` is a SparseTensor, the
        result is also a SparseTensor.

        Raises TypeError if the dtype of the keys is not the table's key dtype. A run raises
        FailedPreconditionError if the table is not filled yet.
        """
        self._check_keys(keys)
        values = keys.values if isinstance(keys, SparseTensor) else keys
        inputs = self.resource_handle, values, self._default_value
        with name_scope(name, f"{self.name}_Lookup", inputs):
            result = raw_ops.LookupTableFindV2(*inputs)
        result.set_shape(values.get_shape())
        return with_values(keys, result)


class HashTable(InitializableLookupTableBase):
    """A table of keys and values that an initializer fills once.

    Args:
      shared_name: a name. Tables of a session with the same shared name share their contents.
    """

    def __init__(
        self,
        initializer: TableInitializerBase,
        default_value: Any,
        shared_name: str | None = None,
        name: str | None = None,
    ) -> None:
        self._shared_name = shared_name or ""
        self._name = name or "hash_table"
        self._table_name: str | None = None
        super().__init__(default_value, initializer)

    def _create_resource(self) -> Any:
        handle = raw_ops.HashTableV2(
            shared_name=self._shared_name,
            key_dtype=self._initializer.key_dtype,
            value_dtype=self._initializer.value_dtype,
            name=self._name,
        )
        self._table_name = handle.op.name.split("/")[-1]
        return handle

    @property
    def name(self) -> Any:
        """The name of the table's operation, without name scopes."""
        return self._table_name

    def export(self, name: str | None = None) -> Any:
        """Return a vector of all keys and a vector of their values, in an unspecified order."""
        with name_scope(name, f"{self.name}_Export", [self.resource_handle]):
            return raw_ops.LookupTableExportV2(
                self.resource_handle, Tkeys=self._key_dtype, Tvalues=self._value_dtype
            )


class StaticHashTable(HashTable):
    """A table of keys and values that an initializer fills once.

    Tables of a session that are filled from the same columns of the same file share their contents.
    """

    def __init__(
        self, initializer: TableInitializerBase, default_value: Any, name: str | None = None
    ) -> None:
        shared_name = getattr(
            initializer, "_shared_name", None
        )  # an initializer of the user's class may have no `_shared_name`
        super().__init__(initializer, default_value, shared_name, name)


class HasherSpec(NamedTuple):
    """The hash function that chooses a bucket for an unknown word: its name, and its key if it has
    a key.
    """

    hasher: str
    key: Any = None


FastHashSpec = HasherSpec("fasthash", None)


class StrongHashSpec(HasherSpec):
    """The spec of a hash function whose results can't be predicted without its key, a list of two
    64-bit ints.
    """

    __slots__ = ()

    def __new__(cls, key: Sequence[int]) -> StrongHashSpec:
        """Create the spec with this key.

        Raises ValueError unless the key has two elements, and TypeError unless they are ints.
        """
        if len(key) != 2:
            raise ValueError(f"key must have size 2, got {len(key)}.")
        if not all(isinstance(part, int) for part in key):
            raise TypeError(f"Invalid key {key}. Must be unsigned integer values.")
        return super().__new__(cls, "stronghash", key)


def _hash_function(spec: HasherSpec) -> Callable[..., Tensor]:
    """Return the op function that maps strings to bucket numbers with the hash function of `spec`.

    Raises ValueError for an unknown hash function.
    """
    if spec.hasher == "stronghash":
        return partial(string_to_hash_bucket_strong, key=spec.key)
    functions: dict[str, Callable[..., Tensor]] = {
        "fasthash": string_to_hash_bucket_fast,
        "legacy": string_to_hash_bucket,
    }
    if spec.hasher not in functions:
        raise ValueError(f"Unknown hasher {spec.hasher}")
    return functions[spec.hasher]


class IdTableWithHashBuckets(LookupInterface):
    """A table from words to ids. A word in the wrapped table has the same id as in that table. All
    other words get the id of a bucket.

    The constructor raises TypeError if a dtype is not one of the dtypes below or the HasherSpec is
    invalid, and ValueError if there is neither a table nor a bucket.

    Args:
      table: the wrapped table, which maps strings or int64 numbers to int64 ids from 0 to size - 1.
        If it is None, all words get the id of a bucket.
      num_oov_buckets: the number of buckets. Their ids follow the ids of `table`.
      hasher_spec: the hash function that chooses a bucket.
      key_dtype: the dtype of the keys of `lookup`: strings, or integers for a table of integers.
    """

    def __init__(
        self,
        table: Any,
        num_oov_buckets: int,
        hasher_spec: HasherSpec = FastHashSpec,
        name: str | None = None,
        key_dtype: Any = None,
    ) -> None:
        if table is not None:
            key_dtype = table.key_dtype if key_dtype is None else dtypes.as_dtype(key_dtype)
            _check_vocabulary(table, key_dtype)
        elif num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0 if no table is supplied.")
        key_dtype = dtypes.string if key_dtype is None else dtypes.as_dtype(key_dtype)
        if not key_dtype.is_integer and key_dtype != dtypes.string:
            raise TypeError(f"Invalid key_dtype, expected integer or string, got {key_dtype}.")
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"hasher_spec must be of type HasherSpec, got {hasher_spec}")
        self._table, self._num_oov_buckets = table, num_oov_buckets
        self._hasher_spec = hasher_spec
        whole_name = (name or "").rstrip("/") or ("hash_bucket" if table is None else table.name)
        self._table_name = whole_name.split("/")[-1]
        super().__init__(key_dtype, dtypes.int64)

    def _create_resource(self) -> Any:
        return None if self._table is None else self._table._create_resource()

    @property
    def initializer(self) -> Operation:
        """The operation that fills the wrapped table. If there is no wrapped table, it is a
        NoOp.
        """
        if self._table is not None:
            operation: Operation = self._table.initializer
            return operation
        with name_scope(None, "init"):
            return no_op()

    @property
    def init(self) -> Operation:
        """The operation `initializer`. This is an older name for it."""
        return self.initializer

    @property
    def resource_handle(self) -> Any:
        """The handle of the wrapped table, or None if there is no wrapped table."""
        return None if self._table is None else self._table.resource_handle

    @property
    def name(self) -> Any:
        """The name of the wrapped table. If there is no wrapped table, it is the name of the
        buckets.
        """
        return self._table_name

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of words in the wrapped table plus the number of buckets, an int64
        scalar.
        """
        with name_scope(name, f"{self.name}_Size"):
            size = convert_to_tensor(0, dtypes.int64) if self._table is None else self._table.size()
            return size + self._num_oov_buckets

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the id of each word, in the shape of `keys`. If `keys` is a SparseTensor, the
        result is also a SparseTensor.

        Raises TypeError if the dtype of the keys is not `key_dtype`.
        """
        self._check_keys(keys)
        values = keys.values if isinstance(keys, SparseTensor) else keys
        if self._table is not None and self._table.key_dtype.base_dtype == dtypes.int64:
            values = cast(values, dtypes.int64)
        if self._num_oov_buckets == 0:
            return with_values(keys, self._table.lookup(values, name=name))
        with name_scope(name, f"{self.name}_Lookup"):
            strings = values if values.dtype.base_dtype == dtypes.string else as_string(values)
            ids = _hash_function(self._hasher_spec)(
                strings, num_buckets=self._num_oov_buckets, name="hash_bucket"
            )
            if self._table is not None:
                known = self._table.lookup(values)
                ids = add(ids, self._table.size())
                ids = where(not_equal(known, self._table.default_value), known, ids)
        return with_values(keys, ids)


def _check_vocabulary(table: Any, key_dtype: dtypes.DType) -> None:
    """Raise TypeError if a table or initializer can't map keys of this dtype to ids."""
    supported = dtypes.int64, dtypes.string
    if table.key_dtype not in supported:
        raise TypeError(f"Invalid key dtype, expected one of {supported}, but got {key_dtype}.")
    if table.key_dtype.is_integer != key_dtype.is_integer:
        kind = "integer" if key_dtype.is_integer else "non-integer"
        raise TypeError(f"Invalid key dtype, expected {kind} but got {table.key_dtype}.")
    if table.value_dtype != dtypes.int64:
        raise TypeError(
            f"Invalid value dtype, expected {dtypes.int64} but got {table.value_dtype}."
        )


class StaticVocabularyTable(IdTableWithHashBuckets):
    """A table from words to ids. The initializer provides the ids of known words. All other words
    get the id of a bucket.

    The constructor raises ValueError if there are no buckets, and TypeError if a dtype is not one
    of the dtypes below.

    Args:
      initializer: maps strings or int64 numbers to int64 ids. If it is None, all words get the id
        of a bucket.
      num_oov_buckets: the number of buckets, at least 1.
      lookup_key_dtype: the dtype of the keys of `lookup`.
    """

    def __init__(
        self,
        initializer: TableInitializerBase | None,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0.")
        table = None
        if initializer is not None:
            dtype = initializer.key_dtype if lookup_key_dtype is None else lookup_key_dtype
            _check_vocabulary(initializer, dtypes.as_dtype(dtype))
            table = StaticHashTable(initializer, default_value=-1)
        key_dtype = dtypes.string if table is None else lookup_key_dtype
        super().__init__(table, num_oov_buckets, FastHashSpec, name, key_dtype)
