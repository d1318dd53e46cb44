"""The checks and messages of TensorFlow's kernels whose inputs are sparse tensors or matrices of
indices.
"""

from __future__ import annotations

from gpugraph.base.shapes import shape_text
from gpugraph.ops.run_refusals.refusal_rules import (
    Refused,
    Rule,
    no_negative,
    rank_from,
    rank_is,
    when,
)


def _part_rank(slot: int, rank: int, name: str) -> Rule:
    kind = "matrix" if rank == 2 else "vector"
    return rank_is(slot, rank, f"{name} should be a {kind}, but got shape: {{{slot}.text}}")


def _elements(first: int, name: str) -> Rule:
    """Return the rule that a SparseTensor must have as many values as rows of indices.

    Args:
      first: the number of the input with the SparseTensor's indices.
      name: the name of the SparseTensor in the message.
    """
    words = (
        f"Expected {name}_values.NumElements == #rows({name}_indices), their shapes are: "
        f"{{{first + 1}.text}} and {{{first}.text}}"
    )
    return when(lambda op: op.x[first].sizes[0] != op.x[first + 1].count, words)


def _columns(first: int, name: str) -> Rule:
    """Return the rule that the shape of a SparseTensor must have as many sizes as its indices have
    columns.

    Args:
      first: the number of the input with the SparseTensor's indices.
      name: the name of the SparseTensor in the message.
    """

    def rule(op: Refused) -> str | None:
        indices, shape = op.x[first], op.x[first + 2]
        if shape.count == indices.columns:
            return None
        return (
            f"Expected {name}_shape.NumElements == #cols({name}_indices), their shapes are: "
            f"{shape.text} and {indices.text}"
        )

    return rule


_EDIT_DISTANCE: tuple[Rule, ...] = (
    _part_rank(0, 2, "hypothesis_indices"),
    _part_rank(3, 2, "truth_indices"),
    _part_rank(1, 1, "hypothesis_values"),
    _part_rank(4, 1, "truth_values"),
    _part_rank(2, 1, "hypothesis_shape"),
    _part_rank(5, 1, "truth_shape"),
    _elements(0, "hypothesis"),
    _columns(0, "hypothesis"),
    when(
        lambda op: op.x[5].count < 2,
        "Input SparseTensors must have rank at least 2, but truth_shape rank is: {5.count}",
    ),
    _elements(3, "truth"),
    _columns(3, "truth"),
    no_negative(2),
    no_negative(5),
)


def _rows(op: Refused, slot: int) -> int:
    return op.x[slot].sizes[0] if op.x[slot].rank else 1


def _set(first: int) -> tuple[Rule, ...]:
    """Return the rules for sets that are passed as a SparseTensor. Its indices are input `first`,
    followed by its values and its shape.
    """
    values, shape = first + 1, first + 2

    def rows(op: Refused) -> str | None:
        ones, others = _rows(op, first), _rows(op, values)
        if ones == others:
            return None
        return (
            "indices and values rows (indexing dimension) must match. "
            f"(indices = {ones}, values = {others})"
        )

    return (
        rank_is(shape, 1, "Shape must be a 1D tensor."),
        when(lambda op: op.x[shape].count < 2, f"Invalid rank {{{shape}.count}}."),
        rank_is(values, 1, f"vals must be a vec, but got: {{{values}.text}}"),
        rows,
        when(
            lambda op: op.x[first].columns != op.x[shape].count,
            "Order length must be SparseTensor rank.",
        ),
    )


def _same_groups(op: Refused) -> str | None:
    ones, others = (item.sizes[:-1] for item in op.x)
    if ones == others:
        return None
    return f"Mismatched shapes {shape_text(ones)} vs {shape_text(others)}"


def _scatter(op: Refused) -> str | None:
    indices, updates, shape = op.x
    sizes = ("?",) * shape.count if shape.value is None else tuple(shape.value.ravel().tolist())
    outer, inner = indices.rank - 1, indices.sizes[-1]
    if (indices.count or updates.count) and not (indices.count and updates.count and all(sizes)):
        return "Indices and updates specified for empty output shape"
    if indices.sizes[:outer] != updates.sizes[:outer]:
        return (
            f"Dimensions [0,{outer}) of indices[shape={indices.text}] must match dimensions "
            f"[0,{outer}) of updates[shape={updates.text}]"
        )
    differs = any(
        one not in ("?", other) for one, other in zip(sizes[inner:], updates.sizes[outer:])
    )
    if differs or len(sizes) - inner != updates.rank - outer:
        text = ",".join(map(str, sizes))
        return (
            f"Dimensions [{inner},{len(sizes)}) of input[shape=[{text}]] must match dimensions "
            f"[{outer},{updates.rank}) of updates[shape={updates.text}]"
        )
    return None


SPARSE_REFUSALS: dict[str, tuple[Rule, ...]] = {
    "EditDistance": _EDIT_DISTANCE,
    "SetSize": _set(0),
    "DenseToDenseSetOperation": (
        rank_from(0, 2, "Shape {0.text} has rank {0.rank} < 2"),
        rank_from(1, 2, "Shape {1.text} has rank {1.rank} < 2"),
        _same_groups,
    ),
    "DenseToSparseSetOperation": _set(1),
    "SparseToSparseSetOperation": (*_set(0), *_set(3)),
    "ScatterNd": (
        when(lambda op: not op.x[0].rank, "Indices shape must have rank at least one. Found:[]"),
        when(lambda op: not op.x[1].rank, "Updates shape must have rank at least one. Found:[]"),
        when(lambda op: op.x[2].rank > 1, "Shape must be a vector"),
        no_negative(2),
        _scatter,
    ),
}
"""The checks of TensorFlow's kernels, by op type, in the kernels' order. The first check that fails
determines the message.
"""
