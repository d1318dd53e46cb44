"""Neural networks: activations, losses, convolution, pooling, biases, moments, recurrence."""

from typing import TYPE_CHECKING

from gpugraph.base.deferred_names import deferred_names

if TYPE_CHECKING:
    from gpugraph.api import rnn_cell as rnn_cell
    from gpugraph.ops.arrays.space_to_batch_and_depth import (
        depth_to_space as depth_to_space, space_to_batch as space_to_batch,
        space_to_depth as space_to_depth,
    )
    from gpugraph.ops.elementwise.unary_functions import (
        log_sigmoid as log_sigmoid, sigmoid as sigmoid, softplus as softplus, tanh as tanh,
    )
    from gpugraph.ops.indexing.embedding_lookup import embedding_lookup as embedding_lookup
    from gpugraph.ops.indexing.top_k import in_top_k as in_top_k, top_k as top_k
    from gpugraph.ops.nn.activations.dropout import dropout as dropout
    from gpugraph.ops.nn.activations.relu_and_elu import (
        elu as elu, leaky_relu as leaky_relu, relu as relu, relu6 as relu6,
    )
    from gpugraph.ops.nn.activations.selu_softsign_swish import (
        crelu as crelu, selu as selu, softsign as softsign, swish as swish,
    )
    from gpugraph.ops.nn.activations.softmax import log_softmax as log_softmax, softmax as softmax
    from gpugraph.ops.nn.convolution.conv1d import conv1d as conv1d
    from gpugraph.ops.nn.convolution.conv2d_functions import (
        conv2d as conv2d, conv2d_backprop_filter as conv2d_backprop_filter,
        conv2d_backprop_input as conv2d_backprop_input, conv2d_transpose as conv2d_transpose,
        depthwise_conv2d as depthwise_conv2d, depthwise_conv2d_native as depthwise_conv2d_native,
        depthwise_conv2d_native_backprop_filter as depthwise_conv2d_native_backprop_filter,
        depthwise_conv2d_native_backprop_input as depthwise_conv2d_native_backprop_input,
        separable_conv2d as separable_conv2d,
    )
    from gpugraph.ops.nn.convolution.conv3d_functions import (
        conv3d as conv3d, conv3d_backprop_filter_v2 as conv3d_backprop_filter_v2,
    )
    from gpugraph.ops.nn.convolution.conv_transpose import (
        atrous_conv2d_transpose as atrous_conv2d_transpose, conv1d_transpose as conv1d_transpose,
        conv3d_transpose as conv3d_transpose, conv_transpose as conv_transpose,
    )
    from gpugraph.ops.nn.convolution.convolution_of_any_rank import (
        atrous_conv2d as atrous_conv2d, convolution as convolution,
    )
    from gpugraph.ops.nn.convolution.morphological_dilation import (
        dilation2d as dilation2d, erosion2d as erosion2d,
    )
    from gpugraph.ops.nn.losses.candidate_samplers import (
        all_candidate_sampler as all_candidate_sampler,
        compute_accidental_hits as compute_accidental_hits,
        fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler,
        learned_unigram_candidate_sampler as learned_unigram_candidate_sampler,
        log_uniform_candidate_sampler as log_uniform_candidate_sampler,
        uniform_candidate_sampler as uniform_candidate_sampler,
    )
    from gpugraph.ops.nn.losses.cross_entropy_ops import (
        sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits,
        softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits,
        softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2,
        sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
    )
    from gpugraph.ops.nn.losses.ctc_decoders import (
        collapse_repeated as collapse_repeated, ctc_beam_search_decoder as ctc_beam_search_decoder,
        ctc_beam_search_decoder_v2 as ctc_beam_search_decoder_v2,
        ctc_greedy_decoder as ctc_greedy_decoder,
    )
    from gpugraph.ops.nn.losses.ctc_loss import ctc_loss as ctc_loss
    from gpugraph.ops.nn.losses.dense_label_ctc_loss import (
        ctc_loss_v2 as ctc_loss_v2, ctc_unique_labels as ctc_unique_labels,
    )
    from gpugraph.ops.nn.losses.nce_and_sampled_softmax import (
        nce_loss as nce_loss, sampled_softmax_loss as sampled_softmax_loss,
    )
    from gpugraph.ops.nn.losses.poisson_loss import log_poisson_loss as log_poisson_loss
    from gpugraph.ops.nn.normalization.bias_and_moments import (
        batch_normalization as batch_normalization, bias_add as bias_add, moments as moments,
        relu_layer as relu_layer, xw_plus_b as xw_plus_b,
    )
    from gpugraph.ops.nn.normalization.fused_batch_norm import fused_batch_norm as fused_batch_norm
    from gpugraph.ops.nn.normalization.l2_normalize import (
        batch_norm_with_global_normalization as batch_norm_with_global_normalization,
        l2_normalize as l2_normalize, normalize_moments as normalize_moments,
        sufficient_statistics as sufficient_statistics,
        weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits,
        weighted_moments as weighted_moments,
    )
    from gpugraph.ops.nn.normalization.local_response_normalization import (
        local_response_normalization as local_response_normalization,
    )
    from gpugraph.ops.nn.pooling.fractional_pooling import (
        fractional_avg_pool as fractional_avg_pool, fractional_max_pool as fractional_max_pool,
    )
    from gpugraph.ops.nn.pooling.pool_functions import (
        avg_pool as avg_pool, avg_pool1d as avg_pool1d, avg_pool3d as avg_pool3d,
        avg_pool_v2 as avg_pool_v2, max_pool as max_pool, max_pool1d as max_pool1d,
        max_pool2d as max_pool2d, max_pool3d as max_pool3d, max_pool_v2 as max_pool_v2,
        max_pool_with_argmax as max_pool_with_argmax, pool as pool,
    )
    from gpugraph.ops.nn.windows.with_space_to_batch import (
        with_space_to_batch as with_space_to_batch,
    )
    from gpugraph.ops.reductions.composed_reductions import zero_fraction as zero_fraction
    from gpugraph.ops.reductions.reduction_functions import l2_loss as l2_loss
    from gpugraph.ops.sparse.embedding_lookup_sparse import (
        embedding_lookup_sparse as embedding_lookup_sparse,
        safe_embedding_lookup_sparse as safe_embedding_lookup_sparse,
    )
    from gpugraph.library.rnn import (
        bidirectional_dynamic_rnn as bidirectional_dynamic_rnn, dynamic_rnn as dynamic_rnn,
        raw_rnn as raw_rnn, static_bidirectional_rnn as static_bidirectional_rnn,
        static_rnn as static_rnn,
        static_state_saving_rnn as static_state_saving_rnn,
    )
    from gpugraph.library.losses.average_loss import (
        compute_average_loss as compute_average_loss,
        scale_regularization_loss as scale_regularization_loss,
    )

    avg_pool2d = avg_pool
    conv3d_backprop_filter = conv3d_backprop_filter_v2
    depthwise_conv2d_backprop_filter = depthwise_conv2d_native_backprop_filter
    depthwise_conv2d_backprop_input = depthwise_conv2d_native_backprop_input
    lrn = local_response_normalization
else:
    __getattr__, __dir__, __all__ = deferred_names(__name__)
