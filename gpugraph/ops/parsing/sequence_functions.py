"""tf.parse_single_sequence_example and tf.io.parse_sequence_example, which parse SequenceExamples
to tensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import as_dtype
from gpugraph.base.shapes import as_shape
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.parsing.feature_kinds import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RawFeatures,
    VarLenFeature,
    named_tensors,
    raw_features,
)
from gpugraph.ops.parsing.parse_sequence_example import (
    parse_sequence_example_op,
    parse_single_sequence_example_op,
)

_Parsed = tuple[RawFeatures, RawFeatures, list[str]]


def _features(context_features: Any, sequence_features: Any) -> _Parsed:
    """Return the features of the context, the feature lists, and the keys of the lists that may be
    missing.

    Raises ValueError if there are no features, or if a specification is incomplete.
    """
    if not (context_features or sequence_features):
        raise ValueError("Missing features.")
    if not isinstance(sequence_features or {}, Mapping):
        raise TypeError(f"sequence_features must be a dict, but it is {sequence_features!r}")
    context = raw_features(context_features, (VarLenFeature, FixedLenFeature))
    rows = {
        key: feature
        for key, feature in sorted((sequence_features or {}).items())
        if isinstance(feature, FixedLenSequenceFeature)
    }
    rest = {key: f for key, f in (sequence_features or {}).items() if key not in rows}
    lists = raw_features(rest, (VarLenFeature, FixedLenSequenceFeature))
    for key, feature in rows.items():
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}.")
        if feature.shape is None:
            raise ValueError(f"Missing shape for feature {key}.")
        if feature.default_value is not None:
            raise ValueError(f"Value feature_list_dense_defaults[{key}] must be None")
        lists.dense[key] = as_dtype(feature.dtype), as_shape(feature.shape), None
    return context, lists, [key for key, feature in rows.items() if feature.allow_missing]


def _arguments(context: RawFeatures, lists: RawFeatures) -> dict[str, Any]:
    """Return the attrs that are common to both ops for SequenceExamples."""
    return {
        "context_sparse_types": list(context.sparse.values()),
        "context_dense_shapes": [shape for _, shape, _ in context.dense.values()],
        "feature_list_sparse_types": list(lists.sparse.values()),
        "feature_list_dense_types": [dtype for dtype, _, _ in lists.dense.values()],
        "feature_list_dense_shapes": [shape for _, shape, _ in lists.dense.values()],
    }


def _text(value: Any, default: Any) -> Any:
    return convert_to_tensor(default if value is None else value, dtypes.string, name="debug_name")


def parse_single_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parse a SequenceExample. Return two dictionaries of tensors, for its context and for its
    feature lists.

    Raises ValueError if a specification is incomplete. A run raises InvalidArgumentError if the
    bytes are not a SequenceExample, if a feature does not have the specified dtype or size, or if a
    required feature is missing.

    Args:
      serialized: a string scalar, a serialized `tf.train.SequenceExample`.
      context_features: a dictionary of `FixedLenFeature` and `VarLenFeature`.
      sequence_features: a dictionary of `FixedLenSequenceFeature` (a dense tensor with a row for
        each step) and `VarLenFeature` (a SparseTensor of steps and their values).
      example_name: the example's name, for error messages.
    """
    context, lists, may_be_missing = _features(context_features, sequence_features)
    with op_scope(name, "ParseSingleSequenceExample", serialized, example_name):
        outputs = list(
            chain.from_iterable(
                parse_single_sequence_example_op(
                    serialized,
                    np.array(may_be_missing, object),
                    list(context.sparse),
                    list(context.dense),
                    list(lists.sparse),
                    list(lists.dense),
                    context.defaults,
                    _text(example_name, ""),
                    **_arguments(context, lists),
                    name="ParseSingleSequenceExample",
                )
            )
        )
    count = 3 * len(context.sparse) + len(context.dense)
    return named_tensors(context, outputs[:count]), named_tensors(lists, outputs[count:])


def parse_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Parse a batch of SequenceExamples. Return three dictionaries: contexts, feature lists and
    lengths.

    The first two dictionaries are those of `parse_single_sequence_example`, with the example as the
    first dimension of each tensor. Dense lists are padded with 0 or "" to the length of the longest
    list in the batch. The third dictionary has the number of steps of each dense list. See
    `parse_single_sequence_example` for the remaining arguments and the errors.

    Args:
      serialized: a vector of strings.
    """
    context, lists, may_be_missing = _features(context_features, sequence_features)
    with op_scope(name, "ParseSequenceExample", serialized, example_names):
        outputs = list(
            chain.from_iterable(
                parse_sequence_example_op(
                    serialized,
                    _text(example_names, np.empty(0, object)),
                    context.defaults,
                    feature_list_dense_missing_assumed_empty=may_be_missing,
                    context_sparse_keys=list(context.sparse),
                    context_dense_keys=list(context.dense),
                    feature_list_sparse_keys=list(lists.sparse),
                    feature_list_dense_keys=list(lists.dense),
                    Ncontext_sparse=len(context.sparse),
                    Ncontext_dense=len(context.dense),
                    Nfeature_list_sparse=len(lists.sparse),
                    Nfeature_list_dense=len(lists.dense),
                    **_arguments(context, lists),
                    name="ParseSequenceExample",
                )
            )
        )
    first = 3 * len(context.sparse) + len(context.dense)
    second = first + 3 * len(lists.sparse) + len(lists.dense)
    return (
        named_tensors(context, outputs[:first]),
        named_tensors(lists, outputs[first:second]),
        dict(zip(lists.dense, outputs[second:])),
    )
