"""The division of a variable into parts, as a partitioner chooses it, and the slice of a value that
initializes each part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gpugraph.base.dtypes import DType
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.building.variable_scope.variable_request import VariableSpec
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.indexing.strided_slice import slice as slice_of


def full_shape(spec: VariableSpec) -> TensorShape:
    """Return the requested shape of the whole variable. If the initial value is a tensor, merge the
    requested shape with the shape of the tensor.
    """
    shape = as_shape(spec.shape)
    if isinstance(spec.initializer, Tensor):
        shape = shape.merge_with(spec.initializer.shape)
    return shape


def partitions_of(spec: VariableSpec, shape: TensorShape, dtype: DType) -> list[int]:
    """Return the number of parts in each dimension, as the partitioner chooses it. Raises
    ValueError if a number is invalid.
    """
    sizes = shape.sizes
    if sizes is None or None in sizes:
        raise ValueError(
            f"Shape of a new partitioned variable must be fully defined, but instead was {shape} "
            f"(variable {spec.name})."
        )
    if not sizes:
        raise ValueError(
            f"A partitioned Variable must have rank at least 1, but {spec.name} is a scalar."
        )
    answer = spec.partitioner(shape=shape, dtype=dtype)
    fault = _fault(answer, shape)
    if fault:
        raise ValueError(f"{fault} (variable {spec.name})")
    return [int(parts) for parts in answer]


def _fault(answer: Any, shape: TensorShape) -> str | None:
    """Return the reason why a partitioner's answer is invalid, or None if it is valid."""
    if not isinstance(answer, Sequence) or isinstance(answer, (str, bytes)):
        return f"Partitioner must return a sequence, but saw: {answer!r}"
    if len(answer) != shape.rank:
        return (
            "Partitioner returned a partition list that does not match the Variable's rank: "
            f"{answer} vs. {shape}"
        )
    if any(parts < 1 for parts in answer):
        return f"Partitioner returned zero partitions for some axes: {answer}"
    if sum(parts > 1 for parts in answer) > 1:
        return (
            f"Can only slice a variable along one dimension: shape: {shape}, partitioning: {answer}"
        )
    return None


def cut(sizes: Sequence[int], partitions: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the offset and the shape of each part of a variable.

    If the size doesn't divide evenly, the first parts each have one additional row.

    Args:
      sizes: the shape of the variable.
      partitions: the number of parts in each dimension.
    """
    axis = next((axis for axis, parts in enumerate(partitions) if parts > 1), 0)
    size, larger = divmod(sizes[axis], partitions[axis])
    offset, shape = [0] * len(sizes), list(sizes)
    for index in range(partitions[axis]):
        shape[axis] = size + (index < larger)
        yield list(offset), list(shape)
        offset[axis] += shape[axis]


def check_count(name: str, count: int, known: Any) -> None:
    """Raise ValueError if the variable `name` exists with a number of parts other than `count`.

    Args:
      known: the names of existing variables and parts.
    """
    there = f"{name}/part_0" in known
    last, next_one = f"{name}/part_{count - 1}", f"{name}/part_{count}"
    if there and (last not in known or next_one in known):
        raise ValueError(
            "Partitioner returned a different partitioning than what was already found. It "
            f"returned {count} shards, and shard {name}/part_0 was found, but "
            + (f"so was the extra shard {next_one}." if last in known else f"{last} was not.")
        )


def share(spec: VariableSpec, part_name: str, offset: list[int], shape: list[int]) -> Any:
    """Return the initializer of one part. If the initializer of the whole variable is a function,
    return this function. Otherwise return a slice of the initial value.
    """
    graph = get_default_graph()
    with graph.name_scope(f"{part_name}/PartitionedInitializer"):
        if not spec.gives_value:
            return spec.initializer
        value = spec.initializer
        if not isinstance(value, Tensor):
            value = convert_to_tensor(value, spec.dtype)
        return slice_of(value, offset, shape)
