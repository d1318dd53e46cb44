"""Partitioned variables: several variables, the parts of one variable along one axis, that can be
used as one tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.named_function import named, with_parameters_of
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.building.variables.variable import Variable
from gpugraph.graph.client.client_graph import Graph
from gpugraph.graph.client.tensor import OPERATOR_NAMES, Tensor
from gpugraph.graph.op_library import OPERATORS
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.split_and_unstack import split
from gpugraph.ops.framework.identity_and_shape import identity
from gpugraph.ops.framework.tensor_conversion import register_tensor_conversion_function


def _by_parts(kind: str, doc: str) -> Callable[..., list[Any]]:
    """Return the method `kind` of a partitioned variable. It calls the same method of each part,
    with the slice of the value for this part.
    """

    @with_parameters_of(Variable.assign)
    @named(kind, doc)
    def change(self: PartitionedVariable, value: Any, **options: Any) -> list[Any]:
        shares = self._shares(value)
        return [getattr(part, kind)(share, **options) for part, share in zip(self, shares)]

    return change


class PartitionedVariable:
    """The parts of the variable `name`, in order. The object is iterable, and can be used wherever
    a tensor can.

    Args:
      shape, dtype: the shape and dtype of the whole variable.
      variable_list: the parts. The positions of the parts are in their `SaveSliceInfo`.
      partitions: the number of parts in each dimension. Only one of these numbers may be above 1.
    """

    def __init__(
        self,
        name: str,
        shape: Any,
        dtype: Any,
        variable_list: Sequence[Variable],
        partitions: Sequence[int],
    ) -> None:
        if not isinstance(variable_list, (list, tuple)):
            raise TypeError(f"variable_list is not a list or tuple: {variable_list!r}")
        for part in variable_list:
            info = part._get_save_slice_info()
            if info is None or info.full_name != name:
                raise ValueError(f"'{part.name}' is not a part of '{name}': its slice is {info}")
        if not isinstance(partitions, (list, tuple)) or any(count < 1 for count in partitions):
            raise ValueError(f"The partitions of '{name}' must be positive: {partitions!r}")
        self._name = name
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)
        self._parts = list(variable_list)
        self._partitions = partitions

    @property
    def name(self) -> str:
        """The name of the whole variable."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole variable."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """Return the shape of the whole variable, which is also the property `shape`."""
        return self._shape

    @property
    def graph(self) -> Graph:
        """The graph of the parts."""
        return self._parts[0].graph

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self._parts)

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._parts)

    def __repr__(self) -> str:
        return (
            f"<tf.PartitionedVariable '{self._name}' shape={self._shape} "
            f"dtype={self._dtype.name} partitions={list(self._partitions)}>"
        )

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def _get_variable_list(self) -> list[Variable]:
        return self._parts

    def _get_partitions(self) -> Sequence[int]:
        return self._partitions

    def _axis(self) -> int:
        """Return the axis along which the variable is divided. If the variable has one part, return
        0.
        """
        return next((axis for axis, parts in enumerate(self._partitions) if parts > 1), 0)

    def as_tensor(self) -> Tensor:
        """Return the parts concatenated to one tensor. The current control dependencies are
        ignored.
        """
        graph = self.graph
        with graph.control_dependencies(None):
            joined: Any = self._parts[0]
            if len(self._parts) > 1:
                with graph.name_scope(f"{self._name}/ConcatPartitions/"):
                    joined = concat(self._parts, self._axis())
            with graph.name_scope(None):
                return identity(joined, name=self._name)

    def _shares(self, value: Any) -> Sequence[Any]:
        """Return the slice of `value` for each part, in order. Raises ValueError if `value` is a
        list whose length is not the number of parts.

        Args:
          value: a list with one value for each part, or a tensor with the shape of the whole
            variable, which is split.
        """
        if isinstance(value, (list, PartitionedVariable)):
            shares: Sequence[Any] = list(value)
        else:
            axis = self._axis()
            sizes = [part.shape.as_list()[axis] for part in self._parts]
            shares = split(value, sizes, axis=axis)
        if len(shares) != len(self._parts):
            raise ValueError(
                f"'{self._name}' has {len(self._parts)} parts, but {len(shares)} values are given"
            )
        return shares

    assign = _by_parts(
        "assign",
        """Write `value`, a tensor of the whole or a list of parts, into the parts.

        Return the parts' references, or the operations without `read_value`.
        """,
    )
    assign_add = _by_parts(
        "assign_add", "Add `value` to the parts; arguments and result as for `assign`."
    )
    assign_sub = _by_parts(
        "assign_sub", "Subtract `value` from the parts; arguments and result as for `assign`."
    )


def _operator(name: str) -> Any:
    def operate(self: PartitionedVariable, *others: Any) -> Any:
        return OPERATORS[name](self.as_tensor(), *others)

    operate.__name__ = name
    return operate


def variable_parts(variable: Any) -> list[Any]:
    """Return the parts of a PartitionedVariable. For any other value, return a list with only this
    value.
    """
    return list(variable) if isinstance(variable, PartitionedVariable) else [variable]


def is_created_since(variable: Any, version: int) -> bool:
    """Return whether all parts of a variable were created after the graph had reached `version`.

    A custom getter may return an older variable for any name.
    """
    return all(part.op._id >= version for part in variable_parts(variable))


PartitionedVariable.__array_priority__ = 100  # type: ignore[attr-defined]

for _name in OPERATOR_NAMES:
    setattr(PartitionedVariable, _name, _operator(_name))


def _as_tensor(
    value: PartitionedVariable, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    del name
    if dtype is not None and not dtype.base_dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for partitioned "
            f"variable '{value.name}' of type '{value.dtype.name}'"
        )
    if as_ref:
        raise NotImplementedError(
            f"Partitioned variable '{value.name}' has no one reference: change its parts"
        )
    return value.as_tensor()


register_tensor_conversion_function(PartitionedVariable, _as_tensor, 20)
