"""The lookup of rows by index in a table, which may be split into several tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpugraph.base import dtypes
from gpugraph.base.shapes import TensorShape
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.concat_and_stack import concat, stack
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.elementwise.arithmetic_functions import maximum
from gpugraph.ops.elementwise.comparison_and_select import where
from gpugraph.ops.framework.identity_and_shape import identity, shape, size
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.indexing.dynamic_partition import dynamic_partition
from gpugraph.ops.indexing.gather import gather
from gpugraph.ops.reductions.ranges_and_running_sums import range as range_of
from gpugraph.ops.reductions.reduction_functions import reduce_sum


def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: Any = None,
) -> Tensor:
    """Return the rows of `params` at the indices in the int tensor `ids`.

    The result has shape ids.shape + params.shape[1:]. Raises ValueError if `params` is empty or the
    strategy is unknown. A run raises InvalidArgumentError if a row number is out of range.

    Args:
      params: the table. It is one tensor or variable, or a list or PartitionedVariable of the
        tensors into which the table is split.
      partition_strategy: how the rows are distributed over the n tensors. "mod": row i of the table
        is row i // n of tensor i % n. "div": each tensor is a block of consecutive rows, as
        variable partitioners create them. If the blocks can't have equal sizes, the first blocks
        have one more row than the last blocks.
      max_norm: if it is not None, rows with a larger l2 norm are scaled down to this norm.
      validate_indices: ignored.

    >>> session.run(tf.nn.embedding_lookup([[1.0, 2.0], [3.0, 4.0]], [1, 1]))
    array([3., 3.], dtype=float32)
    """
    del validate_indices
    if params is None:
        raise ValueError("params must be specified")
    parts = table_parts(params)
    if not parts:
        raise ValueError("embedding_lookup needs at least one params tensor")
    with op_scope(name, "embedding_lookup", *parts, ids) as scope:
        tables = [_table(part) for part in parts]
        positions = convert_to_tensor(ids, name="ids")
        if partition_strategy not in ("mod", "div"):
            raise ValueError(
                f"Unrecognized partition strategy: {partition_strategy}. It must be 'mod' or 'div'"
            )
        if len(tables) == 1:
            rows = _rows(tables[0], positions, scope)
            return identity(_limit_norm(rows, positions, max_norm))
        rows = _from_parts(tables, positions, partition_strategy, scope)
        return _limit_norm(rows, positions, max_norm)


def table_parts(params: Any) -> list[Any]:
    """Return the tensors of a table as a list. For a single tensor or variable, the list has one
    entry.
    """
    parts = getattr(params, "_get_variable_list", None)
    if parts is not None:
        return list(parts())
    return list(params) if isinstance(params, (list, tuple)) else [params]


def _table(part: Any) -> Any:
    """Return one tensor of the table as a Tensor, which has a device and a shape.

    A variable is returned unchanged.
    """
    return part if hasattr(part, "_as_graph_element") else convert_to_tensor(part, name="params")


def _rows(table: Any, positions: Tensor, name: str | None = None) -> Tensor:
    """Return rows of one tensor of the table, gathered on that tensor's device."""
    graph = get_default_graph()
    with graph.colocate_with(table):
        return gather(table, positions, name=name)


def _from_parts(tables: Sequence[Any], positions: Tensor, strategy: str, scope: str) -> Tensor:
    """Return the table's rows at `positions`. The rows are gathered from each tensor of the table,
    and then put in the order of `positions`.
    """
    flat = reshape(positions, [-1])
    order = range_of(size(flat))
    number, row = (_by_block if strategy == "div" else _by_remainder)(tables, flat)
    number = cast(number, dtypes.int32)
    rows = dynamic_partition(row, number, len(tables))
    places = dynamic_partition(order, number, len(tables))
    parts = [_rows(table, part_rows) for table, part_rows in zip(tables, rows)]
    whole = raw_ops.ParallelDynamicStitch(places, parts, name=scope)
    rest = _row_shape(tables)
    known = rest.sizes is not None and None not in rest.sizes
    sizes = rest if known else shape(tables[0])[1:]
    result = reshape(whole, concat([shape(positions), sizes], 0))
    result.set_shape(positions.shape.concatenate(rest))
    return result


def _row_shape(tables: Sequence[Any]) -> TensorShape:
    """Return the static shape of a row, merged from all tensors of the table."""
    row: TensorShape = tables[0].shape[1:]
    for table in tables[1:]:
        row = row.merge_with(table.shape[1:])
    return row


def _by_remainder(tables: Sequence[Any], flat: Tensor) -> tuple[Any, Any]:
    return flat % len(tables), flat // len(tables)


def _by_block(tables: Sequence[Any], flat: Tensor) -> tuple[Any, Any]:
    """Return, for each row of `flat`, the index of the tensor that has the row, and the number of
    the row in this tensor, for the strategy "div".
    """
    total = _row_count(tables, flat.dtype)
    block_size, larger = total // len(tables), total % len(tables)
    number = maximum(flat // (block_size + 1), (flat - larger) // block_size)
    row = where(number < larger, flat % (block_size + 1), (flat - larger) % block_size)
    return number, row


def _row_count(tables: Sequence[Any], dtype: Any) -> Tensor:
    counts = [table.shape.as_list()[0] if table.shape.rank else None for table in tables]
    known = [count for count in counts if count is not None]
    if len(known) == len(counts):
        return constant(sum(known), dtype)
    sizes = [
        shape(table)[0] if count is None else constant(count, dtypes.int32)
        for table, count in zip(tables, counts)
    ]
    return cast(reduce_sum(stack(sizes)), dtype)


def _limit_norm(rows: Tensor, positions: Tensor, max_norm: Any) -> Tensor:
    """Return `rows`, with each row whose norm exceeds `max_norm` scaled down to this norm.

    A row consists of the axes of `rows` that follow the axes of `positions`.
    """
    if max_norm is None:
        return rows
    axes = raw_ops.Range(raw_ops.Rank(positions), raw_ops.Rank(rows), 1)
    norm = raw_ops.Sqrt(raw_ops.Sum(raw_ops.Square(rows), axes, keep_dims=True))
    limit = convert_to_tensor(max_norm, rows.dtype.base_dtype, name="max_norm")
    return raw_ops.RealDiv(raw_ops.Mul(rows, limit), raw_ops.Maximum(norm, limit))
