"""Functions that make columns the inputs of a model: `input_layer`, and the features to parse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpugraph.building.variable_scope import get_variable_scope, variable_scope
from gpugraph.building.variable_scope.make_template import make_template
from gpugraph.graph.client.default_graph_functions import get_collection
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.feature_column.column_classes import (
    FeatureColumn,
    OldDenseColumn,
    OldFeatureColumn,
)
from gpugraph.library.feature_column.transformed_features import (
    FeatureTransformationCache,
    sorted_columns,
    verify_batch_sizes,
)
from gpugraph.ops.arrays.concat_and_stack import concat
from gpugraph.ops.arrays.reshape_and_transpose import reshape
from gpugraph.ops.framework.identity_and_shape import shape


def model_collections(weight_collections: Iterable[str] | None) -> list[str]:
    """Return `weight_collections`, followed by the collections of all variables and of model
    variables.
    """
    collections = list(weight_collections or ())
    standard = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES)
    return collections + [name for name in standard if name not in collections]


def input_layer_in_scope(
    features: Mapping[str, Any],
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    scope: Any = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
    from_template: bool = False,
) -> Tensor:
    """Return `input_layer` in the variable scope `scope`. If `from_template` is true, use the
    current scope.
    """
    columns = sorted_columns(feature_columns)
    for column in columns:
        if not isinstance(column, OldDenseColumn):
            raise ValueError(
                "Items of feature_columns must be a _DenseColumn. You can wrap a categorical "
                f"column with an embedding_column or indicator_column. Given: {column}"
            )
    collections = model_collections(weight_collections)

    def outputs() -> Tensor:
        cache, tensors = FeatureTransformationCache(features), []
        for column in columns:
            with variable_scope(None, default_name=column._var_scope_name):
                tensor = column._get_dense_tensor(
                    cache, weight_collections=collections, trainable=trainable
                )
                size = column._variable_shape.num_elements()
                tensors.append(reshape(tensor, (shape(tensor)[0], size)))
                if cols_to_vars is not None:
                    cols_to_vars[column] = get_collection(
                        GraphKeys.GLOBAL_VARIABLES, scope=get_variable_scope().name
                    )
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = tensors[-1]
        verify_batch_sizes(tensors, columns)
        return concat(tensors, 1)

    if from_template:
        return outputs()
    with variable_scope(scope, default_name="input_layer", values=list(features.values())):
        return outputs()


def input_layer(
    features: Mapping[str, Any],
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
) -> Tensor:
    """Return the dense columns of a batch of features as a matrix [batch_size, columns], float32.

    Args:
      features: a dict from names to tensors and sparse tensors [batch_size, ...].
      feature_columns: dense columns. The tensors of the columns are concatenated in the order of
        the columns' names.
      weight_collections: names of additional collections for the variables. All variables are also
        added to the collections of all variables and of model variables.
      trainable: whether to train the variables.
      cols_to_vars: a dict that receives the list of variables of each column.
      cols_to_output_tensors: a dict that receives the tensor of each column.

    Raises:
      ValueError: a column is not dense, a feature is unknown, or batch sizes differ.
    """
    return input_layer_in_scope(
        features,
        feature_columns,
        weight_collections,
        trainable,
        cols_to_vars,
        cols_to_output_tensors=cols_to_output_tensors,
    )


class InputLayer:
    """`input_layer` as an object. All calls of the object share its variables."""

    def __init__(
        self,
        feature_columns: Any,
        weight_collections: Any = None,
        trainable: bool = True,
        cols_to_vars: dict[Any, Any] | None = None,
        name: str = "feature_column_input_layer",
        create_scope_now: bool = True,
    ) -> None:
        self._columns, self._collections = feature_columns, weight_collections
        self._trainable, self._cols_to_vars, self._name = trainable, cols_to_vars, name
        self._template: Any = make_template(
            name, input_layer_in_scope, create_scope_now_=create_scope_now
        )

    def __call__(self, features: Mapping[str, Any]) -> Tensor:
        tensor: Tensor = self._template(
            features=features,
            feature_columns=self._columns,
            weight_collections=self._collections,
            trainable=self._trainable,
            cols_to_vars=self._cols_to_vars,
            from_template=True,
        )
        return tensor

    @property
    def name(self) -> str:
        """The name of the layer and of its variable scope."""
        return self._name

    @property
    def trainable_variables(self) -> Any:
        """The variables to train."""
        return self._template.trainable_variables

    @property
    def non_trainable_variables(self) -> Any:
        """The variables that are not trainable."""
        return self._template.non_trainable_variables

    @property
    def variables(self) -> Any:
        """All variables."""
        return self._template.variables

    trainable_weights = trainable_variables
    non_trainable_weights = non_trainable_variables
    weights = variables


def make_parse_example_spec(feature_columns: Iterable[Any]) -> dict[str, Any]:
    """Return the features that the columns need, for `tf.io.parse_example`.

    Raises ValueError if an object is not a column, or if two columns need the same feature with
    different specifications.
    """
    return _joined_specs(feature_columns, OldFeatureColumn, "_FeatureColumn")


def make_parse_example_spec_v2(feature_columns: Iterable[Any]) -> dict[str, Any]:
    """Return the features that columns of the newer generation need. See
    `make_parse_example_spec`.
    """
    return _joined_specs(feature_columns, FeatureColumn, "FeatureColumn")


def _joined_specs(feature_columns: Iterable[Any], base: type, kind: str) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, base):
            raise ValueError(f"All feature_columns must be {kind} instances. Given: {column}")
        for key, value in column._parse_example_spec.items():  # type: ignore[attr-defined]
            if result.setdefault(key, value) != value:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. "
                    f"Given {value} and {result[key]}"
                )
    return result
