"""Neural networks: activations, losses, convolution, pooling, biases, moments, recurrence."""

from gpugraph.api import rnn_cell
from gpugraph.ops.arrays.space_to_batch_and_depth import (
    depth_to_space,
    space_to_batch,
    space_to_depth,
)
from gpugraph.ops.elementwise.unary_functions import log_sigmoid, sigmoid, softplus, tanh
from gpugraph.ops.indexing.embedding_lookup import embedding_lookup
from gpugraph.ops.indexing.top_k import in_top_k, top_k
from gpugraph.ops.nn.activations.dropout import dropout
from gpugraph.ops.nn.activations.relu_and_elu import elu, leaky_relu, relu, relu6
from gpugraph.ops.nn.activations.selu_softsign_swish import crelu, selu, softsign, swish
from gpugraph.ops.nn.activations.softmax import log_softmax, softmax
from gpugraph.ops.nn.convolution.conv1d import conv1d
from gpugraph.ops.nn.convolution.conv2d_functions import (
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
from gpugraph.ops.nn.convolution.conv2d_functions import avg_pool as avg_pool2d
from gpugraph.ops.nn.convolution.conv3d_functions import avg_pool3d, conv3d, max_pool3d
from gpugraph.ops.nn.convolution.conv_transpose import (
    atrous_conv2d_transpose,
    conv1d_transpose,
    conv3d_backprop_filter_v2,
    conv3d_transpose,
    conv_transpose,
    depthwise_conv2d_native_backprop_filter,
    depthwise_conv2d_native_backprop_input,
)
from gpugraph.ops.nn.convolution.conv_transpose import (
    conv3d_backprop_filter_v2 as conv3d_backprop_filter,
)
from gpugraph.ops.nn.convolution.conv_transpose import (
    depthwise_conv2d_native_backprop_filter as depthwise_conv2d_backprop_filter,
)
from gpugraph.ops.nn.convolution.conv_transpose import (
    depthwise_conv2d_native_backprop_input as depthwise_conv2d_backprop_input,
)
from gpugraph.ops.nn.convolution.convolution_of_any_rank import atrous_conv2d, convolution, pool
from gpugraph.ops.nn.convolution.morphological_dilation import dilation2d, erosion2d
from gpugraph.ops.nn.convolution.pool_functions import (
    avg_pool1d,
    avg_pool_v2,
    max_pool1d,
    max_pool2d,
    max_pool_v2,
    max_pool_with_argmax,
)
from gpugraph.ops.nn.convolution.with_space_to_batch import with_space_to_batch
from gpugraph.ops.nn.losses.candidate_samplers import (
    all_candidate_sampler,
    compute_accidental_hits,
    fixed_unigram_candidate_sampler,
    learned_unigram_candidate_sampler,
    log_uniform_candidate_sampler,
    uniform_candidate_sampler,
)
from gpugraph.ops.nn.losses.cross_entropy_ops import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from gpugraph.ops.nn.losses.ctc_decoders import (
    collapse_repeated,
    ctc_beam_search_decoder,
    ctc_beam_search_decoder_v2,
    ctc_greedy_decoder,
)
from gpugraph.ops.nn.losses.ctc_loss import ctc_loss
from gpugraph.ops.nn.losses.dense_label_ctc_loss import ctc_loss_v2
from gpugraph.ops.nn.losses.nce_and_sampled_softmax import nce_loss, sampled_softmax_loss
from gpugraph.ops.nn.losses.poisson_loss import log_poisson_loss
from gpugraph.ops.nn.normalization.bias_and_moments import (
    batch_normalization,
    bias_add,
    moments,
    relu_layer,
    xw_plus_b,
)
from gpugraph.ops.nn.normalization.fused_batch_norm import fused_batch_norm
from gpugraph.ops.nn.normalization.l2_normalize import (
    batch_norm_with_global_normalization,
    l2_normalize,
    normalize_moments,
    sufficient_statistics,
    weighted_cross_entropy_with_logits,
    weighted_moments,
)
from gpugraph.ops.nn.normalization.local_response_normalization import local_response_normalization
from gpugraph.ops.nn.normalization.local_response_normalization import (
    local_response_normalization as lrn,
)
from gpugraph.ops.reductions.composed_reductions import zero_fraction
from gpugraph.ops.reductions.reduction_functions import l2_loss
from gpugraph.ops.sparse.embedding_lookup_sparse import (
    embedding_lookup_sparse,
    safe_embedding_lookup_sparse,
)
from gpugraph.rnn import (
    bidirectional_dynamic_rnn,
    dynamic_rnn,
    raw_rnn,
    static_bidirectional_rnn,
    static_rnn,
)

__all__ = [
    "all_candidate_sampler",
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "avg_pool_v2",
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "bias_add",
    "bidirectional_dynamic_rnn",
    "collapse_repeated",
    "compute_accidental_hits",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
    "conv3d",
    "conv3d_backprop_filter",
    "conv3d_backprop_filter_v2",
    "conv3d_transpose",
    "conv_transpose",
    "convolution",
    "crelu",
    "ctc_beam_search_decoder",
    "ctc_beam_search_decoder_v2",
    "ctc_greedy_decoder",
    "ctc_loss",
    "ctc_loss_v2",
    "depth_to_space",
    "depthwise_conv2d",
    "depthwise_conv2d_backprop_filter",
    "depthwise_conv2d_backprop_input",
    "depthwise_conv2d_native",
    "depthwise_conv2d_native_backprop_filter",
    "depthwise_conv2d_native_backprop_input",
    "dilation2d",
    "dropout",
    "dynamic_rnn",
    "elu",
    "embedding_lookup",
    "embedding_lookup_sparse",
    "erosion2d",
    "fixed_unigram_candidate_sampler",
    "fused_batch_norm",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "learned_unigram_candidate_sampler",
    "local_response_normalization",
    "log_poisson_loss",
    "log_sigmoid",
    "log_softmax",
    "log_uniform_candidate_sampler",
    "lrn",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool_v2",
    "max_pool_with_argmax",
    "moments",
    "nce_loss",
    "normalize_moments",
    "pool",
    "raw_rnn",
    "relu",
    "relu6",
    "relu_layer",
    "rnn_cell",
    "safe_embedding_lookup_sparse",
    "sampled_softmax_loss",
    "selu",
    "separable_conv2d",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "softplus",
    "softsign",
    "space_to_batch",
    "space_to_depth",
    "sparse_softmax_cross_entropy_with_logits",
    "static_bidirectional_rnn",
    "static_rnn",
    "sufficient_statistics",
    "swish",
    "tanh",
    "top_k",
    "uniform_candidate_sampler",
    "weighted_cross_entropy_with_logits",
    "weighted_moments",
    "with_space_to_batch",
    "xw_plus_b",
    "zero_fraction",
]
