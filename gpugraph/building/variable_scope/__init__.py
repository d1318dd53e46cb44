"""Variables shared by name: `get_variable` creates a variable, or returns the variable of that
name.

A graph has one `VariableStore`, which holds the variables by their full names. Each thread has its
own stack of `VariableScope`s for that graph. The innermost scope determines the prefix of names,
and whether a variable must, may or must not exist already. The innermost scope also determines the
defaults of `get_variable` for initializer, regularizer, device, dtype, partitioner and getter.

    with tf.variable_scope("layer"):
        w = tf.get_variable("w", [2, 3])            # layer/w
    with tf.variable_scope("layer", reuse=True):
        same = tf.get_variable("w")                 # the same variable

`variable_request` describes a requested variable. `variable_store` returns or creates the variable,
as a single variable (`single_variable`) or partitioned (`partition_slices`). `scope_settings`
defines the scopes, `scope_entry_and_reuse` the `with tf.variable_scope(...)` blocks, and
`sharing_errors` the error messages. `explain_variables` lists the variables of a graph and the
lines of the program that share them.
"""

from gpugraph.building.variable_scope.create_partitioned_variables import (
    create_partitioned_variables as create_partitioned_variables,
)
from gpugraph.building.variable_scope.explain_variables import (
    explain_variables as explain_variables,
)
from gpugraph.building.variable_scope.get_variable import (
    get_local_variable as get_local_variable,
    get_variable as get_variable,
)
from gpugraph.building.variable_scope.partitioners import (
    fixed_size_partitioner as fixed_size_partitioner,
    min_max_variable_partitioner as min_max_variable_partitioner,
    variable_axis_size_partitioner as variable_axis_size_partitioner,
)
from gpugraph.building.variable_scope.scope_entry_and_reuse import (
    variable_op_scope as variable_op_scope,
    variable_scope as variable_scope,
)
from gpugraph.building.variable_scope.scope_settings import (
    VariableScope as VariableScope,
    get_variable_scope as get_variable_scope,
)
from gpugraph.building.variable_scope.variable_request import (
    AUTO_REUSE as AUTO_REUSE,
    no_regularizer as no_regularizer,
)
