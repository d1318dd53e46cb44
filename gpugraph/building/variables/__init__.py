"""Variables, tensors that keep their value between runs, and a graph's collections of them.

`variable` defines reference variables, and `resource_variable` defines resource variables.
`reference_or_resource` chooses between the two kinds. `variable_creators` calls functions of the
program that may create a variable instead. `replication_modes` defines the modes of TensorFlow's
distributed variables. `partitioned_variable` defines variables that consist of parts.
`variable_collections` lists a graph's variables and initializes them.
"""

from gpugraph.building.variables.partitioned_variable import (
    PartitionedVariable as PartitionedVariable,
    is_created_since as is_created_since,
    variable_parts as variable_parts,
)
from gpugraph.building.variables.reference_or_resource import (
    disable_resource_variables as disable_resource_variables,
    enable_resource_variables as enable_resource_variables,
    resource_variables_enabled as resource_variables_enabled,
)
from gpugraph.building.variables.replication_modes import (
    VariableAggregation as VariableAggregation,
    VariableSynchronization as VariableSynchronization,
)
from gpugraph.building.variables.resource_variable import ResourceVariable as ResourceVariable
from gpugraph.building.variables.save_slice_info import SaveSliceInfo as SaveSliceInfo
from gpugraph.building.variables.variable import Variable as Variable
from gpugraph.building.variables.variable_collections import (
    all_variables as all_variables,
    assert_variables_initialized as assert_variables_initialized,
    global_variables as global_variables,
    global_variables_initializer as global_variables_initializer,
    is_tensor as is_tensor,
    is_variable_initialized as is_variable_initialized,
    local_variables as local_variables,
    local_variables_initializer as local_variables_initializer,
    model_variables as model_variables,
    moving_average_variables as moving_average_variables,
    report_uninitialized_variables as report_uninitialized_variables,
    tables_initializer as tables_initializer,
    trainable_variables as trainable_variables,
    variables_initializer as variables_initializer,
)
from gpugraph.building.variables.variable_creators import (
    variable_creator_scope as variable_creator_scope,
)
