"""`tf.contrib.slim`: layers, `arg_scope` and a model's variables under one name."""

from gpugraph.api.contrib.layers import *
from gpugraph.contrib_layers import (
    add_model_variable as add_model_variable, get_local_variables as get_local_variables,
    get_model_variables as get_model_variables, get_trainable_variables as get_trainable_variables,
    get_unique_variable as get_unique_variable, get_variables as get_variables,
    get_variables_by_name as get_variables_by_name,
    get_variables_by_suffix as get_variables_by_suffix, model_variable as model_variable,
    variable as variable,
)
from gpugraph.variable_scope.arg_scope import (
    add_arg_scope as add_arg_scope, arg_scope as arg_scope,
    arg_scope_func_key as arg_scope_func_key, arg_scoped_arguments as arg_scoped_arguments,
    current_arg_scope as current_arg_scope, has_arg_scope as has_arg_scope,
)
