"""Private names of TensorFlow's modules of feature columns, which estimators use.

The older generation of columns has private names, such as `_NumericColumn`. In this package, each
of these names means the newer class, which has the methods of both generations.
"""

from gpugraph.library.feature_column.categorical_columns import (
    HashedCategoricalColumn as HashedCategoricalColumn,
    IdentityCategoricalColumn as IdentityCategoricalColumn,
    VocabularyFileCategoricalColumn as VocabularyFileCategoricalColumn,
    VocabularyListCategoricalColumn as VocabularyListCategoricalColumn,
    require_string_or_int,
)
from gpugraph.library.feature_column.column_classes import (
    CategoricalColumn as CategoricalColumn,
    DenseColumn as DenseColumn,
    FeatureColumn as FeatureColumn,
    SequenceDenseColumn as SequenceDenseColumn,
    is_feature_column_v2 as is_feature_column_v2,
)
from gpugraph.library.feature_column.column_functions import (
    bucketized_column,
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_file_v2 as categorical_column_with_vocabulary_file_v2,
    categorical_column_with_vocabulary_list,
    crossed_column,
    embedding_column,
    indicator_column,
    numeric_column,
    weighted_categorical_column,
)
from gpugraph.library.feature_column.combined_columns import (
    CrossedColumn as CrossedColumn,
    SequenceCategoricalColumn as SequenceCategoricalColumn,
    WeightedCategoricalColumn as WeightedCategoricalColumn,
    leaf_keys,
)
from gpugraph.library.feature_column.default_values import (
    checked_default,
    checked_shape,
    require_name,
)
from gpugraph.library.feature_column.dense_columns import (
    BucketizedColumn as BucketizedColumn,
    IndicatorColumn as IndicatorColumn,
    NumericColumn as NumericColumn,
)
from gpugraph.library.feature_column.embedding_columns import (
    EmbeddingColumn as EmbeddingColumn,
    OldSharedEmbeddingColumn,
    SharedEmbeddingColumn as SharedEmbeddingColumn,
    SharedEmbeddingColumnCreator as SharedEmbeddingColumnCreator,
)
from gpugraph.library.feature_column.linear_models import OldLinearModel, weighted_column
from gpugraph.library.feature_column.model_inputs import (
    InputLayer as InputLayer,
    input_layer_in_scope,
    make_parse_example_spec_v2 as make_parse_example_spec_v2,
)
from gpugraph.library.feature_column.sequence_columns import (
    SequenceNumericColumn as SequenceNumericColumn,
    concatenate_context_input as concatenate_context_input,
)
from gpugraph.library.feature_column.sequence_lengths import equal_lengths, sequence_lengths
from gpugraph.library.feature_column.shared_embeddings import shared_embeddings
from gpugraph.library.feature_column.state_managers import (
    LayerStateManager,
    LayerStateManagerV2,
    StateManager as StateManager,
)
from gpugraph.library.feature_column.transformed_features import (
    FeatureTransformationCache as FeatureTransformationCache,
    sorted_columns,
    to_sparse_input,
    transform_features,
    verify_batch_sizes,
)
from gpugraph.tensorflow_import.old_column_bases import (
    CategoricalColumnBase,
    DenseColumnBase,
    FeatureColumnBase,
    SequenceDenseColumnBase,
)

assert_string_or_int = require_string_or_int
_CategoricalColumn = CategoricalColumnBase
_DenseColumn = DenseColumnBase
_FeatureColumn = FeatureColumnBase
_SequenceDenseColumn = SequenceDenseColumnBase
_collect_leaf_level_keys = leaf_keys
check_default_value = checked_default
_check_shape = checked_shape
assert_key_is_string = require_name
_SharedEmbeddingColumn = OldSharedEmbeddingColumn
_LinearModel = OldLinearModel
_create_weighted_sum = weighted_column
_internal_input_layer = input_layer_in_scope
_assert_all_equal_and_return = equal_lengths
sequence_length_from_sparse_tensor = sequence_lengths
shared_embedding_columns_v2 = shared_embeddings
_StateManagerImpl = LayerStateManager
_StateManagerImplV2 = LayerStateManagerV2
_normalize_feature_columns = sorted_columns
_to_sparse_input_and_drop_ignore_values = to_sparse_input
_transform_features = transform_features
_verify_static_batch_size_equality = verify_batch_sizes
_LazyBuilder = FeatureTransformationCache
_transform_features_v2 = transform_features
_BucketizedColumn, _CrossedColumn, _EmbeddingColumn = (
    BucketizedColumn,
    CrossedColumn,
    EmbeddingColumn,
)
_HashedCategoricalColumn, _IdentityCategoricalColumn = (
    HashedCategoricalColumn,
    IdentityCategoricalColumn,
)
_IndicatorColumn, _NumericColumn = IndicatorColumn, NumericColumn
_SequenceCategoricalColumn, _SequenceNumericColumn = (
    SequenceCategoricalColumn,
    SequenceNumericColumn,
)
_VocabularyFileCategoricalColumn = VocabularyFileCategoricalColumn
_VocabularyListCategoricalColumn = VocabularyListCategoricalColumn
_WeightedCategoricalColumn = WeightedCategoricalColumn

_bucketized_column, _crossed_column = bucketized_column, crossed_column
_categorical_column_with_hash_bucket = categorical_column_with_hash_bucket
_categorical_column_with_identity = categorical_column_with_identity
_categorical_column_with_vocabulary_file = categorical_column_with_vocabulary_file
_categorical_column_with_vocabulary_list = categorical_column_with_vocabulary_list
_embedding_column, _indicator_column = embedding_column, indicator_column
_numeric_column = numeric_column
_weighted_categorical_column = weighted_categorical_column
