"""`tf.contrib.feature_column`: feature columns of sequences, under their original names."""

from gpugraph.library.feature_column.column_functions import (
    sequence_categorical_column_with_hash_bucket as sequence_categorical_column_with_hash_bucket,
    sequence_categorical_column_with_identity as sequence_categorical_column_with_identity,
    sequence_categorical_column_with_vocabulary_file as
    sequence_categorical_column_with_vocabulary_file,
    sequence_categorical_column_with_vocabulary_list as
    sequence_categorical_column_with_vocabulary_list,
    sequence_numeric_column as sequence_numeric_column,
)
from gpugraph.library.feature_column.sequence_columns import (
    sequence_input_layer as sequence_input_layer,
)
