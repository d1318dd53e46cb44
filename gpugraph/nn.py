"""Neural networks: activations, losses, convolution, pooling, biases, moments, recurrence."""

from gpugraph.ops.activations import elu, leaky_relu, relu, relu6
from gpugraph.ops.convolution_functions import (
    avg_pool,
    conv2d,
    conv2d_backprop_filter,
    conv2d_backprop_input,
    conv2d_transpose,
    depthwise_conv2d,
    depthwise_conv2d_native,
    max_pool,
    separable_conv2d,
)
from gpugraph.ops.dropout import dropout
from gpugraph.ops.embeddings import embedding_lookup
from gpugraph.ops.nn import batch_normalization, bias_add, moments, xw_plus_b
from gpugraph.ops.nn_losses import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from gpugraph.ops.ranking import in_top_k, top_k
from gpugraph.ops.reduction_functions import l2_loss
from gpugraph.ops.softmax import log_softmax, softmax
from gpugraph.ops.unary_functions import sigmoid, softplus, tanh
from gpugraph.rnn import (
    bidirectional_dynamic_rnn,
    dynamic_rnn,
    raw_rnn,
    rnn_cell,
    static_bidirectional_rnn,
    static_rnn,
)

__all__ = [
    "avg_pool",
    "batch_normalization",
    "bias_add",
    "bidirectional_dynamic_rnn",
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
    "depthwise_conv2d",
    "depthwise_conv2d_native",
    "dropout",
    "dynamic_rnn",
    "elu",
    "embedding_lookup",
    "in_top_k",
    "l2_loss",
    "leaky_relu",
    "log_softmax",
    "max_pool",
    "moments",
    "raw_rnn",
    "relu",
    "relu6",
    "rnn_cell",
    "separable_conv2d",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "softplus",
    "sparse_softmax_cross_entropy_with_logits",
    "static_bidirectional_rnn",
    "static_rnn",
    "tanh",
    "top_k",
    "xw_plus_b",
]
