"""`tf.contrib.nn`: functions for neural networks that are not in `tf.nn`."""

from gpugraph.library.contrib.nn_functions import (
    alpha_dropout as alpha_dropout,
    deprecated_flipped_sigmoid_cross_entropy_with_logits as deprecated_flipped_sigmoid_cross_entropy_with_logits,  # noqa: E501
    deprecated_flipped_softmax_cross_entropy_with_logits as deprecated_flipped_softmax_cross_entropy_with_logits,  # noqa: E501
    deprecated_flipped_sparse_softmax_cross_entropy_with_logits as deprecated_flipped_sparse_softmax_cross_entropy_with_logits,  # noqa: E501
    scaled_softplus as scaled_softplus,
)
from gpugraph.ops.nn.convolution.conv_transpose import (
    conv1d_transpose as conv1d_transpose,
)
