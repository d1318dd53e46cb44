"""Op types of older graphs, and of TensorFlow's own rewriters, beside those that functions add."""

from gpugraph.ops.older_types import (
    array_op_types,
    comparison_op_types,
    data_format_ops,
    in_place_op_types,
    non_max_suppression_types,
    padded_convolution,
    pooling_by_tensors,
    renamed_op_types,
    state_op_types,
    unique_along_axis,
)
