"""Functions that parse several Examples or SequenceExamples at once. Their results are those of the
ops that parse a single message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpugraph.base.dtypes import DType
from gpugraph.kernel.several_calls import Calls, have_equal_rest
from gpugraph.ops.parsing.example_batches import parse_columns
from gpugraph.ops.parsing.native_examples import NativeExamples
from gpugraph.ops.parsing.native_sequences import Sequences
from gpugraph.ops.parsing.parsed_features import DenseFeature, by_part, matrix_shape, ragged_indices

_LARGE = 1 << 14
"""The size in bytes from which parts of an array are copied, so that they do not keep it alive."""


def examples_of(
    calls: Calls,
    sparse: Sequence[tuple[bytes, DType]],
    dense: Sequence[DenseFeature],
    native: NativeExamples,
) -> Calls | None:
    """Return the features of each Example, as the outputs of ParseSingleExample, or None if the
    Examples must be parsed one by one.

    Args:
      calls: the inputs of each call, of which the first is the Example.
    """
    if not have_equal_rest(calls) or any(feature.is_ragged for feature in dense):
        return None
    try:
        columns, batches = parse_columns([call[0][()] for call in calls], sparse, dense, native)
    except ValueError:
        return None
    vectors = [_vectors(column, len(calls)) for column in columns]
    rows = [_rows(batch) for batch in batches]
    return [
        [*by_part([vector[place] for vector in vectors]), *(row[place] for row in rows)]
        for place in range(len(calls))
    ]


def sequences_of(sequences: Sequences, count: int) -> Calls:
    """Return the features of each SequenceExample, as the outputs of ParseSingleSequenceExample."""
    context = [_vectors(column, count) for column in sequences.context_sparse]
    dense = [_rows(batch) for batch in sequences.context_dense]
    lists = [_matrices(*parts) for parts in sequences.list_sparse]
    steps = [_parts(rows, counts) for rows, counts in sequences.list_dense]
    return [
        [
            *by_part([vector[place] for vector in context]),
            *(row[place] for row in dense),
            *by_part([matrix[place] for matrix in lists]),
            *(part[place] for part in steps),
        ]
        for place in range(count)
    ]


def _rows(batch: Any) -> list[Any]:
    """Return each row of an array as a separate array."""
    rows = [batch[place, ...] for place in range(len(batch))]
    return rows if batch.nbytes < _LARGE else [row.copy() for row in rows]


def _parts(rows: Any, counts: Any) -> list[Any]:
    """Divide the rows of an array into consecutive parts with these numbers of rows. Return copies
    of the parts.
    """
    ends = np.cumsum(counts).tolist()
    return [rows[start:end].copy() for start, end in zip([0, *ends], ends)]


def _vectors(column: tuple[Any, Any, Any], count: int) -> list[tuple[Any, Any, Any]]:
    """Return, for each example, a sparse feature as the indices, values and shape of a vector."""
    indices, values, _ = column
    counts = np.bincount(indices[:, 0], minlength=count)
    return [
        (np.arange(len(part)).reshape(-1, 1), part, np.array([len(part)], np.int64))
        for part in _parts(values, counts)
    ]


def _matrices(values: Any, in_step: Any, counts: Any) -> list[tuple[Any, Any, Any]]:
    """Return, for each example, a sparse feature list as the indices, values and shape of a matrix.

    Args:
      in_step: the number of values in each step.
      counts: the number of steps in each example.
    """
    steps = _parts(in_step, counts)
    parts = _parts(values, np.array([step.sum() for step in steps], np.int64))
    return [(ragged_indices(step), part, matrix_shape(step)) for step, part in zip(steps, parts)]
