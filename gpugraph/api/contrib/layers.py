"""`tf.contrib.layers`: layers as functions, regularizers and initializers."""

from gpugraph.contrib_layers import (
    apply_regularization as apply_regularization, avg_pool2d as avg_pool2d,
    batch_norm as batch_norm, conv2d as conv2d, convolution2d as convolution2d, dropout as dropout,
    flatten as flatten, fully_connected as fully_connected, l1_l2_regularizer as l1_l2_regularizer,
    l1_regularizer as l1_regularizer, l2_regularizer as l2_regularizer, linear as linear,
    max_pool2d as max_pool2d, repeat as repeat, stack as stack, sum_regularizer as sum_regularizer,
    variance_scaling_initializer as variance_scaling_initializer,
    xavier_initializer as xavier_initializer,
    xavier_initializer_conv2d as xavier_initializer_conv2d,
)
