"""Layers as functions: what `tf.contrib.layers` and `slim` offer, and `arg_scope` is for.

A layer opens a variable scope, gets its variables in it by `tf.get_variable`, and returns a
tensor. `dense`, `convolutional`, `normalization` and `shaping` have the layers, `regularizers`
penalties of weights, `initializers` what weights begin as, `model_variables` the variables of a
model and how they are found; `making` is what layers have in common.
"""

from gpugraph.contrib_layers.fully_connected import fully_connected, linear
from gpugraph.contrib_layers.model_variables import (
    add_model_variable,
    get_local_variables,
    get_model_variables,
    get_trainable_variables,
    get_unique_variable,
    get_variables,
    get_variables_by_name,
    get_variables_by_suffix,
    model_variable,
    variable,
)
from gpugraph.contrib_layers.regularizers import (
    apply_regularization,
    l1_l2_regularizer,
    l1_regularizer,
    l2_regularizer,
    sum_regularizer,
)
from gpugraph.contrib_layers.slim_batch_norm import batch_norm
from gpugraph.contrib_layers.slim_convolution_and_pooling import (
    avg_pool2d,
    conv2d,
    convolution2d,
    max_pool2d,
)
from gpugraph.contrib_layers.slim_dropout_and_flatten import dropout, flatten, repeat, stack
from gpugraph.contrib_layers.xavier_initializers import (
    variance_scaling_initializer,
    xavier_initializer,
    xavier_initializer_conv2d,
)

__all__ = [
    "add_model_variable",
    "apply_regularization",
    "avg_pool2d",
    "batch_norm",
    "conv2d",
    "convolution2d",
    "dropout",
    "flatten",
    "fully_connected",
    "get_local_variables",
    "get_model_variables",
    "get_trainable_variables",
    "get_unique_variable",
    "get_variables",
    "get_variables_by_name",
    "get_variables_by_suffix",
    "l1_l2_regularizer",
    "l1_regularizer",
    "l2_regularizer",
    "linear",
    "max_pool2d",
    "model_variable",
    "repeat",
    "stack",
    "sum_regularizer",
    "variable",
    "variance_scaling_initializer",
    "xavier_initializer",
    "xavier_initializer_conv2d",
]
