"""Greedy matching of rows and columns by their distances, as of boxes and predictions."""

from __future__ import annotations

from typing import Any

from gpugraph.base import dtypes
from gpugraph.building.control_flow.while_loop import while_loop
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.constants_and_placeholders import fill
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.elementwise.arithmetic_functions import minimum
from gpugraph.ops.elementwise.comparison_and_select import equal, less, logical_or, where
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.reductions.argmax_and_argmin import argmin
from gpugraph.ops.reductions.ranges_and_running_sums import range as numbers

_INFINITE = float("inf")
_LARGEST = dtypes.float32.max


def bipartite_match(
    distance_mat: Any, num_valid_rows: Any, top_k: Any = -1, name: str | None = "bipartite_match"
) -> tuple[Tensor, Tensor]:
    """Match rows with columns: repeatedly the pair with the smallest distance, of those in which
    neither the row nor the column is matched.

    Returns a pair of int32 vectors: for each row the index of its column, and for each column the
    index of its row, or -1.

    Args:
      distance_mat: a float32 matrix of distances.
      num_valid_rows: the number of rows, from the first one on, that may be matched. If it is
        negative, all rows may.
      top_k: the maximum number of matches. If it is negative, there is no maximum.

    >>> rows, columns = tf.contrib.image.bipartite_match([[3.0, 1.0], [2.0, 0.5]], -1)
    >>> tf.Session().run([rows, columns])
    [array([0, 1], dtype=int32), array([0, 1], dtype=int32)]
    """
    with name_scope(name, "bipartite_match", [distance_mat, num_valid_rows, top_k]):
        distances = convert_to_tensor(distance_mat, dtypes.float32)
        distances.shape.assert_has_rank(2)
        height, width = (shape(distances)[axis] for axis in range(2))
        valid, most = (_scalar(value) for value in (num_valid_rows, top_k))
        valid = where(less(valid, 0), height, minimum(valid, height))
        count = minimum(valid, width)
        count = where(less(most, 0), count, minimum(most, count))
        rows, columns = numbers(height), numbers(width)
        unmatched = fill([height], -1), fill([width], -1)
        row_sizes, column_sizes = ((size,) for size in distances.shape.as_list())
        for vector, sizes in zip(unmatched, (row_sizes, column_sizes)):
            vector.set_shape(sizes)

        def match(number: Tensor, left: Tensor, of_rows: Tensor, of_columns: Tensor) -> Any:
            place = argmin(reshape(left, [-1]), output_type=dtypes.int32)
            row, column = place // width, place % width
            is_row, is_column = equal(rows, row), equal(columns, column)
            is_matched = logical_or(is_row[:, None], is_column[None])
            left = where(is_matched, fill(shape(left), _INFINITE), left)
            of_rows = where(is_row, fill([height], column), of_rows)
            return number + 1, left, of_rows, where(is_column, fill([width], row), of_columns)

        is_valid = logical_or(less(rows, valid)[:, None], fill(shape(distances), False))
        finite = minimum(distances, _LARGEST)  # smaller than those of matched pairs
        left = where(is_valid, finite, fill(shape(distances), _INFINITE))
        left.set_shape(distances.shape)
        start = (0, left, *unmatched)
        _, _, of_rows, of_columns = while_loop(lambda number, *_: less(number, count), match, start)
        return of_rows, of_columns


def _scalar(value: Any) -> Tensor:
    return cast(reshape(convert_to_tensor(value), []), dtypes.int32)
