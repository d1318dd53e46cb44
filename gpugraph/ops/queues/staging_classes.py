"""The classes StagingArea and MapStagingArea of TensorFlow's module data_flow_ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpugraph.base import dtypes as dtypes_module
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.default_graph_functions import (
    colocate_with,
    get_default_graph,
    name_scope,
)
from gpugraph.graph.client.operation import Operation
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.control.group_and_no_op import no_op
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


class BaseStagingArea:
    """The base class of both kinds of staging areas. It has the limits of an area, and the dtypes,
    shapes and names of a tuple's values.

    Args:
      dtypes: a list of the values' dtypes.
      shapes, names: lists of the values' shapes and names, or None. The constructor raises
        ValueError if a list is not as long as `dtypes`.
      capacity: the maximum number of tuples.
      memory_limit: the maximum number of bytes, or 0 for no limit.
      shared_name: the name under which several areas in a session share their tuples.
    """

    def __init__(
        self,
        dtypes: Sequence[Any],
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        kind = type(self).__name__
        self._name = shared_name or get_default_graph().unique_name(kind)
        self._dtypes = [as_dtype(dtype) for dtype in dtypes]
        for what, values in (("shapes", shapes), ("names", names)):
            if values is not None and len(values) != len(self._dtypes):
                raise ValueError(f"StagingArea {what} must be the same length as dtypes")
        self._shapes = [
            TensorShape.of(None) if shapes is None else as_shape(shapes[number])
            for number in range(len(self._dtypes))
        ]
        self._names: list[str] | None = None if names is None else list(names)
        self._capacity, self._memory_limit = capacity, memory_limit
        with name_scope(f"{self._name}_root"):
            self._root = no_op()

    @property
    def name(self) -> str:
        """The name under which the session holds the area."""
        return self._name

    @property
    def dtypes(self) -> list[DType]:
        """The dtypes of a tuple's values."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of a tuple's values."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The names of a tuple's values, or None."""
        return self._names

    @property
    def capacity(self) -> int:
        """The maximum number of tuples. 0 means no limit."""
        return self._capacity

    @property
    def memory_limit(self) -> int:
        """The maximum number of bytes that the area holds. 0 means no limit."""
        return self._memory_limit

    def _make(self, op: Callable[..., Any], *inputs: Any, name: Any, **attrs: Any) -> Any:
        """Create an operation on the area, on the device of all other operations on the area."""
        with colocate_with(self._root):
            return op(
                *inputs,
                shared_name=self._name,
                capacity=self._capacity,
                memory_limit=self._memory_limit,
                name=name,
                **attrs,
            )

    def _inputs(self, vals: Any, indices: Any) -> tuple[list[Tensor], list[int]]:
        """Return `vals` as tensors, and their positions in a tuple.

        Raises ValueError if `vals` has the wrong type, or if names, indices or dtypes do not match.

        Args:
          vals: a dictionary from names to values, or a list of values whose positions are
            `indices`.
        """
        if isinstance(vals, Mapping):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if not set(vals) <= set(self._names):
                raise ValueError(
                    f"Keys in dictionary to put do not match names of staging area. Dictionary: "
                    f"{sorted(vals)}Queue: {sorted(self._names)}"
                )
            numbers = [number for number, name in enumerate(self._names) if name in vals]
            values = [vals[self._names[number]] for number in numbers]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a staging area with names")
            if indices is None:
                raise ValueError("Indices must be supplied when inserting a list of tensors")
            numbers, values = self._numbers(indices), list(vals)
            if len(numbers) != len(values):
                raise ValueError(
                    f"Number of indices '{len(numbers)}' doesn't match number of values "
                    f"'{len(values)}'"
                )
        return [self._tensor(*pair) for pair in zip(numbers, values)], numbers

    def _tensor(self, number: int, value: Any) -> Tensor:
        dtype = self._dtypes[number]
        tensor = value if isinstance(value, Tensor) else convert_to_tensor(value, dtype)
        if tensor.dtype.base_dtype is not dtype:
            raise ValueError(f"Datatypes do not match. '{tensor.dtype}' != '{dtype}'")
        tensor.shape.assert_is_compatible_with(self._shapes[number])
        return tensor

    def _numbers(self, indices: Any) -> list[int]:
        """Return the positions of values, from their indices or names.

        Raises ValueError if an index or name is unknown, and TypeError unless `indices` is a list.
        """
        if not isinstance(indices, (list, tuple)):
            raise TypeError(f"Invalid indices type '{type(indices)}'")
        names = self._names or []
        numbers = [names.index(i) if isinstance(i, str) else int(i) for i in indices]
        if not all(0 <= number < len(self._dtypes) for number in numbers):
            raise ValueError(f"Indices {indices} are not those of {len(self._dtypes)} values")
        return numbers

    def _outputs(self, tensors: Sequence[Tensor], numbers: Sequence[int]) -> Any:
        """Return the values at `numbers` as the result of a get: a list, or a dictionary if the
        values have names.
        """
        for tensor, number in zip(tensors, numbers):
            tensor.set_shape(self._shapes[number])
        if self._names:
            return {self._names[number]: t for number, t in zip(numbers, tensors)}
        return list(tensors)


class StagingArea(BaseStagingArea):
    """A staging area. Some runs put tuples of tensors into it, and other runs get the tuples in the
    same order.

    For example, the area can hold the inputs of the next training step while a step runs. See
    `BaseStagingArea` for the parameters.
    """

    def put(self, values: Any, name: str | None = None) -> Operation:
        """Return an operation that adds the tuple `values`, which is a list of tensors, a single
        tensor, or a dictionary from names to tensors.

        The operation waits while the area is full. Raises ValueError if the number of values, or
        their dtypes, shapes or names, do not match the area.
        """
        with name_scope(name, f"{self._name}_put") as scope:
            if not isinstance(values, (list, tuple, Mapping)):
                values = [values]
            count = len(self._dtypes)
            if len(values) != count:
                raise ValueError(f"Unexpected number of inputs {len(values)} vs {count}")
            tensors, _ = self._inputs(values, list(range(count)))
            operation: Operation = self._make(raw_ops.Stage, tensors, name=scope)
        return operation

    def get(self, name: str | None = None) -> Any:
        """Remove the first tuple, and return it as a list, or as a dictionary if its values have
        names.

        The run waits until there is a tuple.
        """
        tensors = self._make(raw_ops.Unstage, dtypes=self._dtypes, name=name or f"{self._name}_get")
        return self._outputs(tensors, range(len(self._dtypes)))

    def peek(self, index: Any, name: str | None = None) -> Any:
        """Return the tuple at `index` without removing it. The run waits until there is such a
        tuple.
        """
        tensors = self._make(
            raw_ops.StagePeek, index, dtypes=self._dtypes, name=name or f"{self._name}_peek"
        )
        return self._outputs(tensors, range(len(self._dtypes)))

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of tuples, an int32 scalar."""
        tensor: Tensor = self._make(
            raw_ops.StageSize, dtypes=self._dtypes, name=name or f"{self._name}_size"
        )
        return tensor

    def clear(self, name: str | None = None) -> Operation:
        """Return an operation that removes all tuples."""
        operation: Operation = self._make(
            raw_ops.StageClear, dtypes=self._dtypes, name=name or f"{self._name}_clear"
        )
        return operation


class MapStagingArea(BaseStagingArea):
    """A staging area of tuples of tensors under int64 keys. The values of a tuple may be put and
    taken separately.

    See `BaseStagingArea` for the remaining parameters.

    Args:
      ordered: whether a `get` without a key returns the tuple of the smallest key.
    """

    def __init__(
        self,
        dtypes: Sequence[Any],
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        ordered: bool = False,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._prefix = "Ordered" if ordered else ""

    def _op(self, op_type: str) -> Any:
        return getattr(raw_ops, f"{self._prefix}{op_type}")

    def put(self, key: Any, vals: Any, indices: Any = None, name: str | None = None) -> Operation:
        """Return an operation that puts values under a key. The operation waits while the area is
        full.

        Args:
          vals: a list of values, whose positions in the tuple are `indices`, or a dictionary from
            names to values. Other values of the tuple may be put later. A get waits until the tuple
            is complete.
        """
        with name_scope(name, f"{self._name}_put") as scope:
            tensors, numbers = self._inputs(vals, indices)
            operation: Operation = self._make(
                self._op("MapStage"),
                convert_to_tensor(key, dtypes_module.int64),
                np.array(numbers, np.int32),
                tensors,
                dtypes=self._dtypes,
                name=scope,
            )
        return operation

    def _chosen(self, indices: Any) -> list[int]:
        return list(range(len(self._dtypes))) if indices is None else self._numbers(indices)

    def peek(self, key: Any, indices: Any = None, name: str | None = None) -> Any:
        """Return the values of a key without removing them. If `indices` is not None, return only
        the values at these positions.

        The run waits until the key's tuple is complete.
        """
        return self._of_key("MapPeek", key, indices, name or f"{self._name}_pop")

    def _of_key(self, op_type: str, key: Any, indices: Any, name: str) -> Any:
        numbers = self._chosen(indices)
        tensors = self._make(
            self._op(op_type),
            convert_to_tensor(key, dtypes_module.int64),
            np.array(numbers, np.int32),
            dtypes=[self._dtypes[number] for number in numbers],
            name=name,
        )
        return self._outputs(tensors, numbers)

    def get(self, key: Any = None, indices: Any = None, name: str | None = None) -> Any:
        """Remove the values of a key, and return the key and the values. If `indices` is not None,
        remove only the values at these positions.

        The run waits until the key's tuple is complete. If the key is None, a complete tuple is
        chosen. It is the tuple of the smallest key if the area is ordered, otherwise the tuple that
        was complete first.
        """
        if key is not None:
            name = name or f"{self._name}_get"
            key = convert_to_tensor(key, dtypes_module.int64)
            return key, self._of_key("MapUnstage", key, indices, name)
        numbers = self._chosen(indices)
        key, values = self._make(
            self._op("MapUnstageNoKey"),
            np.array(numbers, np.int32),
            dtypes=[self._dtypes[number] for number in numbers],
            name=name or f"{self._name}_get_nokey",
        )
        return key, self._outputs(values, numbers)

    def _query(self, op_type: str, name: str) -> Any:
        return self._make(self._op(op_type), dtypes=self._dtypes, name=name)

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of keys whose tuple is complete, an int32 scalar."""
        tensor: Tensor = self._query("MapSize", name or f"{self._name}_size")
        return tensor

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """Return the number of keys whose tuple is incomplete, an int32 scalar."""
        name = name or f"{self._name}_incomplete_size"
        tensor: Tensor = self._query("MapIncompleteSize", name)
        return tensor

    def clear(self, name: str | None = None) -> Operation:
        """Return an operation that removes all tuples, including incomplete ones."""
        operation: Operation = self._query("MapClear", name or f"{self._name}_clear")
        return operation
