"""Tables from keys to values. They are filled once (`StaticTable`) or changed by runs
(`MutableTable`).

Keys and values are passed as arrays. A key is a scalar or, in a `DenseTable`, an array of shape
`key_shape`. All values have the shape `value_shape`. Tables are thread-safe.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import DType
from gpugraph.base.errors import (
    AbortedError,
    FailedPreconditionError,
    UnimplementedError,
    invalid_argument,
)
from gpugraph.base.fork_safe_locks import new_rlock
from gpugraph.base.shapes import shape_text
from gpugraph.ops.strings.hash_algorithms import murmur

_64_BITS = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7800


class TableTypes(NamedTuple):
    """The dtypes of a table's keys and values, and the shape of one value."""

    key_dtype: DType
    value_dtype: DType
    value_shape: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.key_dtype.name}-{self.value_dtype.name}"


def _shown(value: Any) -> str:
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


class MutableTable:
    """A table into which runs can insert entries, and from which they can remove entries.

    `_places` maps each key to the index of the row of `_values` that holds its value.
    """

    op_type = "MutableHashTable"
    key_shape: tuple[int, ...] = ()

    def __init__(self, name: str, types: TableTypes) -> None:
        self.name, self.types = name, types
        self._lock = new_rlock()
        self._clear()

    def _clear(self) -> None:
        shape = (1, *self.types.value_shape)
        self._places: dict[Any, int] = {}
        self._values = np.zeros(shape, self.types.value_dtype.as_numpy_dtype)
        self._unused: list[int] = []

    def _keys_of(self, keys: Any) -> tuple[list[Any], tuple[int, ...]]:
        """Return the keys in an array as a list. Also return the shape of the array without the
        axes of `key_shape`.
        """
        return keys.reshape(-1).tolist(), keys.shape

    def size(self) -> int:
        """Return the number of keys in the table."""
        return len(self._places)

    def find(self, keys: Any, default: Any) -> Any:
        """Return the values of keys, [*shape of the keys, *value_shape]. The value of a missing key
        is `default`.

        Raises InvalidArgumentError if a shape is wrong.

        Args:
          default: an array with the shape of one value or of the whole result.
        """
        listed, shape = self._keys_of(keys)
        value_shape = self.types.value_shape
        result_shape = (*shape, *value_shape)
        if default.shape not in (value_shape, result_shape):
            raise invalid_argument(
                f"Expected shape {shape_text(value_shape)} or {shape_text(result_shape)} for "
                f"default value, got {shape_text(default.shape)}"
            )
        with self._lock:
            indices = map(self._places.get, listed, repeat(-1))
            places = np.fromiter(indices, np.int64, len(listed))
            values = self._values[places]
        unknown = places < 0
        if unknown.any():
            defaults = np.broadcast_to(default, result_shape).reshape(values.shape)
            values[unknown] = defaults[unknown]
        return values.reshape(result_shape)

    def insert(self, keys: Any, values: Any) -> None:
        """Set the values, [*shape of the keys, *value_shape], of keys. If a key is repeated, the
        last value is used.
        """
        listed, shape = self._keys_of(keys)
        self._check_values(shape, values)
        with self._lock:
            self._put(listed, values.reshape(-1, *self.types.value_shape))

    def _check_values(self, shape: tuple[int, ...], values: Any) -> None:
        expected = (*shape, *self.types.value_shape)
        if values.shape != expected:
            raise invalid_argument(
                f"Expected shape {shape_text(expected)} for value, got {shape_text(values.shape)}"
            )

    def _put(self, keys: list[Any], values: Any) -> None:
        places = []
        for key in keys:
            place = self._places.get(key)
            if place is None:
                place = self._unused.pop() if self._unused else len(self._places)
                self._places[key] = place
            places.append(place)
        rows, needed = len(self._values), max(places, default=-1) + 1
        if needed > rows:
            grown = np.zeros((max(needed, 2 * rows), *self._values.shape[1:]), self._values.dtype)
            grown[:rows] = self._values
            self._values = grown
        self._values[places] = values

    def remove(self, keys: Any) -> None:
        """Remove keys from the table. Keys that it does not have are ignored."""
        listed, _ = self._keys_of(keys)
        with self._lock:
            for key in listed:
                place = self._places.pop(key, None)
                if place is not None:
                    self._unused.append(place)

    def replace(self, keys: Any, values: Any) -> None:
        """Remove all keys, and then insert these keys and values, as LookupTableImport does."""
        listed, shape = self._keys_of(keys)
        self._check_values(shape, values)
        with self._lock:
            self._clear()
            self._put(listed, values.reshape(-1, *self.types.value_shape))

    def initialize(self, keys: Any, values: Any) -> None:
        """Raise InvalidArgumentError, because a mutable table has no initializer."""
        raise invalid_argument(f"Table localhost {self.name} is not initializable")

    def export(self) -> list[Any]:
        """Return an array of all keys, and an array of their values in the same order."""
        with self._lock:
            return [self._key_array(list(self._places)), self._values[list(self._places.values())]]

    def _key_array(self, keys: list[Any]) -> Any:
        array = np.empty((len(keys), *self.key_shape), self.types.key_dtype.as_numpy_dtype)
        array[:] = keys or array
        return array


class StaticTable(MutableTable):
    """A table whose keys are set once, by its initializer. A lookup before that raises
    FailedPreconditionError.
    """

    op_type = "HashTable"
    _is_initialized = False

    def find(self, keys: Any, default: Any) -> Any:
        """Return the values of keys. See `MutableTable.find`.

        Raises FailedPreconditionError if the table is not initialized.
        """
        if not self._is_initialized:
            raise FailedPreconditionError(
                None, None, "Table not initialized. Run tf.tables_initializer() first."
            )
        return super().find(keys, default)

    def initialize(self, keys: Any, values: Any) -> None:
        """Set all keys. A second call with the same number of keys changes nothing.

        Raises FailedPreconditionError if a key has two values, or if a second call has a different
        number of keys. TensorFlow also compares only the numbers of keys.
        """
        if values.shape != keys.shape:
            raise invalid_argument(
                f"Expected shape {shape_text(keys.shape)} for value, got {shape_text(values.shape)}"
            )
        entries: dict[Any, Any] = {}
        for key, value in zip(keys.reshape(-1).tolist(), values.reshape(-1).tolist(), strict=True):
            if entries.setdefault(key, value) != value:
                raise FailedPreconditionError(
                    None,
                    None,
                    f"HashTable has different value for same key. Key {_shown(key)} has "
                    f"{_shown(entries[key])} and trying to add value {_shown(value)}",
                )
        with self._lock:
            if not self._is_initialized:
                self._put(keys.reshape(-1).tolist(), values.reshape(-1))
                self._is_initialized = True
        if len(entries) != self.size():
            raise FailedPreconditionError(
                None, None, "Table was already initialized with different data."
            )

    replace = initialize

    def insert(self, keys: Any, values: Any) -> None:
        """Raise UnimplementedError, because a static table never changes."""
        raise _fixed("Insert")

    def remove(self, keys: Any) -> None:
        """Raise UnimplementedError, because a static table never changes."""
        raise _fixed("Remove")

    def export(self) -> list[Any]:
        """Return all keys and their values. Raises AbortedError if the table is not initialized."""
        if not self._is_initialized:
            raise AbortedError(None, None, "HashTable is not initialized.")
        return super().export()


def _fixed(what: str) -> UnimplementedError:
    text = f"{what} not supported by InitializableLookupTable implementations"
    return UnimplementedError(None, None, text)


class DenseTable(MutableTable):
    """A mutable table that exports its contents as the buckets of TensorFlow's open addressing.

    Args:
      empty_key, deleted_key: reserved keys that mark unused buckets. Runs must not use them as
        keys.
      num_buckets: the initial number of buckets, a power of 2. It doubles when the keys occupy more
        than the fraction `max_load_factor` of the buckets.
    """

    op_type = "MutableDenseHashTable"

    def __init__(
        self,
        name: str,
        types: TableTypes,
        empty_key: Any,
        deleted_key: Any,
        num_buckets: int,
        max_load_factor: float,
    ) -> None:
        if empty_key.shape != deleted_key.shape:
            raise invalid_argument(
                "Empty and deleted keys must have same shape, got shapes: "
                f"{shape_text(empty_key.shape)} and {shape_text(deleted_key.shape)}"
            )
        if (empty_key == deleted_key).all():
            raise invalid_argument("Empty and deleted keys cannot be equal")
        if num_buckets < 4 or num_buckets & (num_buckets - 1):
            raise invalid_argument(
                f"Number of buckets must be at least 4 and a power of 2, got: {num_buckets}"
            )
        self.key_shape = empty_key.shape
        self._num_buckets, self._max_load_factor = num_buckets, max_load_factor
        ((self._empty,), _), ((self._deleted,), _) = map(self._rows, (empty_key, deleted_key))
        super().__init__(name, types)

    def _rows(self, keys: Any) -> tuple[list[Any], tuple[int, ...]]:
        """Return the result of `_keys_of`, without a check for reserved keys."""
        if not self.key_shape:
            return super()._keys_of(keys)
        outer = keys.shape[: keys.ndim - len(self.key_shape)]
        return list(map(tuple, keys.reshape(-1, np.prod(self.key_shape)).tolist())), outer

    def _keys_of(self, keys: Any) -> tuple[list[Any], tuple[int, ...]]:
        if self.key_shape and keys.shape[-len(self.key_shape) :] != self.key_shape:
            raise invalid_argument(
                f"Input key shape {shape_text(keys.shape)} must end with the table's key shape "
                f"{shape_text(self.key_shape)}"
            )
        listed, shape = self._rows(keys)
        for kind, key in (("empty_key", self._empty), ("deleted_key", self._deleted)):
            if key in listed:
                raise invalid_argument(f"Using the {kind} as a table key is not allowed")
        return listed, shape

    def replace(self, keys: Any, values: Any) -> None:
        """Remove all keys, and then insert the keys and values that `export` has returned. Empty
        and deleted keys mark unused buckets, and are skipped.
        """
        listed, _ = self._rows(keys.reshape(-1, *self.key_shape))
        rows = values.reshape(-1, *self.types.value_shape)
        if len(listed) != len(rows):
            self._check_values((len(listed),), rows)
        used = [n for n, key in enumerate(listed) if key not in (self._empty, self._deleted)]
        with self._lock:
            self._clear()
            self._put([listed[n] for n in used], rows[used])

    def export(self) -> list[Any]:
        """Return the keys [number of buckets, *key_shape] and the values of all buckets.

        An unused bucket has the empty key, and zeros as its value.
        """
        with self._lock:
            while len(self._places) > self._num_buckets * self._max_load_factor:
                self._num_buckets *= 2
            buckets: dict[int, Any] = {}
            for key in self._places:
                number, probes = self._hash(key) % self._num_buckets, 0
                while number in buckets:
                    probes += 1
                    number = (number + probes) % self._num_buckets
                buckets[number] = key
            keys = [buckets.get(number, self._empty) for number in range(self._num_buckets)]
            shape = (self._num_buckets, *self.types.value_shape)
            values = np.zeros(shape, self._values.dtype)
            if self._values.dtype == object:
                values.fill(b"")
            values[list(buckets)] = self._values[[self._places[key] for key in buckets.values()]]
        return [
            self._key_array(keys).reshape(self._num_buckets, -1),
            values.reshape(self._num_buckets, -1),
        ]

    def _hash(self, key: Any) -> int:
        """Return the 64-bit hash of a key. TensorFlow's lookup_table_op.cc computes the same
        hash.
        """
        parts = key if isinstance(key, tuple) else (key,)
        hashes = [murmur(p) if isinstance(p, bytes) else int(p) & _64_BITS for p in parts]
        if len(hashes) == 1:
            return hashes[0]
        result = 0
        for number in hashes:
            increment = number + _GOLDEN + (result << 10) + (result >> 4)
            result ^= increment & _64_BITS
        return result


def check_types(table: MutableTable, types: TableTypes, name: str) -> None:
    """Raise InvalidArgumentError if a node refers to a shared table whose dtypes are not the dtypes
    `types` of the node.
    """
    if table.types[:2] != types[:2]:
        raise invalid_argument(
            f"Conflicting key/value dtypes {str(types).replace('-', '->')} with {table.types} for "
            f"table {name}"
        )
