"""`tf.feature_column`: definitions of the columns that convert features of examples to inputs of a
model.
"""

from gpugraph.library.feature_column import column_functions as _functions
from gpugraph.library.feature_column.column_functions import (
    bucketized_column as bucketized_column,
    categorical_column_with_hash_bucket as categorical_column_with_hash_bucket,
    categorical_column_with_identity as categorical_column_with_identity,
    categorical_column_with_vocabulary_file as categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list as categorical_column_with_vocabulary_list,
    crossed_column as crossed_column,
    embedding_column as embedding_column,
    indicator_column as indicator_column,
    numeric_column as numeric_column,
    sequence_categorical_column_with_hash_bucket as sequence_categorical_column_with_hash_bucket,
    sequence_categorical_column_with_identity as sequence_categorical_column_with_identity,
    sequence_numeric_column as sequence_numeric_column,
    weighted_categorical_column as weighted_categorical_column,
)
from gpugraph.library.feature_column.linear_models import linear_model as linear_model
from gpugraph.library.feature_column.model_inputs import (
    input_layer as input_layer,
    make_parse_example_spec as make_parse_example_spec,
)
from gpugraph.library.feature_column.shared_embeddings import (
    shared_embedding_columns as shared_embedding_columns,
)

sequence_categorical_column_with_vocabulary_file = (
    _functions.sequence_categorical_column_with_vocabulary_file
)
sequence_categorical_column_with_vocabulary_list = (
    _functions.sequence_categorical_column_with_vocabulary_list
)
