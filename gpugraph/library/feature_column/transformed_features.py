"""A cache of the tensors of features and columns. Each tensor is computed only once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpugraph.base.dimensions import Dimension
from gpugraph.base.dtypes import int64, string
from gpugraph.building.checks import assert_positive
from gpugraph.building.control_flow.cond import cond
from gpugraph.graph.client.default_graph_functions import control_dependencies, name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.feature_column.column_classes import OldFeatureColumn, is_new_column
from gpugraph.ops.arrays.cast import cast
from gpugraph.ops.arrays.reshape_and_transpose import expand_dims
from gpugraph.ops.elementwise.comparison_and_select import equal, not_equal, where_v2
from gpugraph.ops.framework.identity_and_shape import rank as rank_of, shape
from gpugraph.ops.indexing.coordinate_gather_scatter import gather_nd
from gpugraph.ops.sparse.sparse_functions import sparse_reshape
from gpugraph.ops.sparse.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from gpugraph.platform import logging


class FeatureTransformationCache:
    """A cache of the tensors of features and columns. `get` computes a tensor when it is first
    needed.

    Args:
      features: a dict from names to tensors or SparseTensors. Columns may also be keys.
    """

    def __init__(self, features: Mapping[Any, Any]) -> None:
        self._features = dict(features)
        self._tensors: dict[Any, Any] = {}

    def get(self, key: Any, state_manager: Any = None) -> Any:
        """Return the tensor of a feature or of a column.

        A feature of rank 1 becomes a tensor of rank 2, [batch_size, 1]. Raises ValueError for an
        unknown name, and TypeError if the key is neither a name nor a column.

        Args:
          key: the name of the feature, or the column.
        """
        if key not in self._tensors:
            if key in self._features:
                self._tensors[key] = _with_two_axes(self._features[key], key)
            else:
                self._tensors[key] = self._transformed(key, state_manager)
        return self._tensors[key]

    def _transformed(self, key: Any, state_manager: Any) -> Any:
        if isinstance(key, str):
            names = sorted(name for name in self._features if isinstance(name, str))
            raise ValueError(
                f"Feature {key} is not in features dictionary. Its features are {names}."
            )
        if not isinstance(key, OldFeatureColumn):
            raise TypeError(f'"key" must be either a "str" or "FeatureColumn". Provided: {key}')
        logging.debug("Transforming feature_column %s.", key)
        if is_new_column(key):
            transformed = key.transform_feature(self, state_manager)  # type: ignore[attr-defined]
        else:
            transformed = key._transform_feature(self)
        if transformed is None:
            raise ValueError(f"Column {key.name} is not supported.")
        return transformed


def _with_two_axes(feature: Any, key: Any) -> Any:
    """Return a feature as a tensor of rank 2 or more. Raises ValueError for a scalar."""
    tensor = convert_to_tensor_or_sparse_tensor(feature)
    rank = tensor.get_shape().ndims
    scalar = f"Feature (key: {key}) cannot have rank 0. Given: {tensor}"

    def expanded() -> Any:
        if isinstance(tensor, SparseTensor):
            return sparse_reshape(tensor, [shape(tensor)[0], 1])
        return expand_dims(tensor, -1)

    if rank == 0:
        raise ValueError(scalar)
    if rank is not None:
        return expanded() if rank == 1 else tensor
    with control_dependencies([assert_positive(rank_of(tensor), message=scalar)]):
        return cond(equal(1, rank_of(tensor)), expanded, lambda: tensor)


def to_sparse_input(input_tensor: Any, ignore_value: Any = None) -> SparseTensor:
    """Return a tensor as a SparseTensor of the elements that differ from `ignore_value`.

    A SparseTensor is returned unchanged.

    Args:
      ignore_value: by default "" for strings, -1 for integers, and 0 for other numbers.
    """
    tensor = convert_to_tensor_or_sparse_tensor(input_tensor)
    if isinstance(tensor, SparseTensor):
        return tensor
    with name_scope(None, "to_sparse_input", [tensor]):
        if ignore_value is None:
            ignore_value = "" if tensor.dtype == string else -1 if tensor.dtype.is_integer else 0
        ignored = cast(ignore_value, tensor.dtype, name="ignore_value")
        indices = where_v2(not_equal(tensor, ignored), name="indices")
        values = gather_nd(tensor, indices, name="values")
        sizes = shape(tensor, out_type=int64, name="dense_shape")
        return SparseTensor(indices=indices, values=values, dense_shape=sizes)


def sorted_columns(feature_columns: Any, base: type = OldFeatureColumn) -> list[Any]:
    """Return the columns as a list, sorted by their names.

    Raises ValueError for a dict, an empty list, an object that is not an instance of `base`, or two
    columns with the same name.
    """
    if isinstance(feature_columns, base):
        feature_columns = [feature_columns]
    if isinstance(feature_columns, Iterator):
        feature_columns = list(feature_columns)
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    for column in feature_columns:
        if not isinstance(column, base):
            raise ValueError(
                "Items of feature_columns must be a FeatureColumn. "
                f"Given (type {type(column)}): {column}."
            )
    if not feature_columns:
        raise ValueError("feature_columns must not be empty.")
    by_name: dict[str, Any] = {}
    for column in feature_columns:
        if column.name in by_name:
            raise ValueError(
                "Duplicate feature column name found for columns: "
                f"{column} and {by_name[column.name]}. This usually means that these columns refer "
                "to same base feature. Either one must be discarded or a duplicated but renamed "
                "item must be inserted in features dict."
            )
        by_name[column.name] = column
    return [by_name[name] for name in sorted(by_name)]


def verify_batch_sizes(tensors: Sequence[Tensor], columns: Sequence[Any]) -> None:
    """Raise ValueError if the static batch sizes of two columns' tensors differ."""
    first: tuple[Any, Dimension] | None = None
    for tensor, column in zip(tensors, columns):
        sizes = tensor.shape.dims
        if not sizes or sizes[0].value is None:
            continue
        if first is None:
            first = column, sizes[0]
        elif first[1].value != sizes[0].value:
            raise ValueError(
                "Batch size (first dimension) of each feature must be same. Batch size of columns "
                f"({first[0].name}, {column.name}): ({first[1]}, {sizes[0]})"
            )


def transform_features(
    features: Mapping[str, Any], feature_columns: Any, state_manager: Any = None
) -> dict[Any, Any]:
    """Return a dict from columns to their tensors, computed from a dict of features."""
    outputs = {}
    with name_scope(None, "transform_features", list(features.values())):
        cache = FeatureTransformationCache(features)
        for column in sorted_columns(feature_columns):
            with name_scope(None, column.name):
                outputs[column] = cache.get(column, state_manager)
    return outputs
