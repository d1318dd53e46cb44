"""Neural networks: activations, losses, convolution, pooling, biases, moments, recurrence."""

from gpugraph.ops.activations import elu, leaky_relu, relu, relu6
from gpugraph.ops.any_convolution import atrous_conv2d, convolution, pool
from gpugraph.ops.batch_norm import fused_batch_norm
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
from gpugraph.ops.convolution_shapes import conv1d
from gpugraph.ops.dropout import dropout
from gpugraph.ops.embeddings import embedding_lookup
from gpugraph.ops.more_activations import crelu, selu, softsign, swish
from gpugraph.ops.nn import batch_normalization, bias_add, moments, xw_plus_b
from gpugraph.ops.nn_losses import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from gpugraph.ops.normalizing import (
    batch_norm_with_global_normalization,
    l2_normalize,
    normalize_moments,
    sufficient_statistics,
    weighted_cross_entropy_with_logits,
    weighted_moments,
)
from gpugraph.ops.ranking import in_top_k, top_k
from gpugraph.ops.reduction_functions import l2_loss
from gpugraph.ops.response_normalization import local_response_normalization
from gpugraph.ops.response_normalization import local_response_normalization as lrn
from gpugraph.ops.softmax import log_softmax, softmax
from gpugraph.ops.sparse_embeddings import embedding_lookup_sparse, safe_embedding_lookup_sparse
from gpugraph.ops.statistics import zero_fraction
from gpugraph.ops.unary_functions import log_sigmoid, sigmoid, softplus, tanh
from gpugraph.ops.volume_functions import avg_pool3d, conv3d, max_pool3d
from gpugraph.rnn import (
    bidirectional_dynamic_rnn,
    dynamic_rnn,
    raw_rnn,
    rnn_cell,
    static_bidirectional_rnn,
    static_rnn,
)

__all__ = [
    "atrous_conv2d",
    "avg_pool",
    "avg_pool3d",
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "bias_add",
    "bidirectional_dynamic_rnn",
    "conv1d",
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
    "conv3d",
    "convolution",
    "crelu",
    "depthwise_conv2d",
    "depthwise_conv2d_native",
    "dropout",
    "dynamic_rnn",
    "elu",
    "embedding_lookup",
    "fused_batch_norm",
    "embedding_lookup_sparse",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "local_response_normalization",
    "log_sigmoid",
    "log_softmax",
    "lrn",
    "max_pool",
    "max_pool3d",
    "moments",
    "normalize_moments",
    "pool",
    "raw_rnn",
    "relu",
    "relu6",
    "rnn_cell",
    "selu",
    "safe_embedding_lookup_sparse",
    "separable_conv2d",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "softplus",
    "softsign",
    "sparse_softmax_cross_entropy_with_logits",
    "static_bidirectional_rnn",
    "static_rnn",
    "sufficient_statistics",
    "swish",
    "tanh",
    "top_k",
    "weighted_cross_entropy_with_logits",
    "weighted_moments",
    "xw_plus_b",
    "zero_fraction",
]
