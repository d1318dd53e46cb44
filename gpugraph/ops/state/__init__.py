"""The ops of variables: VariableV2, assignments, scatter updates, by reference or by handle."""

from gpugraph.ops.state import (
    assign_to_slice,
    change_by_handle,
    count_up_to,
    reference_variable_ops,
    resource_variable_ops,
    scatter_updates,
    session_tensors,
)
