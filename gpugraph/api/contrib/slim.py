"""`tf.contrib.slim`: layers, `arg_scope` and a model's variables under one name."""

from gpugraph.contrib_layers import (
    add_model_variable as add_model_variable, apply_regularization as apply_regularization,
    avg_pool2d as avg_pool2d, batch_norm as batch_norm, conv2d as conv2d,
    convolution2d as convolution2d, dropout as dropout, flatten as flatten,
    fully_connected as fully_connected, get_local_variables as get_local_variables,
    get_model_variables as get_model_variables, get_trainable_variables as get_trainable_variables,
    get_unique_variable as get_unique_variable, get_variables as get_variables,
    get_variables_by_name as get_variables_by_name,
    get_variables_by_suffix as get_variables_by_suffix, l1_l2_regularizer as l1_l2_regularizer,
    l1_regularizer as l1_regularizer, l2_regularizer as l2_regularizer, linear as linear,
    max_pool2d as max_pool2d, model_variable as model_variable, repeat as repeat, stack as stack,
    sum_regularizer as sum_regularizer, variable as variable,
    variance_scaling_initializer as variance_scaling_initializer,
    xavier_initializer as xavier_initializer,
    xavier_initializer_conv2d as xavier_initializer_conv2d,
)
from gpugraph.variable_scope.arg_scope import (
    add_arg_scope as add_arg_scope, arg_scope as arg_scope,
    arg_scope_func_key as arg_scope_func_key, arg_scoped_arguments as arg_scoped_arguments,
    current_arg_scope as current_arg_scope, has_arg_scope as has_arg_scope,
)
