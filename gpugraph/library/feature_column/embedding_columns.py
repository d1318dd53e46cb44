"""Columns of embeddings: rows of a variable, which are combined for each example."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from gpugraph.base.dtypes import float32
from gpugraph.base.shapes import TensorShape
from gpugraph.building.trackable.auto_trackable import AutoTrackable
from gpugraph.building.variable_scope import get_variable
from gpugraph.building.variables import PartitionedVariable
from gpugraph.graph.client.default_graph_functions import (
    add_to_collection,
    get_collection,
    get_default_graph,
    name_scope,
)
from gpugraph.graph.client.tensor import Tensor
from gpugraph.library.feature_column.column_classes import (
    DenseColumn,
    OldDenseColumn,
    OldSequenceDenseColumn,
    SequenceDenseColumn,
    TensorSequenceLengthPair,
    example_spec_of,
    is_new_column,
    num_buckets_of,
    sparse_tensors_of,
)
from gpugraph.library.feature_column.combined_columns import refuse_sequence, require_sequence
from gpugraph.library.feature_column.sequence_lengths import sequence_lengths
from gpugraph.library.train.savers.checkpoint_initializers import init_from_checkpoint
from gpugraph.ops.sparse.embedding_lookup_sparse import safe_embedding_lookup_sparse

_KIND = "embedding_column"


def _restore(checkpoint: Any, tensor_name: Any, variable: Any) -> None:
    """Make a variable's initializer read a tensor from a checkpoint. If `checkpoint` is None, do
    nothing.
    """
    if checkpoint is not None:
        parts = list(variable) if isinstance(variable, PartitionedVariable) else variable
        init_from_checkpoint(checkpoint, {tensor_name: parts})


class _LookupColumn:
    """A mixin for embedding columns that looks up ids in a variable."""

    categorical_column: Any
    combiner: str
    max_norm: Any
    name: str

    def _looked_up(self, pair: Any, variable: Any) -> Tensor:
        return safe_embedding_lookup_sparse(
            embedding_weights=variable,
            sparse_ids=pair.id_tensor,
            sparse_weights=pair.weight_tensor,
            combiner=self.combiner,
            name=f"{self.name}_weights",
            max_norm=self.max_norm,
        )

    @property
    def parents(self) -> list[Any]:
        """A list that contains the categorical column whose ids are looked up."""
        return [self.categorical_column]


class EmbeddingColumn(
    _LookupColumn,
    DenseColumn,
    SequenceDenseColumn,
    namedtuple(
        "EmbeddingColumn",
        "categorical_column dimension combiner initializer ckpt_to_load_from tensor_name_in_ckpt "
        "max_norm trainable",
    ),
):
    """A column of embeddings that has its own variable."""

    @property
    def _is_v2_column(self) -> bool:  # type: ignore[override]
        return is_new_column(self.categorical_column)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the categorical column, with a suffix."""
        return f"{self.categorical_column.name}_embedding"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The `parse_example_spec` of the categorical column."""
        return example_spec_of(self.categorical_column)

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of one embedding: [dimension]."""
        return TensorShape([self.dimension])

    def create_state(self, state_manager: Any) -> None:
        """Create the variable `embedding_weights` [categories, dimension]."""
        state_manager.create_variable(
            self,
            name="embedding_weights",
            shape=(num_buckets_of(self.categorical_column), self.dimension),
            dtype=float32,
            trainable=self.trainable,
            use_resource=True,
            initializer=self.initializer,
        )

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the transformed tensor of the categorical column."""
        return transformation_cache.get(self.categorical_column, state_manager)

    def _pair(self, transformation_cache: Any, state_manager: Any) -> Any:
        return sparse_tensors_of(self.categorical_column, transformation_cache, state_manager)

    def _embedded(self, pair: Any, state_manager: Any) -> Tensor:
        variable = state_manager.get_variable(self, name="embedding_weights")
        _restore(self.ckpt_to_load_from, self.tensor_name_in_ckpt, variable)
        return self._looked_up(pair, variable)

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the embeddings [batch, dimension]. Raises ValueError if the ids are sequences."""
        refuse_sequence(self, _KIND)
        return self._embedded(self._pair(transformation_cache, state_manager), state_manager)

    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the embeddings [batch, time, dimension]. Raises ValueError unless the ids are
        sequences.
        """
        require_sequence(self, _KIND)
        pair = self._pair(transformation_cache, state_manager)
        dense = self._embedded(pair, state_manager)
        return TensorSequenceLengthPair(dense, sequence_lengths(pair.id_tensor))


class OldSharedEmbeddingColumn(
    _LookupColumn,
    OldDenseColumn,
    OldSequenceDenseColumn,
    namedtuple(
        "_SharedEmbeddingColumn",
        "categorical_column dimension combiner initializer shared_embedding_collection_name "
        "ckpt_to_load_from tensor_name_in_ckpt max_norm trainable",
    ),
):
    """A column of embeddings of the older generation. Several columns share one variable.

    The variable is in the graph's collection `shared_embedding_collection_name`.
    """

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the categorical column, with a suffix."""
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def _var_scope_name(self) -> str:
        name: str = self.shared_embedding_collection_name
        return name

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        return example_spec_of(self.categorical_column)

    @property
    def _variable_shape(self) -> TensorShape:
        return TensorShape([self.dimension])

    def _transform_feature(self, inputs: Any) -> Any:
        return inputs.get(self.categorical_column)

    def _embedded(self, inputs: Any, weight_collections: Any, trainable: Any) -> Any:
        with name_scope(None, self.name):
            pair = self.categorical_column._get_sparse_tensors(
                inputs, weight_collections=weight_collections, trainable=trainable
            )
            variable = self._variable(weight_collections, trainable)
            _restore(self.ckpt_to_load_from, self.tensor_name_in_ckpt, variable)
            return self._looked_up(pair, variable)

    def _variable(self, weight_collections: Any, trainable: Any) -> Any:
        """Return the variable in the collection. If the collection is empty, create the variable
        first.
        """
        name = self.shared_embedding_collection_name
        sizes = (num_buckets_of(self.categorical_column), self.dimension)
        fixes = (
            "Suggested fix A: Choose a unique name for this collection. Suggested fix B: Do not "
            "add any variables to this collection. The feature_column library already adds a "
            "variable under the hood."
        )
        shared = get_collection(name)
        if len(shared) > 1:
            raise ValueError(f"Collection {shared} can only contain one variable. {fixes}")
        if shared:
            if shared[0].get_shape() != TensorShape(sizes):
                raise ValueError(
                    f"Shared embedding collection {name} contains variable {shared[0].name} of "
                    f"unexpected shape {shared[0].get_shape()}. Expected shape is {sizes}. {fixes}"
                )
            return shared[0]
        variable = get_variable(
            name="embedding_weights",
            shape=sizes,
            dtype=float32,
            initializer=self.initializer,
            trainable=bool(self.trainable and trainable),
            collections=weight_collections,
        )
        add_to_collection(name, variable)
        return variable

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: bool | None = None
    ) -> Any:
        refuse_sequence(self, _KIND)
        return self._embedded(inputs, weight_collections, trainable)

    def _get_sequence_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: bool | None = None
    ) -> Any:
        require_sequence(self, _KIND)
        dense = self._embedded(inputs, weight_collections, trainable)
        pair = self.categorical_column._get_sparse_tensors(inputs)
        return TensorSequenceLengthPair(dense, sequence_lengths(pair.id_tensor))


class SharedEmbeddingColumnCreator(AutoTrackable):
    """Creates several columns that share one variable. The variable is created only once."""

    def __init__(
        self,
        dimension: int,
        initializer: Any,
        ckpt_to_load_from: Any,
        tensor_name_in_ckpt: Any,
        num_buckets: int,
        trainable: bool,
        name: str = "shared_embedding_column_creator",
    ) -> None:
        self.dimension = dimension
        self._initializer, self._trainable, self._name = initializer, trainable, name
        self._checkpoint = ckpt_to_load_from, tensor_name_in_ckpt
        self._num_buckets = num_buckets
        self._variables: list[tuple[Any, Any]] = []

    def __call__(
        self, categorical_column: Any, combiner: str, max_norm: Any
    ) -> SharedEmbeddingColumn:
        """Return a column that looks up ids in the shared variable."""
        return SharedEmbeddingColumn(categorical_column, self, combiner, max_norm)

    @property
    def embedding_weights(self) -> Any:
        """The shared variable in the default graph. The first access creates the variable."""
        graph = get_default_graph()
        for known, variable in self._variables:
            if known is graph:
                return variable
        variable = get_variable(
            name=self._name,
            shape=(self._num_buckets, self.dimension),
            dtype=float32,
            initializer=self._initializer,
            trainable=self._trainable,
        )
        _restore(*self._checkpoint, variable)
        self._variables.append((graph, variable))
        return variable


class SharedEmbeddingColumn(
    _LookupColumn,
    DenseColumn,
    SequenceDenseColumn,
    namedtuple(
        "SharedEmbeddingColumn",
        ("categorical_column", "shared_embedding_column_creator", "combiner", "max_norm"),
    ),
):
    """A column of embeddings of the newer generation. Several columns share one variable."""

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the categorical column, with a suffix."""
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The `parse_example_spec` of the categorical column."""
        return example_spec_of(self.categorical_column)

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of one embedding: [dimension]."""
        return TensorShape([self.shared_embedding_column_creator.dimension])

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the transformed tensor of the categorical column."""
        return transformation_cache.get(self.categorical_column, state_manager)

    def _pair_and_embedded(self, transformation_cache: Any, state_manager: Any) -> Any:
        with name_scope(None, self.name):
            pair = sparse_tensors_of(self.categorical_column, transformation_cache, state_manager)
            variable = self.shared_embedding_column_creator.embedding_weights
            return pair, self._looked_up(pair, variable)

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the embeddings [batch, dimension]. Raises ValueError if the ids are sequences."""
        refuse_sequence(self, _KIND)
        return self._pair_and_embedded(transformation_cache, state_manager)[1]

    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the embeddings [batch, time, dimension]. Raises ValueError unless the ids are
        sequences.
        """
        require_sequence(self, _KIND)
        pair, dense = self._pair_and_embedded(transformation_cache, state_manager)
        return TensorSequenceLengthPair(dense, sequence_lengths(pair.id_tensor))

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: bool | None = None
    ) -> Any:
        raise ValueError(
            "SharedEmbeddingColumns are not supported in `linear_model` or `input_layer`. Please "
            "use `DenseFeatures` or `LinearModel` instead."
        )

    _get_sequence_dense_tensor = _get_dense_tensor
