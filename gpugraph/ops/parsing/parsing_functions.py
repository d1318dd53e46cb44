"""tf.parse_example and tf.parse_single_example, which parse Examples to a dictionary of tensors."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.op_scope_and_arguments import op_scope
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.parsing.feature_kinds import (
    FEATURE_CLASSES,
    RawFeatures,
    merge_sparse,
    named_tensors,
    raw_features,
)
from gpugraph.ops.parsing.parse_example import parse_example_op, parse_single_example_op
from gpugraph.ops.sparse.sparse_tensor import SparseTensor


def _checked(features: Any) -> RawFeatures:
    if not features:
        raise ValueError(f"Missing: features was {features}.")
    return raw_features(features, FEATURE_CLASSES)


def _batch(serialized: Any, raw: RawFeatures, names: Any, name: str) -> dict[str, Any]:
    outputs = parse_example_op(
        serialized,
        np.empty(0, object) if names is None else names,
        list(raw.sparse),
        list(raw.dense),
        raw.defaults,
        sparse_types=list(raw.sparse.values()),
        dense_shapes=[shape for _, shape, _ in raw.dense.values()],
        name=name,
    )
    return named_tensors(raw, list(chain.from_iterable(outputs)))


def parse_example(
    serialized: Any, features: Any, name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Parse a batch of Examples. Return a dictionary from feature keys to tensors.

    Raises ValueError if a specification is incomplete. A run raises InvalidArgumentError if a
    string is not an Example, if a feature does not have the specified dtype or size, or if a
    required feature is missing.

    Args:
      serialized: a vector of strings, each of which is a serialized `tf.train.Example`.
      features: a dictionary of feature specifications. `FixedLenFeature` and
        `FixedLenSequenceFeature` become dense tensors with a row for each example. `VarLenFeature`
        and `SparseFeature` become SparseTensors, whose first dimension is the example.
      example_names: a vector of names, for error messages.
    """
    raw = _checked(features)
    with op_scope(name, "ParseExample", serialized, example_names):
        tensors = _batch(
            convert_to_tensor(serialized, name="serialized"), raw, example_names, "ParseExample"
        )
        return merge_sparse(features, raw, tensors)


def parse_single_example(
    serialized: Any, features: Any, name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Parse one Example, a string scalar, in the same way as `parse_example`. The results have no
    dimension for examples.

    Args:
      example_names: the example's name, a scalar, for error messages.

    >>> floats = tf.train.FloatList(value=[1.0, 2.0])
    >>> features = tf.train.Features(feature={"x": tf.train.Feature(float_list=floats)})
    >>> text = tf.train.Example(features=features).SerializeToString()
    >>> session.run(tf.parse_single_example(text, {"x": tf.FixedLenFeature([2], tf.float32)}))
    {'x': array([1., 2.], dtype=float32)}
    """
    raw = _checked(features)
    default = "ParseSingleExample"
    with op_scope(name, default, serialized, example_names):
        example = convert_to_tensor(serialized, name="serialized")
        if not example.shape.is_compatible_with([]):
            raise ValueError("Input serialized must be a scalar")
        if example_names is None:
            tensors = _single(example, raw)
        else:
            names = convert_to_tensor(example_names, name="example_names")
            if not names.shape.is_compatible_with([]):
                raise ValueError("Input example_names must be a scalar")
            batch = _batch(_row(example), raw, _row(names), default)
            tensors = {key: _only(value) for key, value in batch.items()}
        return merge_sparse(features, raw, tensors)


def _single(example: Tensor, raw: RawFeatures) -> dict[str, Any]:
    outputs = parse_single_example_op(
        example,
        raw.defaults,
        num_sparse=len(raw.sparse),
        sparse_keys=list(raw.sparse),
        dense_keys=list(raw.dense),
        sparse_types=list(raw.sparse.values()),
        dense_shapes=[shape for _, shape, _ in raw.dense.values()],
        name="ParseSingleExample",
    )
    return named_tensors(raw, list(chain.from_iterable(outputs)))


def _row(tensor: Tensor) -> Tensor:
    row: Tensor = raw_ops.ExpandDims(tensor, np.array(0, np.int32))
    return row


def _only(value: Any) -> Any:
    """Remove the first dimension of a tensor or SparseTensor. This dimension is a batch of one
    example.
    """
    if isinstance(value, SparseTensor):
        return SparseTensor(value.indices[:, 1:], value.values, value.dense_shape[1:])
    return raw_ops.Squeeze(value, squeeze_dims=[0])
