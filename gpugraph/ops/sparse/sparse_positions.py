"""Where the elements of sparse tensors are: rows of indices as numbers in row-major order."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from gpugraph.base.errors import InvalidArgumentError, invalid_argument
from gpugraph.graph.inference_context import InferContext
from gpugraph.ops.framework.kernel_registry import HostOnly
from gpugraph.ops.framework.shape_functions import of_rank

BY_VALUE = HostOnly("how large its outputs are depends on indices, which the host must read")
COMPUTED = HostOnly("positions are checked, and elements of one place combined, on the host")


def refuse(message: str) -> InvalidArgumentError:
    """The error of a run that is given what it can't do."""
    return invalid_argument(message)


def _first(rows: Any) -> int:
    return int(np.flatnonzero(rows)[0])


def positions(indices: Any, shape: Sequence[int]) -> Any:
    """The row-major number of each row of `indices`; InvalidArgumentError for one outside."""
    sizes = np.asarray(shape, np.int64).reshape(-1)
    if indices.shape[1] != sizes.size:
        raise refuse(
            f"Indices of {indices.shape[1]} columns don't fit a shape of {sizes.size} dimensions"
        )
    outside = ((indices < 0) | (indices >= sizes)).any(axis=1)
    if outside.any():
        number = _first(outside)
        raise refuse(
            f"indices[{number}] = {indices[number].tolist()} is out of bounds: need 0 <= index < "
            f"{sizes.tolist()}"
        )
    steps = [prod(sizes[axis + 1 :].tolist()) for axis in range(sizes.size)]
    return indices.astype(np.int64) @ np.array(steps, np.int64).reshape(-1)


def rows_of(numbers: Any, shape: Sequence[int]) -> Any:
    """The rows of indices of these row-major numbers."""
    sizes = [int(size) for size in shape]
    if not numbers.size:
        return np.zeros((0, len(sizes)), np.int64)
    if not sizes:
        return np.zeros((numbers.size, 0), np.int64)
    return np.stack(np.unravel_index(numbers, sizes), 1).astype(np.int64)


def check_increasing(indices: Any, numbers: Any) -> None:
    """InvalidArgumentError where the rows of indices are not each once and in order."""
    steps = np.diff(numbers)
    if not steps.size or steps.min() > 0:
        return
    number = _first(steps <= 0) + 1
    what = "repeated" if steps[number - 1] == 0 else "out of order"
    raise refuse(
        f"indices[{number}] = {indices[number].tolist()} is {what}. Ops on sparse tensors need them sorted "
        "and unique: see tf.sparse.reorder"
    )


def check_parts(
    context: InferContext, first: int = 0, step: int = 1
) -> tuple[int | None, int | None]:
    """How many elements and dimensions the SparseTensor has whose parts start at input `at`.

    step: how many inputs further each next part is. ValueError where they don't fit together.
    """
    count, rank = of_rank(context.shapes[first], 2, "The indices of a SparseTensor")
    (values,) = of_rank(context.shapes[first + step], 1, "The values of a SparseTensor")
    (sizes,) = of_rank(context.shapes[first + 2 * step], 1, "The dense_shape of a SparseTensor")
    return same_size(count, values, "elements"), same_size(rank, sizes, "dimensions")


def same_size(one: int | None, other: int | None, what: str) -> int | None:
    """The size that parts of a SparseTensor agree about; ValueError where they do not."""
    if one is not None and other is not None and one != other:
        raise ValueError(f"The parts of a SparseTensor have {one} and {other} {what}")
    return other if one is None else one
