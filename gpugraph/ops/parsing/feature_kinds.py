"""Feature specifications (tf.FixedLenFeature and others), and their conversion for parsing ops."""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType, as_dtype
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor
from gpugraph.ops.sparse.sparse_mask_and_merge import sparse_merge
from gpugraph.ops.sparse.sparse_tensor import SparseTensor


class VarLenFeature(namedtuple("VarLenFeature", ["dtype"])):
    """A feature with any number of values, parsed to a SparseTensor of `dtype`."""

    __slots__ = ()


class FixedLenFeature(
    namedtuple("FixedLenFeature", ["shape", "dtype", "default_value"], defaults=[None])
):
    """A feature with the same shape in all examples, parsed to a dense tensor.

    Args:
      default_value: the value for examples without the feature. None means that the feature is
        required.

    >>> tf.FixedLenFeature([2], tf.float32).shape
    [2]
    """

    __slots__ = ()


class FixedLenSequenceFeature(
    namedtuple(
        "FixedLenSequenceFeature",
        ["shape", "dtype", "allow_missing", "default_value"],
        defaults=[False, None],
    )
):
    """A feature with any number of rows of the same shape, parsed to a dense tensor.

    `shape` is the shape of a row. `allow_missing` tells whether an example may have no rows or lack
    the feature. `default_value` is a scalar that pads the examples of a batch to the maximum number
    of rows. The default is 0 or "".
    """

    __slots__ = ()


class SparseFeature(
    namedtuple(
        "SparseFeature",
        ["index_key", "value_key", "dtype", "size", "already_sorted"],
        defaults=[False],
    )
):
    """Several features that together form one SparseTensor.

    One feature has the values, and the other features have the indices. `index_key` is the key of
    the int64 feature with the indices, or a list of keys, one for each dimension. `value_key` is
    the key of the feature with the values. `size` is the size of the dimension, or a list of sizes.
    `already_sorted` tells whether the indices in each example are sorted.
    """

    __slots__ = ()


FEATURE_CLASSES = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature)


class RawFeatures(NamedTuple):
    """Feature specifications, converted to the arguments of parsing ops. Each dict is sorted by
    key.

    Args:
      sparse: the dtype of each sparse feature.
      dense: (dtype, shape, default) of each dense feature.
      merged: the SparseFeatures. Their features are in `sparse`.
    """

    sparse: dict[str, DType]
    dense: dict[str, tuple[DType, TensorShape, Any]]
    merged: dict[str, SparseFeature]

    @property
    def defaults(self) -> list[Any]:
        """The default of each dense feature, or an empty vector if the feature is required."""
        return [
            default if default is not None else np.empty(0, dtype.as_numpy_dtype)
            for dtype, _, default in self.dense.values()
        ]


def raw_features(features: Any, kinds: Sequence[type]) -> RawFeatures:
    """Convert a dictionary of feature specifications to arguments of the parsing ops.

    Raises ValueError if the class of a specification is not in `kinds`, or if a specification is
    incomplete. Raises TypeError if `features` is not a dictionary.

    Args:
      kinds: the classes that the calling function accepts.
    """
    features = {} if features is None else features
    if not isinstance(features, Mapping):
        raise TypeError(f"features must be a dict of features by key, got {features!r:.200}")
    raw = RawFeatures({}, {}, {})
    for key in sorted(features):
        feature = features[key]
        if not isinstance(feature, tuple(kinds)):
            known = isinstance(feature, FEATURE_CLASSES)
            raise ValueError(
                f"Unsupported {type(feature).__name__} {feature}."
                if known
                else f"Invalid feature {key}:{feature}."
            )
        _ADDING[type(feature)](raw, key, feature)
    return raw


def _add_sparse(raw: RawFeatures, key: str, feature: VarLenFeature) -> None:
    if not feature.dtype:
        raise ValueError(f"Missing type for feature {key}.")
    _add_list(raw, key, as_dtype(feature.dtype))


def _add_list(raw: RawFeatures, key: str, dtype: DType) -> None:
    """Add a feature that is a list of values, and that several SparseFeatures may use. Raises
    ValueError if they require different dtypes.
    """
    if raw.sparse.setdefault(key, dtype) != dtype:
        raise ValueError(f"Conflicting type {raw.sparse[key]} vs {dtype} for feature {key}.")


def _add_merged(raw: RawFeatures, key: str, feature: SparseFeature) -> None:
    for what, value in (("index_key", feature.index_key), ("value_key", feature.value_key)):
        if not value:
            raise ValueError(f"Missing {what} for SparseFeature {key}.")
    if not feature.dtype:
        raise ValueError(f"Missing type for feature {key}.")
    index_keys = feature.index_key
    index_keys = [index_keys] if isinstance(index_keys, str) else sorted(index_keys)
    raw.merged[key] = feature
    for index_key in index_keys:
        _add_list(raw, index_key, dtypes.int64)
    _add_list(raw, feature.value_key, as_dtype(feature.dtype))


def _add_fixed(raw: RawFeatures, key: str, feature: FixedLenFeature) -> None:
    if not feature.dtype:
        raise ValueError(f"Missing type for feature {key}.")
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}.")
    shape = as_shape(feature.shape)
    if shape.rank and shape.as_list()[0] is None:
        raise ValueError(
            f"First dimension of shape for feature {key} unknown. Consider using "
            "FixedLenSequenceFeature."
        )
    if not shape.is_fully_defined():
        raise ValueError(
            f"All dimensions of shape for feature {key} need to be known but received {shape}."
        )
    dtype = as_dtype(feature.dtype)
    default = feature.default_value
    if default is not None and not isinstance(default, Tensor):
        default = convert_to_tensor(default, dtype, name=_constant_name("key", key))
    if default is not None:
        default = raw_ops.Reshape(default, np.array(shape.as_list(), np.int32))
    raw.dense[key] = dtype, shape, default


def _constant_name(prefix: str, key: str) -> str:
    safe = re.sub(r"[^A-Za-z0-9_.\-/]", "_", key)
    return f"{prefix}_{safe}"


def _add_sequence(raw: RawFeatures, key: str, feature: FixedLenSequenceFeature) -> None:
    if not feature.dtype:
        raise ValueError(f"Missing type for feature {key}.")
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}.")
    if not feature.allow_missing:
        raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
    dtype, default = as_dtype(feature.dtype), feature.default_value
    if default is None:
        default = "" if dtype is dtypes.string else 0
    if not isinstance(default, Tensor):
        default = convert_to_tensor(default, dtype, name=_constant_name("padding", key))
    default = raw_ops.Reshape(default, np.array([], np.int32))
    raw.dense[key] = dtype, TensorShape.of((None,)).concatenate(as_shape(feature.shape)), default


_ADDING: dict[type, Any] = {
    VarLenFeature: _add_sparse,
    SparseFeature: _add_merged,
    FixedLenFeature: _add_fixed,
    FixedLenSequenceFeature: _add_sequence,
}


def merge_sparse(features: Any, raw: RawFeatures, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dict from keys to the tensors of the features that the program specified.

    Args:
      tensors: a dict from keys to the outputs of the parsing op. SparseFeatures are merged from
        these outputs.
    """
    result = {key: tensors[key] for key in tensors if key in (features or {})}
    for key, feature in raw.merged.items():
        index_keys = feature.index_key
        single = isinstance(index_keys, str)
        ids = tensors[index_keys] if single else [tensors[name] for name in index_keys]
        result[key] = sparse_merge(
            ids,
            tensors[feature.value_key],
            vocab_size=feature.size,
            already_sorted=feature.already_sorted,
        )
    return result


def named_tensors(raw: RawFeatures, outputs: Sequence[Tensor]) -> dict[str, Any]:
    """Return a dict from keys to the outputs of a parsing op. SparseTensors come first, dense
    tensors after them.
    """
    count = len(raw.sparse)
    tensors: dict[str, Any] = {
        key: SparseTensor(outputs[at], outputs[count + at], outputs[2 * count + at])
        for at, key in enumerate(raw.sparse)
    }
    return tensors | dict(zip(raw.dense, outputs[3 * count :]))
