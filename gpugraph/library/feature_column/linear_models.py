"""A linear model of columns. The model has a weight for each category and each number, and a
bias.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpugraph.building.variable_scope import get_variable, get_variable_scope, variable_scope
from gpugraph.building.variables import variable_parts
from gpugraph.graph.client.default_graph_functions import get_collection
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.feature_column.column_classes import (
    CategoricalColumn,
    OldCategoricalColumn,
    OldDenseColumn,
    num_buckets_of,
)
from gpugraph.library.feature_column.model_inputs import model_collections
from gpugraph.library.feature_column.transformed_features import (
    FeatureTransformationCache,
    sorted_columns,
    verify_batch_sizes,
)
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.elementwise.arithmetic_functions import add_n
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.linalg.matmul import matmul
from gpugraph.ops.nn.normalization.bias_and_moments import bias_add
from gpugraph.ops.random.variable_initializers import Zeros
from gpugraph.ops.sparse.embedding_lookup_sparse import safe_embedding_lookup_sparse
from gpugraph.ops.sparse.sparse_functions import sparse_reshape


def input_size(column: Any) -> int:
    """Return the number of weights of a column for each output of a linear model."""
    if isinstance(column, OldCategoricalColumn):
        return num_buckets_of(column)
    size: int = column._variable_shape.num_elements()
    return size


def weighted_ids(pair: Any, weights: Any, combiner: str) -> Tensor:
    """Return the combination of the weights of each example's ids: [batch, units]."""
    ids, factors = pair
    ids = sparse_reshape(ids, [shape(ids)[0], -1])
    if factors is not None:
        factors = sparse_reshape(factors, [shape(factors)[0], -1])
    return safe_embedding_lookup_sparse(
        weights, ids, sparse_weights=factors, combiner=combiner, name="weighted_sum"
    )


def weighted_numbers(tensor: Tensor, size: int, weights: Any) -> Tensor:
    """Return the product of each example's numbers and the weights: [batch, units]."""
    return matmul(reshape(tensor, (shape(tensor)[0], size)), weights, name="weighted_sum")


def weighted_column(
    column: Any, cache: Any, state_manager: Any, combiner: str, weights: Any
) -> Tensor:
    """Return the term of a linear model that belongs to a column of the newer generation."""
    if isinstance(column, CategoricalColumn):
        return weighted_ids(column.get_sparse_tensors(cache, state_manager), weights, combiner)
    tensor = column.get_dense_tensor(cache, state_manager)
    return weighted_numbers(tensor, column.variable_shape.num_elements(), weights)


class OldLinearModel:
    """A linear model of columns of either generation, with variables in variable scopes.

    The names of the variables are `NAME/COLUMN/weights` and `NAME/bias_weights`.
    """

    def __init__(
        self,
        feature_columns: Any,
        units: int = 1,
        sparse_combiner: str = "sum",
        weight_collections: Any = None,
        trainable: bool = True,
        name: str | None = None,
    ) -> None:
        self.name = name or "linear_model"
        self._columns = sorted_columns(feature_columns)
        self._units, self._combiner, self._trainable = units, sparse_combiner, trainable
        self._collections = model_collections(weight_collections)
        self._scope_names = [_unique_scope_name(column._var_scope_name) for column in self._columns]
        self._cols_to_vars: dict[Any, Any] = {}
        self.bias: Any = None

    def cols_to_vars(self) -> dict[Any, Any]:
        """Return a dict of variables. The keys are the columns, and `"bias"` for the bias."""
        return self._cols_to_vars

    @property
    def variables(self) -> list[Any]:
        """The weights of all columns and the bias."""
        return [variable for group in self._cols_to_vars.values() for variable in group]

    def __call__(self, features: Mapping[str, Any]) -> Tensor:
        """Return the outputs [batch, units] for a dict of features."""
        for column in self._columns:
            if not isinstance(column, (OldDenseColumn, OldCategoricalColumn)):
                raise ValueError(
                    "Items of feature_columns must be either a _DenseColumn or _CategoricalColumn. "
                    f"Given: {column}"
                )
        with variable_scope(self.name):
            cache = FeatureTransformationCache(features)
            named = sorted(zip(self._scope_names, self._columns), key=lambda pair: pair[0])
            sums = [self._weighted(column, name, cache) for name, column in named]
            verify_batch_sizes(sums, [column for _, column in named])
            total = add_n(sums, name="weighted_sum_no_bias")
            self.bias = self._variable("bias_weights", [self._units])
            self._cols_to_vars["bias"] = list(variable_parts(self.bias))
            return bias_add(total, self.bias, name="weighted_sum")

    def _weighted(self, column: Any, scope_name: str, cache: Any) -> Tensor:
        with variable_scope(None, default_name=scope_name):
            size = input_size(column)
            weights = self._variable("weights", [size, self._units])
            options: dict[str, Any] = {
                "weight_collections": self._collections,
                "trainable": self._trainable,
            }
            if isinstance(column, OldCategoricalColumn):
                pair = column._get_sparse_tensors(cache, **options)
                result = weighted_ids(pair, weights, self._combiner)
            else:
                result = weighted_numbers(column._get_dense_tensor(cache, **options), size, weights)
            self._cols_to_vars[column] = get_collection(
                GraphKeys.GLOBAL_VARIABLES, scope=get_variable_scope().name
            )
            return result

    def _variable(self, name: str, sizes: Sequence[int]) -> Any:
        return get_variable(
            name,
            shape=sizes,
            initializer=Zeros(),
            trainable=self._trainable,
            collections=self._collections,
        )


def _unique_scope_name(name: str) -> str:
    """Return `name` or, if it is in use in the current variable scope, a unique name that begins
    with it.
    """
    with variable_scope(None, default_name=name) as scope:
        return scope.name.rpartition("/")[2]


def linear_model(
    features: Mapping[str, Any],
    feature_columns: Any,
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
) -> Tensor:
    """Return the output of a linear model of dense and categorical columns: [batch_size, units],
    float32.

    All weights are initialized to 0. For the other arguments, see `input_layer`.

    Args:
      sparse_combiner: the method that combines the weights of an example's categories: "sum",
        "mean" or "sqrtn".
      cols_to_vars: a dict that receives the list of variables of each column, and of `"bias"`.
    """
    name = _unique_scope_name("linear_model")
    model = OldLinearModel(
        feature_columns, units, sparse_combiner, weight_collections, trainable, name
    )
    outputs = model(features)
    if cols_to_vars is not None:
        cols_to_vars.update(model.cols_to_vars())
    return outputs
