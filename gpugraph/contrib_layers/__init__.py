"""Layers as functions: `tf.contrib.layers` and `slim`, for use with `arg_scope`.

A layer opens a variable scope, gets its variables in it by `tf.get_variable`, and returns a
tensor. `fully_connected`, `slim_convolution_and_pooling`, `slim_batch_norm` and
`slim_dropout_and_flatten` have the layers, `regularizers` penalties of weights,
`xavier_initializers` initializers, `model_variables` the variables of a model and how they are
found, `layer_collections` what layers share.
"""

from gpugraph.contrib_layers.fully_connected import (
    fully_connected as fully_connected,
    linear as linear,
)
from gpugraph.contrib_layers.model_variables import (
    add_model_variable as add_model_variable,
    get_local_variables as get_local_variables,
    get_model_variables as get_model_variables,
    get_trainable_variables as get_trainable_variables,
    get_unique_variable as get_unique_variable,
    get_variables as get_variables,
    get_variables_by_name as get_variables_by_name,
    get_variables_by_suffix as get_variables_by_suffix,
    model_variable as model_variable,
    variable as variable,
)
from gpugraph.contrib_layers.regularizers import (
    apply_regularization as apply_regularization,
    l1_l2_regularizer as l1_l2_regularizer,
    l1_regularizer as l1_regularizer,
    l2_regularizer as l2_regularizer,
    sum_regularizer as sum_regularizer,
)
from gpugraph.contrib_layers.slim_batch_norm import batch_norm as batch_norm
from gpugraph.contrib_layers.slim_convolution_and_pooling import (
    avg_pool2d as avg_pool2d,
    conv2d as conv2d,
    convolution2d as convolution2d,
    max_pool2d as max_pool2d,
)
from gpugraph.contrib_layers.slim_dropout_and_flatten import (
    dropout as dropout,
    flatten as flatten,
    repeat as repeat,
    stack as stack,
)
from gpugraph.contrib_layers.xavier_initializers import (
    variance_scaling_initializer as variance_scaling_initializer,
    xavier_initializer as xavier_initializer,
    xavier_initializer_conv2d as xavier_initializer_conv2d,
)
