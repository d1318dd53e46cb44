"""Native code that reads batches of SequenceExamples (`native_examples`)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base.dtypes import DType
from gpugraph.formats.example_columns import Irregular
from gpugraph.ops.parsing.example_batches import dense_batch, sparse_parts
from gpugraph.ops.parsing.native_examples import Located, NativeExamples
from gpugraph.ops.parsing.parsed_features import (
    KIND_OF,
    DenseFeature,
    as_vector,
    by_part,
    matrix_shape,
    ragged_indices,
)


class Sequences(NamedTuple):
    """The features of a batch of SequenceExamples. Dense features are arrays. Sparse features are
    (indices, values, shape).

    Args:
      list_sparse: for each sparse feature list, the values of all steps, the number of values in
        each step, and the number of steps in each example.
      list_dense: for each dense feature list, the rows of all steps, and the number of steps in
        each example.
    """

    context_sparse: list[tuple[Any, Any, Any]]
    context_dense: list[Any]
    list_sparse: list[tuple[Any, Any, Any]]
    list_dense: list[tuple[Any, Any]]


class SequenceReader:
    """Native code that parses SequenceExamples for one node."""

    def __init__(self, native: NativeExamples) -> None:
        self._native = native

    def sequences(
        self,
        examples: Sequence[bytes],
        context_sparse: Sequence[tuple[bytes, DType]],
        context_dense: Sequence[DenseFeature],
        list_sparse: Sequence[tuple[bytes, DType]],
        list_dense: Sequence[Any],
        may_be_missing: Collection[bytes],
    ) -> Sequences | None:
        """Return the features, or None if Python must parse the messages instead."""
        in_context = [*context_sparse, *((one.key, one.dtype) for one in context_dense)]
        in_lists = [*list_sparse, *((row.key, row.dtype) for row in list_dense)]
        try:
            context = self._located(examples, in_context, 1)
            lists = self._located(examples, in_lists, 2)
            return Sequences(
                [sparse_parts(context.values(n), d) for n, (_, d) in enumerate(context_sparse)],
                [
                    dense_batch(context.values(n), one)
                    for n, one in enumerate(context_dense, len(context_sparse))
                ],
                [_sparse_steps(lists, n, dtype) for n, (_, dtype) in enumerate(list_sparse)],
                [
                    _dense_steps(lists, n, row, row.key in may_be_missing)
                    for n, row in enumerate(list_dense, len(list_sparse))
                ],
            )
        except Irregular:
            return None

    def _located(
        self, examples: Sequence[bytes], features: Sequence[tuple[bytes, DType]], field: int
    ) -> Located:
        keys, kinds = [key for key, _ in features], [KIND_OF[dtype] for _, dtype in features]
        located = None
        if examples and len(set(keys)) == len(keys):
            located = self._native.located(examples, keys, kinds, field)
        if located is None:
            raise Irregular("Python parses the examples")
        return located


def _sparse_steps(lists: Located, number: int, dtype: DType) -> tuple[Any, Any, Any]:
    steps, counts = lists.steps(number, KIND_OF[dtype])
    values, in_step, _ = steps.values(0)
    return as_vector(values, dtype), in_step, counts


def _dense_steps(lists: Located, number: int, row: Any, may_be_missing: bool) -> tuple[Any, Any]:
    if not may_be_missing and not lists.starts[number].all():
        raise Irregular("a required list is missing")
    steps, counts = lists.steps(number, KIND_OF[row.dtype])
    rows = dense_batch(steps.values(0), DenseFeature(row.key, row.dtype, row.shape, np.empty(0)))
    return rows, counts


def outputs_of(sequences: Sequences, list_dense: Sequence[Any]) -> list[Any]:
    """Return the features as the outputs of the op.

    Args:
      list_dense: the specifications of the dense feature lists.
    """
    list_sparse = []
    for values, in_step, counts in sequences.list_sparse:
        indices, shape = _step_indices(in_step, counts)
        list_sparse.append((indices, values, shape))
    padded = [
        _padded_steps(rows, counts, b"" if row.dtype.name == "string" else 0)
        for (rows, counts), row in zip(sequences.list_dense, list_dense)
    ]
    lengths = [counts for _, counts in sequences.list_dense]
    return [
        *by_part(sequences.context_sparse), *sequences.context_dense, *by_part(list_sparse),
        *padded, *lengths,
    ]  # fmt: skip


def _step_indices(in_step: Any, counts: Any) -> tuple[Any, Any]:
    """Return the indices [number of values, 3] and the shape of a batch of sparse lists as one
    SparseTensor.

    Args:
      in_step: the number of values in each step.
      counts: the number of steps in each example.
    """
    flat, (_, widest) = ragged_indices(in_step), matrix_shape(in_step)
    example = np.repeat(np.arange(counts.size), counts)[flat[:, 0]]
    step = flat[:, 0] - (np.cumsum(counts) - counts)[example]
    indices = np.stack([example, step, flat[:, 1]], 1).astype(np.int64)
    longest = int(counts.max()) if counts.size else 0
    return indices, np.array([counts.size, longest, widest], np.int64)


def _padded_steps(rows: Any, counts: Any, filler: Any) -> Any:
    """Return the rows of dense lists as one array, padded to the longest list."""
    longest = int(counts.max()) if counts.size else 0
    result = np.empty((counts.size, longest, *rows.shape[1:]), rows.dtype)
    result[...] = filler
    result[np.arange(longest) < counts[:, np.newaxis]] = rows
    return result
