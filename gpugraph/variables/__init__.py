"""Variables: tensors that keep their value from run to run, and what a graph knows of them.

`variable` has the Variable itself, `resource` the kind that has a handle, `kinds` says which of
the two is made, `creators` who may have a say then, `modes` how replicas would share it,
`partitioned` a variable in parts, and `collected` finds a graph's variables and initializes
them.
"""

from gpugraph.variables.partitioned_variable import PartitionedVariable
from gpugraph.variables.reference_or_resource import (
    disable_resource_variables,
    enable_resource_variables,
    resource_variables_enabled,
)
from gpugraph.variables.replication_modes import VariableAggregation, VariableSynchronization
from gpugraph.variables.resource_variable import ResourceVariable
from gpugraph.variables.save_slice_info import SaveSliceInfo
from gpugraph.variables.variable import Variable
from gpugraph.variables.variable_collections import (
    assert_variables_initialized,
    global_variables,
    global_variables_initializer,
    is_tensor,
    is_variable_initialized,
    local_variables,
    local_variables_initializer,
    model_variables,
    moving_average_variables,
    report_uninitialized_variables,
    tables_initializer,
    trainable_variables,
    variables_initializer,
)
from gpugraph.variables.variable_creators import variable_creator_scope

__all__ = [
    "PartitionedVariable",
    "ResourceVariable",
    "SaveSliceInfo",
    "Variable",
    "VariableAggregation",
    "VariableSynchronization",
    "assert_variables_initialized",
    "disable_resource_variables",
    "enable_resource_variables",
    "global_variables",
    "global_variables_initializer",
    "is_tensor",
    "is_variable_initialized",
    "local_variables",
    "local_variables_initializer",
    "model_variables",
    "moving_average_variables",
    "report_uninitialized_variables",
    "resource_variables_enabled",
    "tables_initializer",
    "trainable_variables",
    "variable_creator_scope",
    "variables_initializer",
]
