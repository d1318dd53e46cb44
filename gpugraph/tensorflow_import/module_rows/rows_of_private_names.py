"""Rows of `module_table`: private names that published programs import from internal modules.

`private.x` means `gpugraph.tensorflow_import.private_functions.x`.
"""

from __future__ import annotations

ROWS_OF_PRIVATE_NAMES = """
python.ops.rnn_cell_impl: _RNNCell=tf.nn.rnn_cell.RNNCell
    _like_rnncell=private.recurrent_functions.like_rnncell
    _LayerRNNCell=gpugraph.library.rnn.rnn_cell_base.LayerCell
    _hasattr=private.recurrent_functions.hasattr_of
    _check_supported_dtypes=private.recurrent_functions.check_supported_dtypes
    _check_rnn_cell_input_dtypes=private.recurrent_functions.check_rnn_cell_input_dtypes
python.ops.rnn:
    _best_effort_input_batch_size=gpugraph.library.rnn.independent_gates.best_effort_input_batch_size
    _rnn_step=private.recurrent_functions.rnn_step
    _should_cache=private.recurrent_functions.should_cache
    _is_keras_rnn_cell=private.recurrent_functions.is_keras_rnn_cell
    _infer_state_dtype=private.recurrent_functions.infer_state_dtype
    _reverse_seq=private.recurrent_functions.reverse_seq
    _maybe_tensor_shape_from_tensor=private.recurrent_functions.maybe_tensor_shape_from_tensor
contrib.rnn.python.ops.core_rnn_cell_impl: tf.nn.rnn_cell tf.contrib.rnn
    _linear=gpugraph.tensorflow_import.internals.layer_internals.linear
python.ops.init_ops: _compute_fans=private.private_graph_functions.compute_fans
python.ops.init_ops_v2: Zeros=tf.initializers.zeros Ones=tf.initializers.ones
    Constant=tf.initializers.constant RandomNormal=tf.initializers.random_normal
    RandomUniform=tf.initializers.random_uniform
    TruncatedNormal=tf.initializers.truncated_normal
    VarianceScaling=tf.initializers.variance_scaling Orthogonal=tf.initializers.orthogonal
    Identity=tf.initializers.identity GlorotUniform=tf.initializers.glorot_uniform
    GlorotNormal=tf.initializers.glorot_normal
python.ops.gradients_impl: _AsList=private.private_graph_functions.as_list
    _IsTrainable=private.private_graph_functions.is_trainable
    _hessian_vector_product=private.private_graph_functions.hessian_vector_product
contrib.seq2seq.python.ops.attention_wrapper:
    _BaseAttentionMechanism=private.attention_functions.BaseAttentionMechanism
    _BaseMonotonicAttentionMechanism=private.attention_functions.BaseMonotonicAttentionMechanism
    _maybe_mask_score=private.attention_functions.maybe_mask_score
    _prepare_memory=private.attention_functions.prepare_memory
    _bahdanau_score=private.attention_functions.bahdanau_score
    _luong_score=private.attention_functions.luong_score
    _monotonic_probability_fn=private.attention_functions.monotonic_probability_fn
    _zero_state_tensors=gpugraph.library.keras.layers.recurrent.state_sizes.zero_state
    _compute_attention=private.attention_functions.compute_attention
contrib.seq2seq.python.ops.helper: _unstack_ta=gpugraph.library.seq2seq.decoding_helpers.unstacked
contrib.seq2seq.python.ops.decoder:
    _create_zero_outputs=private.attention_functions.create_zero_outputs
    _prepend_batch=private.attention_functions.prepend_batch
python.framework.device: canonical_name=private.private_graph_functions.canonical_name
python.framework.ops: name_from_scope_name=private.private_graph_functions.name_from_scope_name
python.training.optimizer:
    _deduplicate_indexed_slices=private.private_graph_functions.deduplicate_indexed_slices
python.util.nest: _yield_value=private.private_graph_functions.yield_value
python.ops.nn_impl: _sum_rows=private.private_graph_functions.row_sums
    _compute_sampled_logits=private.sampled_logits.compute_sampled_logits
python.keras.layers.convolutional: Conv=gpugraph.library.keras.layers.convolution_layers.Convolution
python.keras.layers.merge: _Merge=gpugraph.library.keras.layers.merge_layers.Merge
contrib.layers.python.ops.sparse_ops: dense_to_sparse_tensor=tf.contrib.layers.dense_to_sparse
contrib.slim.python.slim.evaluation:
    wait_for_new_checkpoint=tf.contrib.training.wait_for_new_checkpoint
examples.tutorials.mnist: input_data=@examples.tutorials.mnist.input_data
    mnist=@examples.tutorials.mnist.mnist
examples.tutorials.mnist.mnist: private.mnist_graph
python.ops.(nn_grad math_grad array_grad): private.gradient_names.GRADIENTS
    ops=@python.framework.ops array_ops=@python.ops.array_ops math_ops=@python.ops.math_ops
python.ops.metrics_impl:
    _streaming_confusion_matrix=private.private_losses.streaming_confusion_matrix
python.ops.losses.losses_impl: tf.losses _num_present=private.private_losses.num_present
    _safe_mean=private.private_losses.safe_mean _safe_div=private.private_losses.safe_div
python.keras.losses: tf.keras.losses
    LossFunctionWrapper=gpugraph.library.keras.losses.loss_class.LossFunctionWrapper
python.keras.metrics: tf.keras.metrics
    MeanMetricWrapper=gpugraph.library.keras.metrics.metric_means.MeanMetricWrapper
python.keras.layers.recurrent:
    _generate_zero_filled_state_for_cell=gpugraph.library.keras.layers.recurrent.state_sizes.zero_state_of
python.util.deprecation:
    _PRINT_DEPRECATION_WARNINGS=private.private_flags.PRINT_DEPRECATION_WARNINGS
    _PRINTED_WARNING=private.private_flags.PRINTED_WARNING
python.framework.test_util:
    run_in_graph_and_eager_modes=private.test_decorators.run_in_graph_and_eager_modes
    run_all_in_graph_and_eager_modes=private.test_decorators.run_all_in_graph_and_eager_modes
    run_v1_only=private.test_decorators.unchanged
    run_v2_only=private.test_decorators.run_v2_only
    run_deprecated_v1=private.test_decorators.unchanged
    deprecated_graph_mode_only=private.test_decorators.unchanged
    run_in_graph_mode=private.test_decorators.unchanged
"""
