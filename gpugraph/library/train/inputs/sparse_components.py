"""SparseTensors as components of a queue's elements. The queue stores each SparseTensor as three
strings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.parsing.serialized_sparse import (
    deserialize_many_sparse,
    serialize_many_sparse,
    serialize_sparse,
)
from gpugraph.ops.sparse.sparse_tensor import SparseTensor


def without_sparse(tensors: Sequence[Any]) -> list[Any]:
    """Return the tensors, with each SparseTensor replaced by its `values`."""
    return [item.values if isinstance(item, SparseTensor) else item for item in tensors]


def sparse_components(lists: Sequence[Sequence[Any]]) -> dict[int, SparseTensor]:
    """Return a dict from index to component, for the components of the first list that are
    SparseTensors.

    Raises ValueError if the SparseTensors of the lists have different indices, and TypeError if
    their dtypes differ.
    """
    sparse = [
        {index: item for index, item in enumerate(tensors) if isinstance(item, SparseTensor)}
        for tensors in lists
    ]
    for other in sparse[1:]:
        if other.keys() != sparse[0].keys():
            raise ValueError(
                "Inconsistent SparseTensors list: some of tensors_list have SparseTensors as "
                f"components {sorted(sparse[0])}, others as {sorted(other)}"
            )
        for index, item in other.items():
            if item.dtype != sparse[0][index].dtype:
                raise TypeError(
                    "Expected types to be consistent: "
                    f"{sparse[0][index].dtype.name} vs. {item.dtype.name}."
                )
    return sparse[0]


def storable(tensor: Any, many: bool) -> Tensor:
    """Return `tensor` in a form that a queue can hold.

    A SparseTensor becomes three strings. If `many` is true, it becomes three strings for each of
    its rows.
    """
    if not isinstance(tensor, SparseTensor):
        return convert_to_tensor(tensor)
    return serialize_many_sparse(tensor) if many else serialize_sparse(tensor)


def with_sparse(batch: Any, sparse: Mapping[int, SparseTensor], many: bool) -> Any:
    """Restore the sparse components of a batch as SparseTensors, with a row for each element.

    Args:
      sparse: a dict from positions to the original SparseTensors.
      many: whether each original SparseTensor contained several elements, one in each row.
    """
    if not sparse:
        return batch
    components = list(batch) if isinstance(batch, list) else [batch]
    for index, item in sparse.items():
        (rank,) = item.dense_shape.get_shape().with_rank(1).as_list()
        rank = rank if rank is None or many else rank + 1
        components[index] = deserialize_many_sparse(components[index], item.dtype, rank)
    return components if isinstance(batch, list) else components[0]
