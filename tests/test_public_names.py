"""The public names: that they are all there, their parameters, and that nothing else is public."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import itertools
import pickle
import re
import types

import numpy as np
import pytest

import gpugraph as tf
from gpugraph.api.import_paths import PUBLIC_MODULES, TENSORFLOW_MODULES

CONTRIB = (
    tf.contrib,
    tf.contrib.autograph,
    tf.contrib.crf,
    tf.contrib.data,
    tf.contrib.distribute,
    tf.contrib.distributions,
    tf.contrib.distributions.bijectors,
    tf.contrib.eager,
    tf.contrib.feature_column,
    tf.contrib.framework,
    tf.contrib.image,
    tf.contrib.layers,
    tf.contrib.legacy_seq2seq,
    tf.contrib.lookup,
    tf.contrib.nn,
    tf.contrib.opt,
    tf.contrib.resampler,
    tf.contrib.rnn,
    tf.contrib.seq2seq,
    tf.contrib.slim,
    tf.contrib.sparsemax,
    tf.contrib.staging,
    tf.contrib.tensorboard,
    tf.contrib.tensorboard.plugins,
    tf.contrib.tensorboard.plugins.projector,
    tf.contrib.training,
    tf.contrib.checkpoint,
    tf.contrib.util,
)
FACES = (
    tf,
    tf.autograph,
    tf.autograph.experimental,
    tf.bitwise,
    tf.data,
    tf.data.experimental,
    tf.debugging,
    tf.graph_util,
    tf.image,
    tf.initializers,
    tf.io,
    tf.linalg,
    tf.manip,
    tf.math,
    tf.nn,
    tf.python_io,
    tf.quantization,
    tf.queue,
    tf.random,
    tf.saved_model,
    tf.saved_model.builder,
    tf.saved_model.constants,
    tf.saved_model.loader,
    tf.saved_model.main_op,
    tf.saved_model.signature_constants,
    tf.saved_model.signature_def_utils,
    tf.saved_model.tag_constants,
    tf.saved_model.utils,
    tf.sets,
    tf.signal,
    tf.sparse,
    tf.spectral,
    tf.strings,
    *CONTRIB,
)
ROOMS = (
    tf.app,
    tf.resource_loader,
    tf.config.experimental,
    tf.config.optimizer,
    tf.config.threading,
    tf.compat,
    tf.compat.v2,
    tf.compat.v2.nn,
    tf.devices,
    tf.distribute,
    tf.distribute.cluster_resolver,
    tf.distribute.experimental,
    tf.distributions,
    tf.dtypes,
    tf.errors,
    tf.feature_column,
    tf.flags,
    tf.gfile,
    tf.io.gfile,
    tf.keras,
    tf.keras.activations,
    tf.keras.applications,
    tf.keras.backend,
    tf.keras.constraints,
    tf.keras.experimental,
    tf.keras.initializers,
    tf.keras.layers,
    tf.keras.callbacks,
    tf.keras.optimizers.schedules,
    tf.keras.optimizers,
    tf.keras.metrics,
    tf.keras.losses,
    tf.keras.models,
    tf.keras.regularizers,
    tf.keras.utils,
    tf.layers,
    tf.logging,
    tf.lookup,
    tf.lookup.experimental,
    tf.losses,
    tf.memory,
    tf.metrics,
    tf.nn.rnn_cell,
    tf.session,
    tf.test,
    tf.train,
    tf.summary,
    tf.train.experimental,
)

OURS_ALONE = (tf.devices, tf.memory, tf.session)  # TensorFlow has no such modules

# TensorFlow 1.15's parameters, in order, `self` left out; a line that is indented goes on.
SIGNATURES = """
contrib.image.angles_to_projective_transforms: angles image_height image_width name
contrib.image.compose_transforms:
contrib.image.dense_image_warp: image flow name
contrib.image.flat_transforms_to_matrices: transforms
contrib.image.matrices_to_flat_transforms: transform_matrices
contrib.image.rotate: images angles interpolation name
contrib.image.transform: images transforms interpolation output_shape name
contrib.image.translate: images translations interpolation name
contrib.image.translations_to_projective_transforms: translations name
contrib.nn.alpha_dropout: x keep_prob noise_shape seed name
contrib.nn.deprecated_flipped_sigmoid_cross_entropy_with_logits: logits targets name
contrib.nn.deprecated_flipped_softmax_cross_entropy_with_logits: logits labels dim name
contrib.nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits: logits labels name
contrib.nn.scaled_softplus: x alpha clip name
contrib.opt.AdaMaxOptimizer: learning_rate beta1 beta2 epsilon use_locking name
contrib.opt.AdamWOptimizer: weight_decay learning_rate beta1 beta2 epsilon use_locking name
contrib.opt.AddSignOptimizer: learning_rate alpha beta sign_decay_fn use_locking name
contrib.opt.DecoupledWeightDecayExtension: weight_decay
contrib.opt.ExternalOptimizerInterface: loss var_list equalities inequalities var_to_bounds
contrib.opt.LARSOptimizer: learning_rate momentum weight_decay eeta epsilon name skip_list
    use_nesterov
contrib.opt.LazyAdamOptimizer: learning_rate beta1 beta2 epsilon use_locking name
contrib.opt.MomentumWOptimizer: weight_decay learning_rate momentum use_locking name use_nesterov
contrib.opt.MovingAverageOptimizer: opt average_decay num_updates sequential_update
contrib.opt.NadamOptimizer: learning_rate beta1 beta2 epsilon use_locking name
contrib.opt.PowerSignOptimizer: learning_rate base beta sign_decay_fn use_locking name
contrib.opt.ScipyOptimizerInterface: loss var_list equalities inequalities var_to_bounds
contrib.opt.VariableClippingOptimizer: opt vars_to_clip_dims max_norm use_locking
    colocate_clip_ops_with_vars name
contrib.opt.clip_gradients_by_global_norm: gradients_variables clip_norm
contrib.opt.extend_with_decoupled_weight_decay: base_optimizer
contrib.resampler.resampler: data warp name
contrib.rnn.Conv1DLSTMCell: name
contrib.rnn.Conv2DLSTMCell: name
contrib.rnn.Conv3DLSTMCell: name
contrib.rnn.ConvLSTMCell: conv_ndims input_shape output_channels kernel_shape use_bias
    skip_connection forget_bias initializers name
contrib.rnn.CoupledInputForgetGateLSTMCell: num_units use_peepholes initializer num_proj proj_clip
    num_unit_shards num_proj_shards forget_bias state_is_tuple activation reuse layer_norm
    norm_gain norm_shift
contrib.rnn.IndRNNCell: num_units activation reuse name dtype
contrib.rnn.SRUCell: num_units activation reuse name
contrib.sparsemax.sparsemax: logits name
contrib.sparsemax.sparsemax_loss: logits sparsemax labels name
contrib.data.AutoShardPolicy:
contrib.data.CheckpointInputPipelineHook: estimator
contrib.data.Counter: start step dtype
contrib.data.CsvDataset: filenames record_defaults compression_type buffer_size header field_delim
    use_quote_delim na_value select_cols
contrib.data.Dataset: variant_tensor spec inputs
contrib.data.DatasetStructure: element_spec dataset_shape version_2
contrib.data.DistributeOptions:
contrib.data.FixedLengthRecordDataset: filenames record_bytes header_bytes footer_bytes buffer_size
    compression_type num_parallel_reads
contrib.data.Iterator: iterator_resource initializer output_types output_shapes output_classes
contrib.data.MapVectorizationOptions:
contrib.data.OptimizationOptions:
contrib.data.Optional:
contrib.data.OptionalStructure: value_structure
contrib.data.RandomDataset: seed
contrib.data.Reducer: init_func reduce_func finalize_func
contrib.data.SqlDataset: driver_name data_source_name query output_types
contrib.data.StatsAggregator:
contrib.data.StatsOptions:
contrib.data.TFRecordDataset: filenames compression_type buffer_size num_parallel_reads
contrib.data.TFRecordWriter: filename compression_type
contrib.data.TextLineDataset: filenames compression_type buffer_size num_parallel_reads
contrib.data.ThreadingOptions:
contrib.data.assert_cardinality: expected_cardinality
contrib.data.assert_element_shape: expected_shapes
contrib.data.batch_and_drop_remainder: batch_size
contrib.data.bucket_by_sequence_length: element_length_func bucket_boundaries bucket_batch_sizes
    padded_shapes padding_values pad_to_bucket_boundary no_padding drop_remainder
contrib.data.bytes_produced_stats: tag
contrib.data.cardinality: dataset
contrib.data.choose_from_datasets: datasets choice_dataset
contrib.data.copy_to_device: target_device source_device
contrib.data.dense_to_ragged_batch: batch_size drop_remainder row_splits_dtype
contrib.data.dense_to_sparse_batch: batch_size row_shape
contrib.data.enumerate_dataset: start
contrib.data.from_variant: variant structure
contrib.data.get_next_as_optional: iterator
contrib.data.get_single_element: dataset
contrib.data.get_structure: dataset_or_iterator
contrib.data.group_by_reducer: key_func reducer
contrib.data.group_by_window: key_func reduce_func window_size window_size_func
contrib.data.ignore_errors:
contrib.data.make_batched_features_dataset: file_pattern batch_size features reader label_key
    reader_args num_epochs shuffle shuffle_buffer_size shuffle_seed prefetch_buffer_size
    reader_num_threads parser_num_threads sloppy_ordering drop_final_batch
contrib.data.make_csv_dataset: file_pattern batch_size column_names column_defaults label_name
    select_columns field_delim use_quote_delim na_value header num_epochs shuffle
    shuffle_buffer_size shuffle_seed prefetch_buffer_size num_parallel_reads sloppy
    num_rows_for_inference compression_type ignore_errors
contrib.data.make_saveable_from_iterator: iterator
contrib.data.map_and_batch: map_func batch_size num_parallel_batches drop_remainder
    num_parallel_calls
contrib.data.padded_batch_and_drop_remainder: batch_size padded_shapes padding_values
contrib.data.parallel_interleave: map_func cycle_length block_length sloppy buffer_output_elements
    prefetch_input_elements
contrib.data.parse_example_dataset: features num_parallel_calls
contrib.data.prefetch_to_device: device buffer_size
contrib.data.read_batch_features: file_pattern batch_size features reader reader_args
    randomize_input num_epochs capacity
contrib.data.reduce_dataset: dataset reducer
contrib.data.rejection_resample: class_func target_dist initial_dist seed
contrib.data.sample_from_datasets: datasets weights seed
contrib.data.scan: initial_state scan_func
contrib.data.set_stats_aggregator: stats_aggregator prefix counter_prefix
contrib.data.shuffle_and_repeat: buffer_size count seed
contrib.data.sliding_window_batch: window_size stride window_shift window_stride
contrib.data.sloppy_interleave: map_func cycle_length block_length
contrib.data.take_while: predicate
contrib.data.to_variant: dataset
contrib.data.unbatch:
contrib.data.unique:
data.Options:
data.get_legacy_output_classes: dataset_or_iterator
data.get_legacy_output_shapes: dataset_or_iterator
data.get_legacy_output_types: dataset_or_iterator
data.make_initializable_iterator: dataset shared_name
data.make_one_shot_iterator: dataset
Assert: condition data summarize name
DeviceSpec: job replica task device_type device_index
Dimension: value
Graph:
IndexedSlices: values indices dense_shape
InteractiveSession: target graph config
NoGradient: op_type
NotDifferentiable: op_type
OpError: node_def op message error_code
Print: input_ data message first_n summarize name
RegisterGradient: op_type
Session: target graph config
IndexedSlicesSpec: shape dtype indices_dtype dense_shape_dtype indices_shape
Module: name
SparseTensor: indices values dense_shape
SparseTensorSpec: shape dtype
FIFOQueue: capacity dtypes shapes names shared_name name
PaddingFIFOQueue: capacity dtypes shapes names shared_name name
PriorityQueue: capacity types shapes names shared_name name
QueueBase: dtypes shapes names queue_ref
RandomShuffleQueue: capacity min_after_dequeue dtypes shapes names seed shared_name name
TensorArray: dtype size dynamic_size clear_after_read tensor_array_name handle flow infer_shape
    element_shape colocate_with_first_write_call name
TensorArraySpec: element_shape dtype dynamic_size infer_shape
TensorShape: dims
TensorSpec: shape dtype name
TypeSpec:
Variable: initial_value trainable collections validate_shape caching_device name variable_def dtype
    expected_shape import_scope constraint use_resource synchronization aggregation shape
VariableScope: reuse name initializer regularizer caching_device partitioner custom_getter
    name_scope dtype use_resource constraint
abs: x name
accumulate_n: inputs shape tensor_dtype name
acos: x name
acosh: x name
add: x y name
add_check_numerics_ops:
add_n: inputs name
add_to_collection: name value
add_to_collections: names value
angle: input name
app.run: main argv
arg_max: input dimension output_type name
arg_min: input dimension output_type name
all_variables:
argmax: input axis name dimension output_type
argmin: input axis name dimension output_type
argsort: values axis direction stable name
as_dtype: type_value
as_string: input precision scientific shortest width fill name
asin: x name
asinh: x name
autograph.experimental.do_not_convert: func
autograph.experimental.set_loop_options: parallel_iterations back_prop swap_memory \
    maximum_iterations shape_invariants
autograph.set_verbosity: level alsologtostdout
autograph.to_code: entity recursive arg_values arg_types indentation experimental_optional_features
autograph.to_graph: entity recursive arg_values arg_types experimental_optional_features
autograph.trace:
assert_equal: x y data summarize message name
assert_greater: x y data summarize message name
assert_greater_equal: x y data summarize message name
assert_integer: x message name
assert_less: x y data summarize message name
assert_less_equal: x y data summarize message name
assert_near: x y rtol atol data summarize message name
assert_negative: x data summarize message name
assert_non_negative: x data summarize message name
assert_non_positive: x data summarize message name
assert_none_equal: x y data summarize message name
assert_positive: x data summarize message name
assert_proper_iterable: values
assert_rank: x rank data summarize message name
assert_rank_at_least: x rank data summarize message name
assert_rank_in: x ranks data summarize message name
assert_same_float_dtype: tensors dtype
assert_scalar: tensor name message
assert_type: tensor tf_type message name
assert_variables_initialized: var_list
assign: ref value validate_shape use_locking name
assign_add: ref value use_locking name
assign_sub: ref value use_locking name
atan: x name
atan2: y x name
atanh: x name
batch_gather: params indices name
batch_scatter_update: ref indices updates use_locking name
batch_to_space: input crops block_size name block_shape
batch_to_space_nd: input block_shape crops name
betainc: a b x name
bincount: arr weights minlength maxlength dtype
bitcast: input type name
bitwise.bitwise_and: x y name
bitwise.bitwise_or: x y name
bitwise.bitwise_xor: x y name
bitwise.invert: x name
bitwise.left_shift: x y name
bitwise.right_shift: x y name
boolean_mask: tensor mask name axis
broadcast_dynamic_shape: shape_x shape_y
broadcast_static_shape: shape_x shape_y
broadcast_to: input shape name
case: pred_fn_pairs default exclusive strict name
cast: x dtype name
ceil: x name
check_numerics: tensor message name
cholesky: input name
cholesky_solve: chol rhs name
clip_by_average_norm: t clip_norm name
clip_by_global_norm: t_list clip_norm use_norm name
clip_by_norm: t clip_norm axes name
clip_by_value: t clip_value_min clip_value_max name
colocate_with: op ignore_existing
compat.as_bytes: bytes_or_text encoding
compat.as_str: bytes_or_text encoding
compat.as_str_any: value encoding
compat.as_text: bytes_or_text encoding
compat.dimension_at_index: shape index
compat.dimension_value: dimension
compat.forward_compatibility_horizon: year month day
compat.forward_compatible: year month day
compat.path_to_str: path
compat.v2.DeviceSpec: job replica task device_type device_index
compat.v2.name_scope: name
compat.v2.nn.conv2d_transpose: input filters output_shape strides padding data_format dilations name
compat.v2.nn.conv3d_transpose: input filters output_shape strides padding data_format dilations name
compat.v2.nn.nce_loss: weights biases labels inputs num_sampled num_classes num_true sampled_values
    remove_accidental_hits name
compat.v2.nn.safe_embedding_lookup_sparse: embedding_weights sparse_ids sparse_weights combiner
    default_id max_norm name
compat.v2.nn.sampled_softmax_loss: weights biases labels inputs num_sampled num_classes num_true
    sampled_values remove_accidental_hits seed name
complex: real imag name
concat: values axis name
cond: pred true_fn false_fn strict name fn1 fn2
config.experimental.VirtualDeviceConfiguration:
config.experimental.enable_tensor_float_32_execution: enabled
config.experimental.get_device_policy:
config.experimental.get_memory_growth: device
config.experimental.get_synchronous_execution:
config.experimental.get_virtual_device_configuration: device
config.experimental.get_visible_devices: device_type
config.experimental.list_logical_devices: device_type
config.experimental.list_physical_devices: device_type
config.experimental.set_device_policy: device_policy
config.experimental.set_memory_growth: device enable
config.experimental.set_synchronous_execution: enable
config.experimental.set_virtual_device_configuration: device virtual_devices
config.experimental.set_visible_devices: devices device_type
config.experimental.tensor_float_32_execution_enabled:
config.experimental.watch: watcher
config.experimental_list_devices:
config.get_soft_device_placement:
config.optimizer.get_experimental_options:
config.optimizer.get_jit:
config.optimizer.set_experimental_options: options
config.optimizer.set_jit: enabled
config.set_soft_device_placement: enabled
config.threading.get_inter_op_parallelism_threads:
config.threading.get_intra_op_parallelism_threads:
config.threading.set_inter_op_parallelism_threads: num_threads
config.threading.set_intra_op_parallelism_threads: num_threads
confusion_matrix: labels predictions num_classes dtype name weights
conj: x name
constant: value dtype shape name verify_shape
constant_initializer: value dtype verify_shape
container: container_name
contrib.autograph.AutoGraphError:
contrib.autograph.convert: recursive optional_features user_requested
contrib.autograph.converted_call: f args kwargs caller_fn_scope options
contrib.autograph.set_element_type: entity dtype shape
contrib.autograph.stack: list_or_tensor element_dtype strict
contrib.eager.Checkpointable:
contrib.eager.defun: func input_signature autograph experimental_autograph_options \
    experimental_relax_shapes
contrib.autograph.tensor_list: elements element_dtype element_shape use_tensor_array
contrib.checkpoint.Checkpointable:
contrib.checkpoint.CheckpointableBase:
contrib.checkpoint.List:
contrib.checkpoint.Mapping:
contrib.checkpoint.NoDependency: value
contrib.checkpoint.UniqueNameTracker:
contrib.checkpoint.list_objects: root_trackable
contrib.checkpoint.object_metadata: save_path
contrib.crf.CrfDecodeBackwardRnnCell: num_tags
contrib.crf.CrfDecodeForwardRnnCell: transition_params
contrib.crf.CrfForwardRnnCell: transition_params
contrib.crf.crf_binary_score: tag_indices sequence_lengths transition_params
contrib.crf.crf_decode: potentials transition_params sequence_length
contrib.crf.crf_log_likelihood: inputs tag_indices sequence_lengths transition_params
contrib.crf.crf_log_norm: inputs sequence_lengths transition_params
contrib.crf.crf_multitag_sequence_score: inputs tag_bitmap sequence_lengths transition_params
contrib.crf.crf_sequence_score: inputs tag_indices sequence_lengths transition_params
contrib.crf.crf_unary_score: tag_indices sequence_lengths inputs
contrib.crf.viterbi_decode: score transition_params
contrib.distributions.Bernoulli: logits probs dtype validate_args allow_nan_stats name
feature_column.bucketized_column: source_column boundaries
feature_column.categorical_column_with_hash_bucket: key hash_bucket_size dtype
feature_column.categorical_column_with_identity: key num_buckets default_value
feature_column.categorical_column_with_vocabulary_file: key vocabulary_file vocabulary_size
    num_oov_buckets default_value dtype
feature_column.categorical_column_with_vocabulary_list: key vocabulary_list dtype default_value
    num_oov_buckets
feature_column.crossed_column: keys hash_bucket_size hash_key
feature_column.embedding_column: categorical_column dimension combiner initializer ckpt_to_load_from
    tensor_name_in_ckpt max_norm trainable
feature_column.indicator_column: categorical_column
feature_column.input_layer: features feature_columns weight_collections trainable cols_to_vars
    cols_to_output_tensors
feature_column.linear_model: features feature_columns units sparse_combiner weight_collections
    trainable cols_to_vars
feature_column.make_parse_example_spec: feature_columns
feature_column.numeric_column: key shape default_value dtype normalizer_fn
feature_column.sequence_categorical_column_with_hash_bucket: key hash_bucket_size dtype
feature_column.sequence_categorical_column_with_identity: key num_buckets default_value
feature_column.sequence_categorical_column_with_vocabulary_file: key vocabulary_file vocabulary_size
    num_oov_buckets default_value dtype
feature_column.sequence_categorical_column_with_vocabulary_list: key vocabulary_list dtype
    default_value num_oov_buckets
feature_column.sequence_numeric_column: key shape default_value dtype normalizer_fn
feature_column.shared_embedding_columns: categorical_columns dimension combiner initializer
    shared_embedding_collection_name ckpt_to_load_from tensor_name_in_ckpt max_norm trainable
feature_column.weighted_categorical_column: categorical_column weight_feature_key dtype
contrib.feature_column.sequence_input_layer: features feature_columns weight_collections trainable
keras.layers.DenseFeatures: feature_columns trainable name
keras.experimental.SequenceFeatures: feature_columns trainable name
contrib.distributions.Cauchy: loc scale validate_args allow_nan_stats name
contrib.distributions.ConditionalDistribution: dtype reparameterization_type validate_args
    allow_nan_stats parameters graph_parents name
contrib.distributions.ConditionalTransformedDistribution: distribution bijector batch_shape
    event_shape validate_args name
contrib.distributions.Binomial: total_count logits probs validate_args allow_nan_stats name
contrib.distributions.BetaWithSoftplusConcentration: concentration1 concentration0 validate_args
    allow_nan_stats name
contrib.distributions.Chi2: df validate_args allow_nan_stats name
contrib.distributions.Chi2WithAbsDf: df validate_args allow_nan_stats name
contrib.distributions.Deterministic: loc atol rtol validate_args allow_nan_stats name
contrib.distributions.VectorDeterministic: loc atol rtol validate_args allow_nan_stats name
contrib.distributions.ExponentialWithSoftplusRate: rate validate_args allow_nan_stats name
contrib.distributions.VectorExponentialDiag: loc scale_diag scale_identity_multiplier validate_args
    allow_nan_stats name
contrib.distributions.GammaWithSoftplusConcentrationRate: concentration rate validate_args
    allow_nan_stats name
contrib.distributions.Geometric: logits probs validate_args allow_nan_stats name
contrib.distributions.HalfNormal: scale validate_args allow_nan_stats name
contrib.distributions.Independent: distribution reinterpreted_batch_ndims validate_args name
contrib.distributions.InverseGamma: concentration rate validate_args allow_nan_stats name
contrib.distributions.InverseGammaWithSoftplusConcentrationRate: concentration rate validate_args
    allow_nan_stats name
contrib.distributions.Kumaraswamy: concentration1 concentration0 validate_args allow_nan_stats name
contrib.distributions.LaplaceWithSoftplusScale: loc scale validate_args allow_nan_stats name
contrib.distributions.Logistic: loc scale validate_args allow_nan_stats name
contrib.distributions.NegativeBinomial: total_count logits probs validate_args allow_nan_stats name
contrib.distributions.NormalWithSoftplusScale: loc scale validate_args allow_nan_stats name
contrib.distributions.Poisson: rate log_rate validate_args allow_nan_stats name
contrib.distributions.SeedStream: seed salt
contrib.distributions.SinhArcsinh: loc scale skewness tailweight distribution validate_args
    allow_nan_stats name
contrib.distributions.StudentTWithAbsDfSoftplusScale: df loc scale validate_args allow_nan_stats
    name
contrib.distributions.MultivariateNormalFullCovariance: loc covariance_matrix validate_args
    allow_nan_stats name
contrib.distributions.MultivariateNormalDiagPlusLowRank: loc scale_diag scale_identity_multiplier
    scale_perturb_factor scale_perturb_diag validate_args allow_nan_stats name
contrib.distributions.MultivariateNormalDiagWithSoftplusScale: loc scale_diag validate_args
    allow_nan_stats name
contrib.distributions.VectorLaplaceDiag: loc scale_diag scale_identity_multiplier validate_args
    allow_nan_stats name
contrib.distributions.VectorSinhArcsinhDiag: loc scale_diag scale_identity_multiplier skewness
    tailweight distribution validate_args allow_nan_stats name
contrib.distributions.WishartCholesky: df scale cholesky_input_output_matrices validate_args
    allow_nan_stats name
contrib.distributions.WishartFull: df scale cholesky_input_output_matrices validate_args
    allow_nan_stats name
contrib.distributions.TransformedDistribution: distribution bijector batch_shape event_shape
    validate_args name
contrib.distributions.QuantizedDistribution: distribution low high validate_args name
contrib.distributions.Mixture: cat components validate_args allow_nan_stats use_static_graph name
contrib.distributions.MixtureSameFamily: mixture_distribution components_distribution validate_args
    allow_nan_stats name
contrib.distributions.ExpRelaxedOneHotCategorical: temperature logits probs dtype validate_args
    allow_nan_stats name
contrib.distributions.RelaxedBernoulli: temperature logits probs validate_args allow_nan_stats name
contrib.distributions.RelaxedOneHotCategorical: temperature logits probs dtype validate_args
    allow_nan_stats name
contrib.distributions.fill_triangular: x upper name
contrib.distributions.fill_triangular_inverse: x upper name
contrib.distributions.matrix_diag_transform: matrix transform name
contrib.distributions.reduce_weighted_logsumexp: logx w axis keep_dims return_sign name
contrib.distributions.softplus_inverse: x name
contrib.distributions.tridiag: below diag above name
contrib.distributions.normal_conjugates_known_scale_posterior: prior scale s n
contrib.distributions.normal_conjugates_known_scale_predictive: prior scale s n
contrib.distributions.percentile: x q axis interpolation keep_dims validate_args name
contrib.distributions.assign_moving_mean_variance: mean_var variance_var value decay name
contrib.distributions.assign_log_moving_mean_exp: log_mean_exp_var log_value decay name
contrib.distributions.moving_mean_variance: value decay collections name
contrib.distributions.bijectors.AbsoluteValue: validate_args name
contrib.distributions.bijectors.Affine: shift scale_identity_multiplier scale_diag scale_tril
    scale_perturb_factor scale_perturb_diag validate_args name
contrib.distributions.bijectors.AffineLinearOperator: shift scale validate_args name
contrib.distributions.bijectors.AffineScalar: shift scale validate_args name
contrib.distributions.bijectors.Bijector: graph_parents is_constant_jacobian validate_args dtype
    forward_min_event_ndims inverse_min_event_ndims name
contrib.distributions.bijectors.Chain: bijectors validate_args name
contrib.distributions.bijectors.CholeskyOuterProduct: validate_args name
contrib.distributions.bijectors.ConditionalBijector: graph_parents is_constant_jacobian
    validate_args dtype forward_min_event_ndims inverse_min_event_ndims name
contrib.distributions.bijectors.Exp: validate_args name
contrib.distributions.bijectors.FillTriangular: upper validate_args name
contrib.distributions.bijectors.Gumbel: loc scale validate_args name
contrib.distributions.bijectors.Identity: validate_args name
contrib.distributions.bijectors.Inline: forward_fn inverse_fn inverse_log_det_jacobian_fn
    forward_log_det_jacobian_fn forward_event_shape_fn forward_event_shape_tensor_fn
    inverse_event_shape_fn inverse_event_shape_tensor_fn is_constant_jacobian validate_args
    forward_min_event_ndims inverse_min_event_ndims name
contrib.distributions.bijectors.Invert: bijector validate_args name
contrib.distributions.bijectors.Kumaraswamy: concentration1 concentration0 validate_args name
contrib.distributions.bijectors.MaskedAutoregressiveFlow: shift_and_log_scale_fn
    is_constant_jacobian validate_args unroll_loop name
contrib.distributions.bijectors.MatrixInverseTriL: validate_args name
contrib.distributions.bijectors.Ordered: validate_args name
contrib.distributions.bijectors.Permute: permutation validate_args name
contrib.distributions.bijectors.PowerTransform: power validate_args name
contrib.distributions.bijectors.RealNVP: num_masked shift_and_log_scale_fn is_constant_jacobian
    validate_args name
contrib.distributions.bijectors.Reshape: event_shape_out event_shape_in validate_args name
contrib.distributions.bijectors.ScaleTriL: diag_bijector diag_shift validate_args name
contrib.distributions.bijectors.Sigmoid: validate_args name
contrib.distributions.bijectors.SinhArcsinh: skewness tailweight validate_args name
contrib.distributions.bijectors.SoftmaxCentered: validate_args name
contrib.distributions.bijectors.Softplus: hinge_softness validate_args name
contrib.distributions.bijectors.Softsign: validate_args name
contrib.distributions.bijectors.Square: validate_args name
contrib.distributions.bijectors.TransformDiagonal: diag_bijector validate_args name
contrib.distributions.bijectors.Weibull: scale concentration validate_args name
contrib.distributions.bijectors.masked_autoregressive_default_template: hidden_layers shift_only
    activation log_scale_min_clip log_scale_max_clip log_scale_clip_gradient name
contrib.distributions.bijectors.masked_dense: inputs units num_blocks exclusive kernel_initializer
    reuse name
contrib.distributions.bijectors.real_nvp_default_template: hidden_layers shift_only activation name
contrib.distributions.Beta: concentration1 concentration0 validate_args allow_nan_stats name
contrib.distributions.Categorical: logits probs dtype validate_args allow_nan_stats name
contrib.distributions.Dirichlet: concentration validate_args allow_nan_stats name
contrib.distributions.DirichletMultinomial: total_count concentration validate_args allow_nan_stats
    name
contrib.distributions.Distribution: dtype reparameterization_type validate_args allow_nan_stats
    parameters graph_parents name
contrib.distributions.Exponential: rate validate_args allow_nan_stats name
contrib.distributions.Gamma: concentration rate validate_args allow_nan_stats name
contrib.distributions.Laplace: loc scale validate_args allow_nan_stats name
contrib.distributions.Multinomial: total_count logits probs validate_args allow_nan_stats name
contrib.distributions.MultivariateNormalDiag: loc scale_diag scale_identity_multiplier validate_args
    allow_nan_stats name
contrib.distributions.MultivariateNormalTriL: loc scale_tril validate_args allow_nan_stats name
contrib.distributions.Normal: loc scale validate_args allow_nan_stats name
contrib.distributions.OneHotCategorical: logits probs dtype validate_args allow_nan_stats name
contrib.distributions.RegisterKL: dist_cls_a dist_cls_b
contrib.distributions.ReparameterizationType: rep_type
contrib.distributions.StudentT: df loc scale validate_args allow_nan_stats name
contrib.distributions.Uniform: low high validate_args allow_nan_stats name
contrib.distributions.kl_divergence: distribution_a distribution_b allow_nan_stats name
contrib.framework.BoundedTensorSpec: shape dtype minimum maximum name
contrib.framework.VariableDeviceChooser: num_tasks job_name device_type device_index replica
contrib.framework.add_arg_scope: func
contrib.framework.add_model_variable: var
contrib.framework.arg_scope: list_ops_or_scope
contrib.framework.arg_scope_func_key: op
contrib.framework.arg_scoped_arguments: func
contrib.framework.assert_or_get_global_step: graph global_step_tensor
contrib.framework.assert_scalar: tensor name message
contrib.framework.assert_scalar_int: tensor name
contrib.framework.assign_from_checkpoint: model_path var_list ignore_missing_vars
contrib.framework.assign_from_checkpoint_fn: model_path var_list ignore_missing_vars
    reshape_variables
contrib.framework.assign_from_values: var_names_to_values
contrib.framework.assign_from_values_fn: var_names_to_values
contrib.framework.convolutional_delta_orthogonal: gain seed dtype
contrib.framework.convolutional_orthogonal_1d: gain seed dtype
contrib.framework.convolutional_orthogonal_2d: gain seed dtype
contrib.framework.convolutional_orthogonal_3d: gain seed dtype
contrib.framework.current_arg_scope:
contrib.framework.deprecated: date instructions warn_once
contrib.framework.deprecated_arg_values: date instructions warn_once
contrib.framework.deprecated_args: date instructions
contrib.framework.filter_variables: var_list include_patterns exclude_patterns reg_search
contrib.framework.get_graph_from_inputs: op_input_list graph
contrib.framework.get_local_variables: scope suffix
contrib.framework.get_model_variables: scope suffix
contrib.framework.get_name_scope:
contrib.framework.get_placeholders: graph
contrib.framework.get_trainable_variables: scope suffix
contrib.framework.get_unique_variable: var_op_name
contrib.framework.get_variable_full_name: var
contrib.framework.get_variables: scope suffix collection
contrib.framework.get_variables_by_name: given_name scope
contrib.framework.get_variables_by_suffix: suffix scope
contrib.framework.get_variables_to_restore: include exclude
contrib.framework.global_variable: initial_value validate_shape name use_resource
contrib.framework.has_arg_scope: func
contrib.framework.init_from_checkpoint: checkpoint_dir assignment_map
contrib.framework.list_variables: checkpoint_dir
contrib.framework.load_and_remap_matrix_initializer: ckpt_path old_tensor_name new_row_vocab_size
    new_col_vocab_size old_row_vocab_size old_row_vocab_file new_row_vocab_file old_col_vocab_file
    new_col_vocab_file num_row_oov_buckets num_col_oov_buckets initializer max_rows_in_memory
contrib.framework.load_checkpoint: filepattern
contrib.framework.load_embedding_initializer: ckpt_path embedding_tensor_name new_vocab_size
    embedding_dim old_vocab_file new_vocab_file old_vocab_size num_oov_buckets initializer
    max_rows_in_memory
contrib.framework.load_linear_multiclass_bias_initializer: ckpt_path bias_tensor_name
    new_class_vocab_size old_class_vocab_file new_class_vocab_file num_class_oov_buckets initializer
    max_rows_in_memory
contrib.framework.load_variable: checkpoint_dir name
contrib.framework.load_variable_slot_initializer: ckpt_path old_tensor_name primary_partition_info
contrib.framework.local_variable: initial_value validate_shape name use_resource
contrib.framework.model_variable: name shape dtype initializer regularizer trainable collections
    caching_device device partitioner custom_getter use_resource synchronization aggregation
contrib.framework.py_func: func args kwargs output_types output_shapes stateful name
contrib.framework.prepend_name_scope: name import_scope
contrib.framework.reduce_sum_n: tensors name
contrib.framework.remove_squeezable_dimensions: predictions labels name
contrib.framework.smart_case: pred_fn_pairs default exclusive name
contrib.framework.smart_cond: pred true_fn false_fn name
contrib.framework.smart_constant_value: pred
contrib.framework.strip_name_scope: name export_scope
contrib.framework.variable: name shape dtype initializer regularizer trainable collections
    caching_device device partitioner custom_getter use_resource synchronization aggregation
contrib.framework.with_same_shape: expected_tensor tensor
contrib.framework.with_shape: expected_shape tensor
contrib.framework.zero_initializer: ref use_locking name
contrib.layers.GDN: inverse beta_min gamma_init reparam_offset data_format activity_regularizer
    trainable name
contrib.layers.apply_regularization: regularizer weights_list
contrib.layers.avg_pool2d: inputs kernel_size stride padding data_format outputs_collections scope
contrib.layers.avg_pool3d: inputs kernel_size stride padding data_format outputs_collections scope
contrib.layers.batch_norm: inputs decay center scale epsilon activation_fn param_initializers
    param_regularizers updates_collections is_training reuse variables_collections
    outputs_collections trainable batch_weights fused data_format zero_debias_moving_mean scope
    renorm renorm_clipping renorm_decay adjustment
contrib.layers.bias_add: inputs activation_fn initializer regularizer reuse variables_collections
    outputs_collections trainable data_format scope
contrib.layers.bow_encoder: ids vocab_size embed_dim sparse_lookup initializer regularizer trainable
    scope reuse
contrib.layers.conv1d: inputs num_outputs kernel_size stride padding data_format rate activation_fn
    normalizer_fn normalizer_params weights_initializer weights_regularizer biases_initializer
    biases_regularizer reuse variables_collections outputs_collections trainable scope
contrib.layers.conv2d: inputs num_outputs kernel_size stride padding data_format rate activation_fn
    normalizer_fn normalizer_params weights_initializer weights_regularizer biases_initializer
    biases_regularizer reuse variables_collections outputs_collections trainable scope
contrib.layers.conv2d_in_plane: inputs kernel_size stride padding activation_fn normalizer_fn
    normalizer_params weights_initializer weights_regularizer biases_initializer biases_regularizer
    reuse variables_collections outputs_collections trainable scope
contrib.layers.conv2d_transpose: inputs num_outputs kernel_size stride padding data_format
    activation_fn normalizer_fn normalizer_params weights_initializer weights_regularizer
    biases_initializer biases_regularizer reuse variables_collections outputs_collections trainable
    scope
contrib.layers.conv3d: inputs num_outputs kernel_size stride padding data_format rate activation_fn
    normalizer_fn normalizer_params weights_initializer weights_regularizer biases_initializer
    biases_regularizer reuse variables_collections outputs_collections trainable scope
contrib.layers.conv3d_transpose: inputs num_outputs kernel_size stride padding data_format
    activation_fn normalizer_fn normalizer_params weights_initializer weights_regularizer
    biases_initializer biases_regularizer reuse variables_collections outputs_collections trainable
    scope
contrib.layers.convolution: inputs num_outputs kernel_size stride padding data_format rate
    activation_fn normalizer_fn normalizer_params weights_initializer weights_regularizer
    biases_initializer biases_regularizer reuse variables_collections outputs_collections trainable
    scope conv_dims
contrib.layers.dense_to_sparse: tensor eos_token outputs_collections scope
contrib.layers.dropout: inputs keep_prob noise_shape is_training outputs_collections scope seed
contrib.layers.elu: inputs num_outputs
contrib.layers.embed_sequence: ids vocab_size embed_dim unique initializer regularizer trainable
    scope reuse
contrib.layers.embedding_lookup_unique: params ids partition_strategy name
contrib.layers.flatten: inputs outputs_collections scope
contrib.layers.fully_connected: inputs num_outputs activation_fn normalizer_fn normalizer_params
    weights_initializer weights_regularizer biases_initializer biases_regularizer reuse
    variables_collections outputs_collections trainable scope
contrib.layers.gdn: inputs inverse beta_min gamma_init reparam_offset data_format
    activity_regularizer trainable name reuse
contrib.layers.group_norm: inputs groups channels_axis reduction_axes center scale epsilon
    activation_fn param_initializers reuse variables_collections outputs_collections trainable scope
    mean_close_to_zero
contrib.layers.images_to_sequence: inputs data_format outputs_collections scope
contrib.layers.instance_norm: inputs center scale epsilon activation_fn param_initializers reuse
    variables_collections outputs_collections trainable data_format scope
contrib.layers.l1_l2_regularizer: scale_l1 scale_l2 scope
contrib.layers.l1_regularizer: scale scope
contrib.layers.l2_regularizer: scale scope
contrib.layers.layer_norm: inputs center scale activation_fn reuse variables_collections
    outputs_collections trainable begin_norm_axis begin_params_axis scope
contrib.layers.legacy_fully_connected: x num_output_units activation_fn weight_init bias_init name
    weight_collections bias_collections output_collections trainable weight_regularizer
    bias_regularizer
contrib.layers.legacy_linear: x num_output_units activation_fn weight_init bias_init name
    weight_collections bias_collections output_collections trainable weight_regularizer
    bias_regularizer
contrib.layers.legacy_relu: x num_output_units
contrib.layers.linear: inputs num_outputs
contrib.layers.max_pool2d: inputs kernel_size stride padding data_format outputs_collections scope
contrib.layers.max_pool3d: inputs kernel_size stride padding data_format outputs_collections scope
contrib.layers.maxout: inputs num_units axis scope
contrib.layers.one_hot_encoding: labels num_classes on_value off_value outputs_collections scope
contrib.layers.optimize_loss: loss global_step learning_rate optimizer gradient_noise_scale
    gradient_multipliers clip_gradients learning_rate_decay_fn update_ops variables name summaries
    colocate_gradients_with_ops increment_global_step
contrib.layers.poincare_normalize: x axis epsilon name
contrib.layers.pool: inputs kernel_size pooling_type padding data_format dilation_rate stride
    outputs_collections scope
contrib.layers.recompute_grad: fn use_data_dep tupleize_grads
contrib.layers.relu: inputs num_outputs
contrib.layers.relu6: inputs num_outputs
contrib.layers.repeat: inputs repetitions layer
contrib.layers.safe_embedding_lookup_sparse: embedding_weights sparse_ids sparse_weights combiner
    default_id name partition_strategy max_norm
contrib.layers.scale_gradient: inputs gradient_multiplier
contrib.layers.separable_conv2d: inputs num_outputs kernel_size depth_multiplier stride padding
    data_format rate activation_fn normalizer_fn normalizer_params weights_initializer
    pointwise_initializer weights_regularizer biases_initializer biases_regularizer reuse
    variables_collections outputs_collections trainable scope
contrib.layers.sequence_to_images: inputs height output_data_format outputs_collections scope
contrib.layers.softmax: logits scope
contrib.layers.spatial_softmax: features temperature name variables_collections trainable
    data_format
contrib.layers.stack: inputs layer stack_args
contrib.layers.sum_regularizer: regularizer_list scope
contrib.layers.summarize_activation: op
contrib.layers.summarize_activations: name_filter summarizer
contrib.layers.summarize_biases: name_filter summarizer
contrib.layers.summarize_collection: collection name_filter summarizer
contrib.layers.summarize_tensor: tensor tag
contrib.layers.summarize_tensors: tensors summarizer
contrib.layers.summarize_variables: name_filter summarizer
contrib.layers.summarize_weights: name_filter summarizer
contrib.layers.unit_norm: inputs dim epsilon scope
contrib.layers.variance_scaling_initializer: factor mode uniform seed dtype
contrib.layers.xavier_initializer: uniform seed dtype
contrib.seq2seq.AttentionMechanism: query_layer memory probability_fn memory_sequence_length
    memory_layer check_inner_dims_defined score_mask_value custom_key_value_fn
contrib.seq2seq.AttentionWrapper: cell attention_mechanism attention_layer_size
    alignment_history cell_input_fn output_attention initial_cell_state name attention_layer
    attention_fn dtype
contrib.seq2seq.BahdanauAttention: num_units memory memory_sequence_length normalize
    probability_fn score_mask_value dtype custom_key_value_fn name
contrib.seq2seq.BasicDecoder: cell helper initial_state output_layer
contrib.seq2seq.BeamSearchDecoder: cell embedding start_tokens end_token initial_state
    beam_width output_layer length_penalty_weight coverage_penalty_weight reorder_tensor_arrays
contrib.seq2seq.CustomHelper: initialize_fn sample_fn next_inputs_fn sample_ids_shape
    sample_ids_dtype
contrib.seq2seq.Decoder:
contrib.seq2seq.GreedyEmbeddingHelper: embedding start_tokens end_token
contrib.seq2seq.Helper:
contrib.seq2seq.InferenceHelper: sample_fn sample_shape sample_dtype start_inputs end_fn
    next_inputs_fn
contrib.seq2seq.LuongAttention: num_units memory memory_sequence_length scale probability_fn
    score_mask_value dtype custom_key_value_fn name
contrib.seq2seq.SampleEmbeddingHelper: embedding start_tokens end_token softmax_temperature seed
contrib.seq2seq.ScheduledEmbeddingTrainingHelper: inputs sequence_length embedding
    sampling_probability time_major seed scheduling_seed name
contrib.seq2seq.ScheduledOutputTrainingHelper: inputs sequence_length sampling_probability
    time_major seed next_inputs_fn auxiliary_inputs name
contrib.seq2seq.TrainingHelper: inputs sequence_length time_major name
contrib.seq2seq.dynamic_decode: decoder output_time_major impute_finished maximum_iterations
    parallel_iterations swap_memory scope
contrib.seq2seq.gather_tree: step_ids parent_ids max_sequence_lengths end_token name
contrib.seq2seq.gather_tree_from_array: t parent_ids sequence_length
contrib.seq2seq.hardmax: logits name
contrib.seq2seq.sequence_loss: logits targets weights average_across_timesteps
    average_across_batch sum_over_timesteps sum_over_batch softmax_loss_function name
contrib.seq2seq.tile_batch: t multiplier name
contrib.lookup.HashTable: initializer default_value shared_name name
contrib.lookup.HasherSpec:
contrib.lookup.IdTableWithHashBuckets: table num_oov_buckets hasher_spec name key_dtype
contrib.lookup.InitializableLookupTableBase: default_value initializer
contrib.lookup.KeyValueTensorInitializer: keys values key_dtype value_dtype name
contrib.lookup.LookupInterface: key_dtype value_dtype
contrib.lookup.MutableDenseHashTable: key_dtype value_dtype default_value empty_key deleted_key
    initial_num_buckets name checkpoint
contrib.lookup.MutableHashTable: key_dtype value_dtype default_value name checkpoint
contrib.lookup.StrongHashSpec:
contrib.lookup.TableInitializerBase: key_dtype value_dtype
contrib.lookup.TextFileIdTableInitializer: filename key_column_index value_column_index vocab_size
    delimiter name key_dtype
contrib.lookup.TextFileIndex:
contrib.lookup.TextFileInitializer: filename key_dtype key_index value_dtype value_index vocab_size
    delimiter name
contrib.lookup.TextFileStringTableInitializer: filename key_column_index value_column_index
    vocab_size delimiter name
contrib.lookup.index_table_from_file: vocabulary_file num_oov_buckets vocab_size default_value
    hasher_spec key_dtype name key_column_index value_column_index delimiter
contrib.lookup.index_table_from_tensor: mapping num_oov_buckets default_value hasher_spec dtype name
contrib.lookup.index_to_string: tensor mapping default_value name
contrib.lookup.index_to_string_table_from_file: vocabulary_file vocab_size default_value name
    key_column_index value_column_index delimiter
contrib.lookup.index_to_string_table_from_tensor: mapping default_value name
contrib.lookup.string_to_index: tensor mapping default_value name
contrib.lookup.string_to_index_table_from_file: vocabulary_file num_oov_buckets vocab_size
    default_value hasher_spec name
contrib.lookup.string_to_index_table_from_tensor: mapping num_oov_buckets default_value hasher_spec
    name
contrib.rnn.AttentionCellWrapper: cell attn_length attn_size attn_vec_size input_size
    state_is_tuple reuse
contrib.rnn.FusedRNNCell:
contrib.rnn.FusedRNNCellAdaptor: cell use_dynamic_rnn
contrib.rnn.GRUBlockCell: num_units cell_size reuse name
contrib.rnn.GRUBlockCellV2: num_units cell_size reuse name
contrib.rnn.HighwayWrapper: cell couple_carry_transform_gates carry_bias_init
contrib.rnn.IntersectionRNNCell: num_units num_in_proj initializer forget_bias y_activation reuse
contrib.rnn.LSTMBlockCell: num_units forget_bias cell_clip use_peephole dtype reuse name
contrib.rnn.LSTMBlockFusedCell: num_units forget_bias cell_clip use_peephole reuse dtype name
contrib.rnn.LayerNormBasicLSTMCell: num_units forget_bias input_size activation layer_norm norm_gain
    norm_shift dropout_keep_prob dropout_prob_seed reuse
contrib.rnn.NASCell: num_units num_proj use_bias reuse
contrib.rnn.PhasedLSTMCell: num_units use_peepholes leak ratio_on trainable_ratio_on period_init_min
    period_init_max reuse
contrib.rnn.TimeReversedFusedRNN: cell
contrib.rnn.UGRNNCell: num_units initializer forget_bias activation reuse
contrib.rnn.stack_bidirectional_dynamic_rnn: cells_fw cells_bw inputs initial_states_fw
    initial_states_bw dtype sequence_length parallel_iterations time_major scope swap_memory
contrib.rnn.stack_bidirectional_rnn: cells_fw cells_bw inputs initial_states_fw initial_states_bw
    dtype sequence_length scope
contrib.rnn.EmbeddingWrapper: cell embedding_classes embedding_size initializer reuse
contrib.rnn.InputProjectionWrapper: cell num_proj activation input_size reuse
contrib.rnn.OutputProjectionWrapper: cell output_size activation reuse
contrib.rnn.transpose_batch_time: x
contrib.legacy_seq2seq.attention_decoder: decoder_inputs initial_state attention_states cell
    output_size num_heads loop_function dtype scope initial_state_attention
contrib.legacy_seq2seq.basic_rnn_seq2seq: encoder_inputs decoder_inputs cell dtype scope
contrib.legacy_seq2seq.embedding_attention_decoder: decoder_inputs initial_state
    attention_states cell num_symbols embedding_size num_heads output_size output_projection
    feed_previous update_embedding_for_previous dtype scope initial_state_attention
contrib.legacy_seq2seq.embedding_attention_seq2seq: encoder_inputs decoder_inputs cell
    num_encoder_symbols num_decoder_symbols embedding_size num_heads output_projection feed_previous
    dtype scope initial_state_attention
contrib.legacy_seq2seq.embedding_rnn_decoder: decoder_inputs initial_state cell num_symbols
    embedding_size output_projection feed_previous update_embedding_for_previous scope
contrib.legacy_seq2seq.embedding_rnn_seq2seq: encoder_inputs decoder_inputs cell
    num_encoder_symbols num_decoder_symbols embedding_size output_projection feed_previous dtype
    scope
contrib.legacy_seq2seq.model_with_buckets: encoder_inputs decoder_inputs targets weights buckets
    seq2seq softmax_loss_function per_example_loss name
contrib.legacy_seq2seq.rnn_decoder: decoder_inputs initial_state cell loop_function scope
contrib.legacy_seq2seq.sequence_loss: logits targets weights average_across_timesteps
    average_across_batch softmax_loss_function name
contrib.legacy_seq2seq.sequence_loss_by_example: logits targets weights average_across_timesteps
    softmax_loss_function name
contrib.legacy_seq2seq.tied_rnn_seq2seq: encoder_inputs decoder_inputs cell loop_function dtype
    scope
contrib.training.GreedyLoadBalancingStrategy: num_tasks load_fn
contrib.training.bucket: tensors which_bucket batch_size num_buckets num_threads capacity
    bucket_capacities shapes dynamic_pad allow_smaller_final_batch keep_input shared_name name
contrib.training.bucket_by_sequence_length: input_length tensors batch_size bucket_boundaries
    num_threads capacity bucket_capacities shapes dynamic_pad allow_smaller_final_batch keep_input
    shared_name name
contrib.training.byte_size_load_fn: op
contrib.util.constant_value: tensor partial
contrib.util.make_ndarray: tensor
contrib.util.make_tensor_proto: values dtype shape verify_shape allow_broadcast
contrib.util.ops_used_by_graph_def: graph_def
contrib.util.stripped_op_list_for_graph: graph_def
contrib.training.add_gradients_summaries: grads_and_vars
contrib.training.clip_gradient_norms: gradients_to_variables max_norm
contrib.training.clip_gradient_norms_fn: max_norm
contrib.training.create_train_op: total_loss optimizer global_step update_ops variables_to_train
    transform_grads_fn summarize_gradients gate_gradients aggregation_method
    colocate_gradients_with_ops check_numerics
contrib.training.multiply_gradients: grads_and_vars gradient_multipliers
contrib.training.HParams: hparam_def model_structure
contrib.training.checkpoints_iterator: checkpoint_dir min_interval_secs timeout timeout_fn
contrib.training.wait_for_new_checkpoint: checkpoint_dir last_checkpoint seconds_to_sleep timeout
control_dependencies: control_inputs
control_flow_v2_enabled:
convert_to_tensor: value dtype name preferred_dtype dtype_hint
convert_to_tensor_or_indexed_slices: value dtype name
convert_to_tensor_or_sparse_tensor: value dtype name
cos: x name
cosh: x name
count_nonzero: input_tensor axis keepdims dtype name reduction_indices keep_dims input
count_up_to: ref limit name
create_partitioned_variables: shape slicing initializer dtype trainable collections name reuse
cross: a b name
cumprod: x axis exclusive reverse name
cumsum: x axis exclusive reverse name
custom_gradient: f
debugging.assert_same_float_dtype: tensors dtype
debugging.assert_shapes: shapes data summarize message name
decode_base64: input name
decode_compressed: bytes compression_type name
decode_csv: records record_defaults field_delim use_quote_delim name na_value select_cols
decode_raw: input_bytes out_type little_endian name bytes
delete_session_tensor: handle name
depth_to_space: input block_size name data_format
device: device_name_or_function
diag: diagonal name
diag_part: input name
digamma: x name
disable_control_flow_v2:
disable_eager_execution:
disable_resource_variables:
disable_tensor_equality:
disable_v2_behavior:
disable_v2_tensorshape:
div: x y name
div_no_nan: x y name
divide: x y name
dynamic_partition: data partitions num_partitions name
dynamic_stitch: indices data name
edit_distance: hypothesis truth normalize name
einsum: equation
enable_control_flow_v2:
enable_eager_execution: config device_policy execution_mode
enable_resource_variables:
enable_tensor_equality:
enable_v2_behavior:
enable_v2_tensorshape:
encode_base64: input pad name
ensure_shape: x shape name
equal: x y name
erf: x name
erfc: x name
debugging.get_log_device_placement:
debugging.set_log_device_placement: enabled
distributions.Bernoulli: logits probs dtype validate_args allow_nan_stats name
distributions.Beta: concentration1 concentration0 validate_args allow_nan_stats name
distributions.Categorical: logits probs dtype validate_args allow_nan_stats name
distributions.Dirichlet: concentration validate_args allow_nan_stats name
distributions.DirichletMultinomial: total_count concentration validate_args allow_nan_stats name
distributions.Distribution: dtype reparameterization_type validate_args allow_nan_stats parameters
    graph_parents name
distributions.Exponential: rate validate_args allow_nan_stats name
distributions.Gamma: concentration rate validate_args allow_nan_stats name
distributions.Laplace: loc scale validate_args allow_nan_stats name
distributions.Multinomial: total_count logits probs validate_args allow_nan_stats name
distributions.Normal: loc scale validate_args allow_nan_stats name
distributions.RegisterKL: dist_cls_a dist_cls_b
distributions.ReparameterizationType: rep_type
distributions.StudentT: df loc scale validate_args allow_nan_stats name
distributions.Uniform: low high validate_args allow_nan_stats name
distributions.kl_divergence: distribution_a distribution_b allow_nan_stats name
errors.AbortedError: node_def op message
errors.AlreadyExistsError: node_def op message
errors.CancelledError: node_def op message
errors.DataLossError: node_def op message
errors.DeadlineExceededError: node_def op message
errors.FailedPreconditionError: node_def op message
errors.InternalError: node_def op message
errors.InvalidArgumentError: node_def op message
errors.NotFoundError: node_def op message
errors.OpError: node_def op message error_code
errors.OutOfRangeError: node_def op message
errors.PermissionDeniedError: node_def op message
errors.ResourceExhaustedError: node_def op message
errors.UnauthenticatedError: node_def op message
errors.UnavailableError: node_def op message
errors.UnimplementedError: node_def op message
errors.UnknownError: node_def op message error_code
errors.error_code_from_exception_type: cls
errors.exception_type_from_error_code: error_code
executing_eagerly:
executing_eagerly_outside_functions:
exp: x name
expand_dims: input axis name dim
expm1: x name
extract_image_patches: images ksizes strides rates padding name sizes
extract_volume_patches: input ksizes strides padding name
eye: num_rows num_columns batch_shape dtype name
fake_quant_with_min_max_args: inputs min max num_bits narrow_range name
fake_quant_with_min_max_args_gradient: gradients inputs min max num_bits narrow_range name
fake_quant_with_min_max_vars: inputs min max num_bits narrow_range name
fake_quant_with_min_max_vars_gradient: gradients inputs min max num_bits narrow_range name
fake_quant_with_min_max_vars_per_channel: inputs min max num_bits narrow_range name
fake_quant_with_min_max_vars_per_channel_gradient: gradients inputs min max num_bits narrow_range
    name
fft: input name
fft2d: input name
fft3d: input name
fill: dims value name
fingerprint: data method name
fixed_size_partitioner: num_shards axis
flags.DEFINE_boolean: name default help flag_values
flags.DEFINE_enum: name default enum_values help flag_values
flags.DEFINE_float: name default help lower_bound upper_bound flag_values
flags.DEFINE_integer: name default help lower_bound upper_bound flag_values
flags.DEFINE_list: name default help flag_values
flags.DEFINE_multi_float: name default help lower_bound upper_bound flag_values
flags.DEFINE_multi_integer: name default help lower_bound upper_bound flag_values
flags.DEFINE_multi_string: name default help flag_values
flags.DEFINE_spaceseplist: name default help flag_values
flags.DEFINE_string: name default help flag_values
flags.mark_flag_as_required: flag_name flag_values
flags.mark_flags_as_required: flag_names flag_values
flags.register_validator: flag_name checker message flag_values
flags.validator: flag_name message flag_values
floor: x name
floor_div: x y name
floordiv: x y name
floormod: x y name
foldl: fn elems initializer parallel_iterations back_prop swap_memory name
foldr: fn elems initializer parallel_iterations back_prop swap_memory name
gather: params indices validate_indices name axis batch_dims
gather_nd: params indices name batch_dims
get_collection: key scope
get_collection_ref: key
get_default_graph:
get_default_session:
get_logger:
get_local_variable: name shape dtype initializer regularizer trainable collections caching_device
    partitioner validate_shape use_resource custom_getter constraint synchronization aggregation
get_seed: op_seed
get_session_handle: data name
get_session_tensor: handle dtype name
get_static_value: tensor partial
get_variable: name shape dtype initializer regularizer trainable collections caching_device
    partitioner validate_shape use_resource custom_getter constraint synchronization aggregation
get_variable_scope:
gfile.Copy: oldpath newpath overwrite
gfile.DeleteRecursively: dirname
gfile.Exists: filename
gfile.FastGFile: name mode
gfile.GFile: name mode
gfile.Glob: filename
gfile.IsDirectory: dirname
gfile.ListDirectory: dirname
gfile.MakeDirs: dirname
gfile.MkDir: dirname
gfile.Open: name mode
gfile.Remove: filename
gfile.Rename: oldname newname overwrite
gfile.Stat: filename
gfile.Walk: top in_order
global_norm: t_list name
global_variables: scope
global_variables_initializer:
glorot_normal_initializer: seed dtype
glorot_uniform_initializer: seed dtype
grad_pass_through: f
gradients: ys xs grad_ys name colocate_gradients_with_ops gate_gradients aggregation_method
    stop_gradients unconnected_gradients
greater: x y name
greater_equal: x y name
guarantee_const: input name
hessians: ys xs name colocate_gradients_with_ops gate_gradients aggregation_method
graph_util.convert_variables_to_constants: sess input_graph_def output_node_names
    variable_names_whitelist variable_names_blacklist
graph_util.extract_sub_graph: graph_def dest_nodes
graph_util.import_graph_def: graph_def input_map return_elements name op_dict producer_op_list
graph_util.must_run_on_cpu: node pin_variables_on_cpu
graph_util.remove_training_nodes: input_graph protected_nodes
graph_util.tensor_shape_from_node_def_name: graph input_name
histogram_fixed_width: values value_range nbins dtype name
histogram_fixed_width_bins: values value_range nbins dtype name
identity: input name
identity_n: input name
ifft: input name
ifft2d: input name
ifft3d: input name
igamma: a x name
igammac: a x name
imag: input name
image.adjust_brightness: image delta
image.adjust_contrast: images contrast_factor
image.adjust_gamma: image gamma gain
image.adjust_hue: image delta name
image.adjust_saturation: image saturation_factor name
image.central_crop: image central_fraction
image.combined_non_max_suppression: boxes scores max_output_size_per_class max_total_size
    iou_threshold score_threshold pad_per_class clip_boxes name
image.convert_image_dtype: image dtype saturate name
image.crop_and_resize: image boxes box_ind crop_size method extrapolation_value name box_indices
image.crop_to_bounding_box: image offset_height offset_width target_height target_width
image.decode_and_crop_jpeg: contents crop_window channels ratio fancy_upscaling
    try_recover_truncated acceptable_fraction dct_method name
image.decode_bmp: contents channels name
image.decode_image: contents channels dtype name expand_animations
image.decode_and_crop_jpeg: contents crop_window channels ratio fancy_upscaling
    try_recover_truncated acceptable_fraction dct_method name
image.decode_gif: contents name
image.extract_jpeg_shape: contents output_type name
image.decode_jpeg: contents channels ratio fancy_upscaling try_recover_truncated
    acceptable_fraction dct_method name
image.encode_jpeg: image format quality progressive optimize_size chroma_downsampling density_unit
    x_density y_density xmp_metadata name
image.decode_png: contents channels dtype name
image.draw_bounding_boxes: images boxes name colors
image.encode_png: image compression name
image.extract_jpeg_shape: contents output_type name
image.extract_glimpse: input size offsets centered normalized uniform_noise name
image.extract_patches: images sizes strides rates padding name
image.flip_left_right: image
image.flip_up_down: image
image.grayscale_to_rgb: images name
image.hsv_to_rgb: images name
image.image_gradients: image
image.is_jpeg: contents name
image.non_max_suppression: boxes scores max_output_size iou_threshold score_threshold name
image.non_max_suppression_overlaps: overlaps scores max_output_size overlap_threshold
    score_threshold name
image.non_max_suppression_padded: boxes scores max_output_size iou_threshold score_threshold
    pad_to_max_output_size name
image.non_max_suppression_with_scores: boxes scores max_output_size iou_threshold score_threshold
    soft_nms_sigma name
image.pad_to_bounding_box: image offset_height offset_width target_height target_width
image.per_image_standardization: image
image.psnr: a b max_val name
image.random_brightness: image max_delta seed
image.random_contrast: image lower upper seed
image.random_crop: value size seed name
image.random_flip_left_right: image seed
image.random_flip_up_down: image seed
image.random_hue: image max_delta seed
image.random_saturation: image lower upper seed
image.resize_area: images size align_corners name
image.resize_bicubic: images size align_corners name half_pixel_centers
image.resize_bilinear: images size align_corners name half_pixel_centers
image.resize_image_with_crop_or_pad: image target_height target_width
image.resize_image_with_pad: image target_height target_width method align_corners
image.resize_images: images size method align_corners preserve_aspect_ratio name
image.resize_nearest_neighbor: images size align_corners name half_pixel_centers
image.rgb_to_grayscale: images name
image.rgb_to_hsv: images name
image.rgb_to_yiq: images
image.rgb_to_yuv: images
image.rot90: image k name
image.sample_distorted_bounding_box: image_size bounding_boxes seed seed2 min_object_covered
    aspect_ratio_range area_range max_attempts use_image_if_no_bounding_boxes name
image.sobel_edges: image
image.ssim: img1 img2 max_val filter_size filter_sigma k1 k2
image.ssim_multiscale: img1 img2 max_val power_factors filter_size filter_sigma k1 k2
image.total_variation: images name
image.transpose_image: image name
image.yiq_to_rgb: images
image.yuv_to_rgb: images
init_scope:
initialize_all_tables: name
initializers.constant: value dtype verify_shape
initializers.glorot_normal: seed dtype
initializers.glorot_uniform: seed dtype
initializers.he_normal: seed
initializers.he_uniform: seed
initializers.identity: gain dtype
initializers.lecun_normal: seed
initializers.lecun_uniform: seed
initializers.ones: dtype
initializers.orthogonal: gain seed dtype
initializers.random_normal: mean stddev seed dtype
initializers.random_uniform: minval maxval seed dtype
initializers.truncated_normal: mean stddev seed dtype
initializers.uniform_unit_scaling: factor seed dtype
initializers.variance_scaling: scale mode distribution seed dtype
initializers.zeros: dtype
invert_permutation: x name
io.decode_compressed: bytes compression_type name
io.write_graph: graph_or_graph_def logdir name as_text
io.gfile.GFile: name mode
io.gfile.copy: src dst overwrite
io.gfile.exists: path
io.gfile.glob: pattern
io.gfile.isdir: path
io.gfile.listdir: path
io.gfile.makedirs: path
io.gfile.mkdir: path
io.gfile.remove: path
io.gfile.rename: src dst overwrite
io.gfile.rmtree: path
io.gfile.stat: path
io.gfile.walk: top topdown onerror
is_finite: x name
is_inf: x name
is_nan: x name
is_non_decreasing: x name
is_numeric_tensor: tensor
is_strictly_increasing: x name
is_symbolic_tensor: tensor
is_tensor: x
is_variable_initialized: variable
keras.Input: shape batch_size name dtype sparse tensor ragged
keras.Model:
keras.Sequential: layers name
keras.callbacks.BaseLogger: stateful_metrics
keras.callbacks.CSVLogger: filename separator append
keras.callbacks.Callback:
keras.callbacks.CallbackList: callbacks
keras.callbacks.EarlyStopping: monitor min_delta patience verbose mode baseline
    restore_best_weights
keras.callbacks.History:
keras.callbacks.LambdaCallback: on_epoch_begin on_epoch_end on_batch_begin on_batch_end
    on_train_begin on_train_end
keras.callbacks.LearningRateScheduler: schedule verbose
keras.callbacks.ModelCheckpoint: filepath monitor verbose save_best_only save_weights_only mode
    save_freq
keras.callbacks.ProgbarLogger: count_mode stateful_metrics
keras.callbacks.ReduceLROnPlateau: monitor factor patience verbose mode min_delta cooldown min_lr
keras.callbacks.RemoteMonitor: root path field headers send_as_json
keras.callbacks.TensorBoard: log_dir histogram_freq batch_size write_graph write_grads
    write_images embeddings_freq embeddings_layer_names embeddings_metadata embeddings_data
    update_freq profile_batch
keras.callbacks.TerminateOnNaN:
keras.applications.DenseNet121: include_top weights input_tensor input_shape pooling classes
keras.applications.DenseNet169: include_top weights input_tensor input_shape pooling classes
keras.applications.DenseNet201: include_top weights input_tensor input_shape pooling classes
keras.applications.InceptionResNetV2: include_top weights input_tensor input_shape pooling classes
keras.applications.InceptionV3: include_top weights input_tensor input_shape pooling classes
keras.applications.MobileNet: input_shape alpha depth_multiplier dropout include_top weights
    input_tensor pooling classes
keras.applications.MobileNetV2: input_shape alpha include_top weights input_tensor pooling classes
keras.applications.NASNetLarge: input_shape include_top weights input_tensor pooling classes
keras.applications.NASNetMobile: input_shape include_top weights input_tensor pooling classes
keras.applications.ResNet101: include_top weights input_tensor input_shape pooling classes
keras.applications.ResNet101V2: include_top weights input_tensor input_shape pooling classes
keras.applications.ResNet152: include_top weights input_tensor input_shape pooling classes
keras.applications.ResNet152V2: include_top weights input_tensor input_shape pooling classes
keras.applications.ResNet50: include_top weights input_tensor input_shape pooling classes
keras.applications.ResNet50V2: include_top weights input_tensor input_shape pooling classes
keras.applications.VGG16: include_top weights input_tensor input_shape pooling classes
keras.applications.VGG19: include_top weights input_tensor input_shape pooling classes
keras.applications.Xception: include_top weights input_tensor input_shape pooling classes
keras.experimental.CosineDecay: initial_learning_rate decay_steps alpha name
keras.experimental.CosineDecayRestarts: initial_learning_rate first_decay_steps t_mul m_mul alpha \
name
keras.experimental.LinearCosineDecay: initial_learning_rate decay_steps num_periods alpha beta name
keras.experimental.LinearModel: units activation use_bias kernel_initializer bias_initializer \
kernel_regularizer bias_regularizer
keras.experimental.NoisyLinearCosineDecay: initial_learning_rate decay_steps initial_variance \
variance_decay num_periods alpha beta name
keras.experimental.WideDeepModel: linear_model dnn_model activation
keras.experimental.export_saved_model: model saved_model_path custom_objects as_text \
input_signature serving_only
keras.experimental.load_from_saved_model: saved_model_path custom_objects
keras.utils.HDF5Matrix: datapath dataset start end normalizer
keras.utils.convert_all_kernels_in_model: model
keras.utils.get_file: fname origin untar md5_hash file_hash cache_subdir hash_algorithm extract \
archive_format cache_dir
keras.utils.multi_gpu_model: model gpus cpu_merge cpu_relocation
keras.utils.GeneratorEnqueuer: generator use_multiprocessing random_seed
keras.utils.OrderedEnqueuer: sequence use_multiprocessing shuffle
keras.utils.get_source_inputs: tensor layer node_index
keras.utils.Progbar: target width verbose interval stateful_metrics unit_name
keras.utils.Sequence:
keras.utils.SequenceEnqueuer: sequence use_multiprocessing
keras.utils.normalize: x axis order
keras.utils.to_categorical: y num_classes dtype
keras.losses.BinaryCrossentropy: from_logits label_smoothing reduction name
keras.losses.CategoricalCrossentropy: from_logits label_smoothing reduction name
keras.losses.CategoricalHinge: reduction name
keras.losses.CosineSimilarity: axis reduction name
keras.losses.Hinge: reduction name
keras.losses.Huber: delta reduction name
keras.losses.KLD: y_true y_pred
keras.losses.KLDivergence: reduction name
keras.losses.LogCosh: reduction name
keras.losses.Loss: reduction name
keras.losses.MAE: y_true y_pred
keras.losses.MAPE: y_true y_pred
keras.losses.MSE: y_true y_pred
keras.losses.MSLE: y_true y_pred
keras.losses.MeanAbsoluteError: reduction name
keras.losses.MeanAbsolutePercentageError: reduction name
keras.losses.MeanSquaredError: reduction name
keras.losses.MeanSquaredLogarithmicError: reduction name
keras.losses.Poisson: reduction name
keras.losses.Reduction:
keras.losses.SparseCategoricalCrossentropy: from_logits reduction name
keras.losses.SquaredHinge: reduction name
keras.losses.binary_crossentropy: y_true y_pred from_logits label_smoothing
keras.losses.categorical_crossentropy: y_true y_pred from_logits label_smoothing
keras.losses.categorical_hinge: y_true y_pred
keras.losses.cosine: y_true y_pred axis
keras.losses.deserialize: name custom_objects
keras.losses.serialize: loss
keras.losses.get: identifier
keras.losses.hinge: y_true y_pred
keras.losses.logcosh: y_true y_pred
keras.losses.poisson: y_true y_pred
keras.losses.sparse_categorical_crossentropy: y_true y_pred from_logits axis
keras.losses.squared_hinge: y_true y_pred
keras.metrics.AUC: num_thresholds curve summation_method name dtype thresholds
keras.metrics.Accuracy: name dtype
keras.metrics.BinaryAccuracy: name dtype threshold
keras.metrics.BinaryCrossentropy: name dtype from_logits label_smoothing
keras.metrics.CategoricalAccuracy: name dtype
keras.metrics.CategoricalCrossentropy: name dtype from_logits label_smoothing
keras.metrics.CategoricalHinge: name dtype
keras.metrics.CosineSimilarity: name dtype axis
keras.metrics.FalseNegatives: thresholds name dtype
keras.metrics.FalsePositives: thresholds name dtype
keras.metrics.Hinge: name dtype
keras.metrics.KLDivergence: name dtype
keras.metrics.LogCoshError: name dtype
keras.metrics.Mean: name dtype
keras.metrics.MeanAbsoluteError: name dtype
keras.metrics.MeanAbsolutePercentageError: name dtype
keras.metrics.MeanIoU: num_classes name dtype
keras.metrics.MeanRelativeError: normalizer name dtype
keras.metrics.MeanSquaredError: name dtype
keras.metrics.MeanSquaredLogarithmicError: name dtype
keras.metrics.MeanTensor: name dtype
keras.metrics.Metric: name dtype
keras.metrics.Poisson: name dtype
keras.metrics.Precision: thresholds top_k class_id name dtype
keras.metrics.Recall: thresholds top_k class_id name dtype
keras.metrics.RootMeanSquaredError: name dtype
keras.metrics.SensitivityAtSpecificity: specificity num_thresholds name dtype
keras.metrics.SparseCategoricalAccuracy: name dtype
keras.metrics.SparseCategoricalCrossentropy: name dtype from_logits axis
keras.metrics.SparseTopKCategoricalAccuracy: k name dtype
keras.metrics.SpecificityAtSensitivity: sensitivity num_thresholds name dtype
keras.metrics.SquaredHinge: name dtype
keras.metrics.Sum: name dtype
keras.metrics.TopKCategoricalAccuracy: k name dtype
keras.metrics.TrueNegatives: thresholds name dtype
keras.metrics.TruePositives: thresholds name dtype
keras.metrics.binary_accuracy: y_true y_pred threshold
keras.metrics.categorical_accuracy: y_true y_pred
keras.metrics.deserialize: config custom_objects
keras.metrics.serialize: metric
keras.metrics.get: identifier
keras.metrics.sparse_categorical_accuracy: y_true y_pred
keras.metrics.sparse_top_k_categorical_accuracy: y_true y_pred k
keras.metrics.top_k_categorical_accuracy: y_true y_pred k
keras.optimizers.Adadelta: learning_rate rho epsilon name
keras.optimizers.Adagrad: learning_rate initial_accumulator_value epsilon name
keras.optimizers.Adam: learning_rate beta_1 beta_2 epsilon amsgrad name
keras.optimizers.Adamax: learning_rate beta_1 beta_2 epsilon name
keras.optimizers.Ftrl: learning_rate learning_rate_power initial_accumulator_value
    l1_regularization_strength l2_regularization_strength name
    l2_shrinkage_regularization_strength
keras.optimizers.Nadam: learning_rate beta_1 beta_2 epsilon name
keras.optimizers.Optimizer: name
keras.optimizers.RMSprop: learning_rate rho momentum epsilon centered name
keras.optimizers.SGD: learning_rate momentum nesterov name
keras.optimizers.deserialize: config custom_objects
keras.optimizers.serialize: optimizer
keras.optimizers.get: identifier
keras.optimizers.schedules.ExponentialDecay: initial_learning_rate decay_steps decay_rate
    staircase name
keras.optimizers.schedules.InverseTimeDecay: initial_learning_rate decay_steps decay_rate
    staircase name
keras.optimizers.schedules.LearningRateSchedule:
keras.optimizers.schedules.PiecewiseConstantDecay: boundaries values name
keras.optimizers.schedules.PolynomialDecay: initial_learning_rate decay_steps end_learning_rate
    power cycle name
keras.optimizers.schedules.deserialize: config custom_objects
keras.optimizers.schedules.serialize: learning_rate_schedule
keras.backend.backend:
keras.backend.batch_get_value: tensors
keras.backend.batch_set_value: tuples
keras.backend.binary_crossentropy: target output from_logits
keras.backend.cast_to_floatx: x
keras.backend.categorical_crossentropy: target output from_logits axis
keras.backend.clear_session:
keras.backend.constant: value dtype shape name
keras.backend.count_params: x
keras.backend.dtype: x
keras.backend.epsilon:
keras.backend.eval: x
keras.backend.floatx:
keras.backend.function: inputs outputs updates name
keras.backend.get_graph:
keras.backend.get_session: op_input_list
keras.backend.get_uid: prefix
keras.backend.get_value: x
keras.backend.hard_sigmoid: x
keras.backend.image_data_format:
keras.backend.int_shape: x
keras.backend.is_keras_tensor: x
keras.backend.is_sparse: tensor
keras.backend.learning_phase:
keras.backend.learning_phase_scope: value
keras.backend.manual_variable_initialization: value
keras.backend.ndim: x
keras.backend.placeholder: shape ndim dtype sparse name ragged
keras.backend.random_binomial: shape p dtype seed
keras.backend.random_normal: shape mean stddev dtype seed
keras.backend.random_uniform: shape minval maxval dtype seed
keras.backend.reset_uids:
keras.backend.rnn: step_function inputs initial_states go_backwards mask constants unroll
    input_length time_major zero_output_for_mask
keras.backend.set_epsilon: value
keras.backend.set_floatx: value
keras.backend.set_image_data_format: data_format
keras.backend.set_learning_phase: value
keras.backend.set_session: session
keras.backend.set_value: x value
keras.activations.deserialize: name custom_objects
keras.activations.elu: x alpha
keras.activations.get: identifier
keras.activations.linear: x
keras.activations.relu: x alpha max_value threshold
keras.activations.serialize: activation
keras.activations.selu: x
keras.activations.softmax: x axis
keras.activations.softplus: x
keras.activations.softsign: x
keras.layers.Activation: activation
keras.layers.ActivityRegularization: l1 l2
keras.layers.Add: trainable name dtype
keras.layers.Average: trainable name dtype
keras.layers.Concatenate: axis
keras.layers.Dot: axes normalize
keras.layers.GaussianDropout: rate
keras.layers.GaussianNoise: stddev
keras.layers.Lambda: function output_shape mask arguments
keras.layers.Masking: mask_value
keras.layers.Maximum: trainable name dtype
keras.layers.Minimum: trainable name dtype
keras.layers.Multiply: trainable name dtype
keras.layers.Permute: dims
keras.layers.RepeatVector: n
keras.layers.Reshape: target_shape
keras.layers.Subtract: trainable name dtype
keras.layers.add: inputs
keras.layers.average: inputs
keras.layers.concatenate: inputs axis
keras.layers.deserialize: config custom_objects
keras.layers.dot: inputs axes normalize
keras.layers.maximum: inputs
keras.layers.minimum: inputs
keras.layers.multiply: inputs
keras.layers.serialize: layer
keras.layers.subtract: inputs
keras.layers.InputLayer: input_shape batch_size dtype input_tensor sparse name ragged
keras.layers.InputSpec: dtype shape ndim max_ndim min_ndim axes
keras.layers.Layer: trainable name dtype
keras.models.clone_model: model input_tensors clone_function
keras.models.load_model: filepath custom_objects compile safe_mode
keras.models.model_from_config: config custom_objects
keras.models.model_from_json: json_string custom_objects
keras.models.model_from_yaml: yaml_string custom_objects
keras.models.save_model: model filepath overwrite include_optimizer save_format signatures
keras.regularizers.L1L2: l1 l2
keras.regularizers.Regularizer:
keras.regularizers.deserialize: config custom_objects
keras.regularizers.serialize: regularizer
keras.regularizers.get: identifier
keras.regularizers.l1: l
keras.regularizers.l1_l2: l1 l2
keras.regularizers.l2: l
keras.utils.CustomObjectScope:
keras.utils.custom_object_scope:
keras.utils.deserialize_keras_object: identifier module_objects custom_objects printable_module_name
keras.utils.get_custom_objects:
keras.utils.plot_model: model to_file show_shapes show_layer_names rankdir expand_nested dpi
keras.utils.serialize_keras_object: instance
keras.backend.sparse_categorical_crossentropy: target output from_logits axis
keras.backend.to_dense: tensor
keras.backend.truncated_normal: shape mean stddev dtype seed
keras.backend.variable: value dtype name constraint
keras.backend.arange: start stop step dtype
keras.backend.batch_dot: x y axes
keras.backend.batch_flatten: x
keras.backend.concatenate: tensors axis
keras.backend.dot: x y
keras.backend.expand_dims: x axis
keras.backend.eye: size dtype name
keras.backend.flatten: x
keras.backend.gather: reference indices
keras.backend.in_top_k: predictions targets k
keras.backend.one_hot: indices num_classes
keras.backend.ones: shape dtype name
keras.backend.ones_like: x dtype name
keras.backend.permute_dimensions: x pattern
keras.backend.print_tensor: x message summarize
keras.backend.random_normal_variable: shape mean scale dtype name seed
keras.backend.random_uniform_variable: shape low high dtype name seed
keras.backend.repeat: x n
keras.backend.repeat_elements: x rep axis
keras.backend.reshape: x shape
keras.backend.reverse: x axes
keras.backend.shape: x
keras.backend.spatial_2d_padding: x padding data_format
keras.backend.spatial_3d_padding: x padding data_format
keras.backend.squeeze: x axis
keras.backend.stack: x axis
keras.backend.temporal_padding: x padding
keras.backend.tile: x n
keras.backend.transpose: x
keras.backend.zeros: shape dtype name
keras.backend.zeros_like: x dtype name
keras.backend.foldl: fn elems initializer name
keras.backend.foldr: fn elems initializer name
keras.backend.gradients: loss variables
keras.backend.in_test_phase: x alt training
keras.backend.in_train_phase: x alt training
keras.backend.map_fn: fn elems name dtype
keras.backend.moving_average_update: x value momentum
keras.backend.name_scope: name default_name values
keras.backend.stop_gradient: variables
keras.backend.switch: condition then_expression else_expression
keras.backend.update: x new_x
keras.backend.update_add: x increment
keras.backend.update_sub: x decrement
keras.backend.ctc_batch_cost: y_true y_pred input_length label_length
keras.backend.ctc_decode: y_pred input_length greedy beam_width top_paths
keras.backend.ctc_label_dense_to_sparse: labels label_lengths
keras.backend.abs: x
keras.backend.all: x axis keepdims
keras.backend.any: x axis keepdims
keras.backend.argmax: x axis
keras.backend.argmin: x axis
keras.backend.cast: x dtype
keras.backend.clip: x min_value max_value
keras.backend.cos: x
keras.backend.cumprod: x axis
keras.backend.cumsum: x axis
keras.backend.elu: x alpha
keras.backend.equal: x y
keras.backend.exp: x
keras.backend.greater: x y
keras.backend.greater_equal: x y
keras.backend.l2_normalize: x axis
keras.backend.less: x y
keras.backend.less_equal: x y
keras.backend.log: x
keras.backend.max: x axis keepdims
keras.backend.maximum: x y
keras.backend.mean: x axis keepdims
keras.backend.min: x axis keepdims
keras.backend.minimum: x y
keras.backend.not_equal: x y
keras.backend.pow: x a
keras.backend.prod: x axis keepdims
keras.backend.relu: x alpha max_value threshold
keras.backend.round: x
keras.backend.sigmoid: x
keras.backend.sign: x
keras.backend.sin: x
keras.backend.softmax: x axis
keras.backend.softplus: x
keras.backend.softsign: x
keras.backend.sqrt: x
keras.backend.square: x
keras.backend.std: x axis keepdims
keras.backend.sum: x axis keepdims
keras.backend.tanh: x
keras.backend.var: x axis keepdims
keras.backend.batch_normalization: x mean var beta gamma axis epsilon
keras.backend.bias_add: x bias data_format
keras.backend.conv1d: x kernel strides padding data_format dilation_rate
keras.backend.conv2d: x kernel strides padding data_format dilation_rate
keras.backend.conv2d_transpose: x kernel output_shape strides padding data_format dilation_rate
keras.backend.conv3d: x kernel strides padding data_format dilation_rate
keras.backend.depthwise_conv2d: x depthwise_kernel strides padding data_format dilation_rate
keras.backend.dropout: x level noise_shape seed
keras.backend.local_conv1d: inputs kernel kernel_size strides data_format
keras.backend.local_conv2d: inputs kernel kernel_size strides output_shape data_format
keras.backend.normalize_batch_in_training: x gamma beta reduction_axes epsilon
keras.backend.pool2d: x pool_size strides padding data_format pool_mode
keras.backend.pool3d: x pool_size strides padding data_format pool_mode
keras.backend.resize_images: x height_factor width_factor data_format interpolation
keras.backend.resize_volumes: x depth_factor height_factor width_factor data_format
keras.backend.separable_conv2d: \
x depthwise_kernel pointwise_kernel strides padding data_format dilation_rate
keras.layers.AveragePooling1D: pool_size strides padding data_format
keras.layers.AveragePooling2D: pool_size strides padding data_format
keras.layers.AveragePooling3D: pool_size strides padding data_format
keras.layers.BatchNormalization: axis momentum epsilon center scale beta_initializer \
gamma_initializer moving_mean_initializer moving_variance_initializer beta_regularizer \
gamma_regularizer beta_constraint gamma_constraint renorm renorm_clipping renorm_momentum fused \
trainable virtual_batch_size adjustment name
keras.layers.Conv1D: filters kernel_size strides padding data_format dilation_rate activation \
use_bias kernel_initializer bias_initializer kernel_regularizer bias_regularizer \
activity_regularizer kernel_constraint bias_constraint
keras.layers.Conv2D: filters kernel_size strides padding data_format dilation_rate activation \
use_bias kernel_initializer bias_initializer kernel_regularizer bias_regularizer \
activity_regularizer kernel_constraint bias_constraint
keras.layers.Conv2DTranspose: filters kernel_size strides padding output_padding data_format \
dilation_rate activation use_bias kernel_initializer bias_initializer kernel_regularizer \
bias_regularizer activity_regularizer kernel_constraint bias_constraint
keras.layers.Conv3D: filters kernel_size strides padding data_format dilation_rate activation \
use_bias kernel_initializer bias_initializer kernel_regularizer bias_regularizer \
activity_regularizer kernel_constraint bias_constraint
keras.layers.Conv3DTranspose: filters kernel_size strides padding output_padding data_format \
dilation_rate activation use_bias kernel_initializer bias_initializer kernel_regularizer \
bias_regularizer activity_regularizer kernel_constraint bias_constraint
keras.layers.Dense: units activation use_bias kernel_initializer bias_initializer \
kernel_regularizer bias_regularizer activity_regularizer kernel_constraint bias_constraint
keras.layers.Dropout: rate noise_shape seed
keras.layers.Flatten: data_format
keras.layers.Input: shape batch_size name dtype sparse tensor ragged
keras.layers.MaxPooling1D: pool_size strides padding data_format
keras.layers.MaxPooling2D: pool_size strides padding data_format
keras.layers.MaxPooling3D: pool_size strides padding data_format
keras.layers.SeparableConv1D: filters kernel_size strides padding data_format dilation_rate \
depth_multiplier activation use_bias depthwise_initializer pointwise_initializer bias_initializer \
depthwise_regularizer pointwise_regularizer bias_regularizer activity_regularizer \
depthwise_constraint pointwise_constraint bias_constraint
keras.layers.SeparableConv2D: filters kernel_size strides padding data_format dilation_rate \
depth_multiplier activation use_bias depthwise_initializer pointwise_initializer bias_initializer \
depthwise_regularizer pointwise_regularizer bias_regularizer activity_regularizer \
depthwise_constraint pointwise_constraint bias_constraint
keras.layers.SpatialDropout1D: rate
keras.layers.SpatialDropout2D: rate data_format
keras.layers.SpatialDropout3D: rate data_format
keras.layers.input_tensor: shape batch_size name dtype sparse tensor ragged
keras.constraints.Constraint:
keras.constraints.MaxNorm: max_value axis
keras.constraints.MinMaxNorm: min_value max_value rate axis
keras.constraints.NonNeg:
keras.constraints.RadialConstraint:
keras.constraints.UnitNorm: axis
keras.constraints.cast: x dtype
keras.constraints.clip: x min_value max_value
keras.constraints.deserialize: config custom_objects
keras.constraints.epsilon:
keras.constraints.gather: params indices validate_indices name axis batch_dims
keras.constraints.get: identifier
keras.constraints.greater_equal: x y
keras.constraints.max_norm: max_value axis
keras.constraints.min_max_norm: min_value max_value rate axis
keras.constraints.non_neg:
keras.constraints.radial_constraint:
keras.constraints.reshape: tensor shape name
keras.constraints.serialize: constraint
keras.constraints.sqrt: x
keras.constraints.square: x
keras.constraints.sum_of: x axis keepdims
keras.constraints.unit_norm: axis
keras.initializers.Constant: value dtype verify_shape
keras.initializers.Identity: gain dtype
keras.initializers.Initializer: dtype
keras.initializers.Ones: dtype
keras.initializers.Orthogonal: gain seed dtype
keras.initializers.RandomNormal: mean stddev seed dtype
keras.initializers.RandomUniform: minval maxval seed dtype
keras.initializers.TruncatedNormal: mean stddev seed dtype
keras.initializers.VarianceScaling: scale mode distribution seed dtype
keras.initializers.Zeros: dtype
keras.initializers.constant: value dtype verify_shape
keras.initializers.deserialize: config custom_objects
keras.initializers.get: identifier
keras.initializers.glorot_normal: seed dtype
keras.initializers.glorot_uniform: seed dtype
keras.initializers.he_normal: seed
keras.initializers.he_uniform: seed
keras.initializers.identity: gain dtype
keras.initializers.lecun_normal: seed
keras.initializers.lecun_uniform: seed
keras.initializers.normal: mean stddev seed dtype
keras.initializers.ones: dtype
keras.initializers.orthogonal: gain seed dtype
keras.initializers.random_normal: mean stddev seed dtype
keras.initializers.random_uniform: minval maxval seed dtype
keras.initializers.serialize: initializer
keras.initializers.truncated_normal: mean stddev seed dtype
keras.initializers.uniform: minval maxval seed dtype
keras.initializers.zeros: dtype
keras.layers.AbstractRNNCell: trainable name dtype
keras.layers.Bidirectional: layer merge_mode weights backward_layer
keras.layers.GRU: units activation recurrent_activation use_bias kernel_initializer \
recurrent_initializer bias_initializer kernel_regularizer recurrent_regularizer bias_regularizer \
activity_regularizer kernel_constraint recurrent_constraint bias_constraint dropout \
recurrent_dropout implementation return_sequences return_state go_backwards stateful unroll \
reset_after
keras.layers.GRUCell: units activation recurrent_activation use_bias kernel_initializer \
recurrent_initializer bias_initializer kernel_regularizer recurrent_regularizer bias_regularizer \
kernel_constraint recurrent_constraint bias_constraint dropout recurrent_dropout implementation \
reset_after
keras.layers.LSTM: units activation recurrent_activation use_bias kernel_initializer \
recurrent_initializer bias_initializer unit_forget_bias kernel_regularizer recurrent_regularizer \
bias_regularizer activity_regularizer kernel_constraint recurrent_constraint bias_constraint \
dropout recurrent_dropout implementation return_sequences return_state go_backwards stateful \
unroll
keras.layers.LSTMCell: units activation recurrent_activation use_bias kernel_initializer \
recurrent_initializer bias_initializer unit_forget_bias kernel_regularizer recurrent_regularizer \
bias_regularizer kernel_constraint recurrent_constraint bias_constraint dropout recurrent_dropout \
implementation
keras.layers.RNN: cell return_sequences return_state go_backwards stateful unroll time_major
keras.layers.SimpleRNN: units activation use_bias kernel_initializer recurrent_initializer \
bias_initializer kernel_regularizer recurrent_regularizer bias_regularizer activity_regularizer \
kernel_constraint recurrent_constraint bias_constraint dropout recurrent_dropout return_sequences \
return_state go_backwards stateful unroll
keras.layers.SimpleRNNCell: units activation use_bias kernel_initializer recurrent_initializer \
bias_initializer kernel_regularizer recurrent_regularizer bias_regularizer kernel_constraint \
recurrent_constraint bias_constraint dropout recurrent_dropout
keras.layers.StackedRNNCells: cells
keras.layers.TimeDistributed: layer
keras.layers.Wrapper: layer
keras.experimental.PeepholeLSTMCell: units activation recurrent_activation use_bias \
kernel_initializer recurrent_initializer bias_initializer unit_forget_bias kernel_regularizer \
recurrent_regularizer bias_regularizer kernel_constraint recurrent_constraint bias_constraint \
dropout recurrent_dropout implementation
keras.layers.ConvLSTM2D: filters kernel_size strides padding data_format dilation_rate activation \
recurrent_activation use_bias kernel_initializer recurrent_initializer bias_initializer \
unit_forget_bias kernel_regularizer recurrent_regularizer bias_regularizer activity_regularizer \
kernel_constraint recurrent_constraint bias_constraint return_sequences go_backwards stateful \
dropout recurrent_dropout
keras.layers.CuDNNGRU: units kernel_initializer recurrent_initializer bias_initializer \
kernel_regularizer recurrent_regularizer bias_regularizer activity_regularizer kernel_constraint \
recurrent_constraint bias_constraint return_sequences return_state go_backwards stateful
keras.layers.CuDNNLSTM: units kernel_initializer recurrent_initializer bias_initializer \
unit_forget_bias kernel_regularizer recurrent_regularizer bias_regularizer activity_regularizer \
kernel_constraint recurrent_constraint bias_constraint return_sequences return_state go_backwards \
stateful
keras.layers.AdditiveAttention: use_scale
keras.layers.AlphaDropout: rate noise_shape seed
keras.layers.Attention: use_scale
keras.layers.AvgPool1D: pool_size strides padding data_format
keras.layers.AvgPool2D: pool_size strides padding data_format
keras.layers.AvgPool3D: pool_size strides padding data_format
keras.layers.Convolution1D: filters kernel_size strides padding data_format dilation_rate \
activation use_bias kernel_initializer bias_initializer kernel_regularizer bias_regularizer \
activity_regularizer kernel_constraint bias_constraint
keras.layers.Convolution2D: filters kernel_size strides padding data_format dilation_rate \
activation use_bias kernel_initializer bias_initializer kernel_regularizer bias_regularizer \
activity_regularizer kernel_constraint bias_constraint
keras.layers.Convolution2DTranspose: filters kernel_size strides padding output_padding \
data_format dilation_rate activation use_bias kernel_initializer bias_initializer \
kernel_regularizer bias_regularizer activity_regularizer kernel_constraint bias_constraint
keras.layers.Convolution3D: filters kernel_size strides padding data_format dilation_rate \
activation use_bias kernel_initializer bias_initializer kernel_regularizer bias_regularizer \
activity_regularizer kernel_constraint bias_constraint
keras.layers.Convolution3DTranspose: filters kernel_size strides padding output_padding \
data_format dilation_rate activation use_bias kernel_initializer bias_initializer \
kernel_regularizer bias_regularizer activity_regularizer kernel_constraint bias_constraint
keras.layers.Cropping1D: cropping
keras.layers.Cropping2D: cropping data_format
keras.layers.Cropping3D: cropping data_format
keras.layers.DepthwiseConv2D: kernel_size strides padding depth_multiplier data_format activation \
use_bias depthwise_initializer bias_initializer depthwise_regularizer bias_regularizer \
activity_regularizer depthwise_constraint bias_constraint
keras.layers.ELU: alpha
keras.layers.Embedding: input_dim output_dim embeddings_initializer embeddings_regularizer \
activity_regularizer embeddings_constraint mask_zero input_length
keras.layers.GlobalAveragePooling1D: data_format
keras.layers.GlobalAveragePooling2D: data_format
keras.layers.GlobalAveragePooling3D: data_format
keras.layers.GlobalAvgPool1D: data_format
keras.layers.GlobalAvgPool2D: data_format
keras.layers.GlobalAvgPool3D: data_format
keras.layers.GlobalMaxPool1D: data_format
keras.layers.GlobalMaxPool2D: data_format
keras.layers.GlobalMaxPool3D: data_format
keras.layers.GlobalMaxPooling1D: data_format
keras.layers.GlobalMaxPooling2D: data_format
keras.layers.GlobalMaxPooling3D: data_format
keras.layers.LayerNormalization: axis epsilon center scale beta_initializer gamma_initializer \
beta_regularizer gamma_regularizer beta_constraint gamma_constraint trainable name
keras.layers.LeakyReLU: alpha
keras.layers.LocallyConnected1D: filters kernel_size strides padding data_format activation \
use_bias kernel_initializer bias_initializer kernel_regularizer bias_regularizer \
activity_regularizer kernel_constraint bias_constraint implementation
keras.layers.LocallyConnected2D: filters kernel_size strides padding data_format activation \
use_bias kernel_initializer bias_initializer kernel_regularizer bias_regularizer \
activity_regularizer kernel_constraint bias_constraint implementation
keras.layers.MaxPool1D: pool_size strides padding data_format
keras.layers.MaxPool2D: pool_size strides padding data_format
keras.layers.MaxPool3D: pool_size strides padding data_format
keras.layers.PReLU: alpha_initializer alpha_regularizer alpha_constraint shared_axes
keras.layers.ReLU: max_value negative_slope threshold
keras.layers.SeparableConvolution1D: filters kernel_size strides padding data_format dilation_rate \
depth_multiplier activation use_bias depthwise_initializer pointwise_initializer bias_initializer \
depthwise_regularizer pointwise_regularizer bias_regularizer activity_regularizer \
depthwise_constraint pointwise_constraint bias_constraint
keras.layers.SeparableConvolution2D: filters kernel_size strides padding data_format dilation_rate \
depth_multiplier activation use_bias depthwise_initializer pointwise_initializer bias_initializer \
depthwise_regularizer pointwise_regularizer bias_regularizer activity_regularizer \
depthwise_constraint pointwise_constraint bias_constraint
keras.layers.Softmax: axis
keras.layers.ThresholdedReLU: theta
keras.layers.UpSampling1D: size
keras.layers.UpSampling2D: size data_format interpolation
keras.layers.UpSampling3D: size data_format
keras.layers.ZeroPadding1D: padding
keras.layers.ZeroPadding2D: padding data_format
keras.layers.ZeroPadding3D: padding data_format
layers.AveragePooling1D: pool_size strides padding data_format name
layers.AveragePooling2D: pool_size strides padding data_format name
layers.AveragePooling3D: pool_size strides padding data_format name
layers.BatchNormalization: axis momentum epsilon center scale beta_initializer gamma_initializer
    moving_mean_initializer moving_variance_initializer beta_regularizer gamma_regularizer
    beta_constraint gamma_constraint renorm renorm_clipping renorm_momentum fused trainable
    virtual_batch_size adjustment name
layers.Conv1D: filters kernel_size strides padding data_format dilation_rate activation use_bias
    kernel_initializer bias_initializer kernel_regularizer bias_regularizer activity_regularizer
    kernel_constraint bias_constraint trainable name
layers.Conv2D: filters kernel_size strides padding data_format dilation_rate activation use_bias
    kernel_initializer bias_initializer kernel_regularizer bias_regularizer activity_regularizer
    kernel_constraint bias_constraint trainable name
layers.Conv2DTranspose: filters kernel_size strides padding data_format activation use_bias
    kernel_initializer bias_initializer kernel_regularizer bias_regularizer activity_regularizer
    kernel_constraint bias_constraint trainable name
layers.Conv3D: filters kernel_size strides padding data_format dilation_rate activation use_bias
    kernel_initializer bias_initializer kernel_regularizer bias_regularizer activity_regularizer
    kernel_constraint bias_constraint trainable name
layers.Conv3DTranspose: filters kernel_size strides padding data_format activation use_bias
    kernel_initializer bias_initializer kernel_regularizer bias_regularizer activity_regularizer
    kernel_constraint bias_constraint trainable name
layers.Dense: units activation use_bias kernel_initializer bias_initializer kernel_regularizer
    bias_regularizer activity_regularizer kernel_constraint bias_constraint trainable name
layers.Dropout: rate noise_shape seed name
layers.Flatten: data_format
layers.InputSpec: dtype shape ndim max_ndim min_ndim axes
layers.Layer: trainable name dtype
layers.MaxPooling1D: pool_size strides padding data_format name
layers.MaxPooling2D: pool_size strides padding data_format name
layers.MaxPooling3D: pool_size strides padding data_format name
layers.SeparableConv1D: filters kernel_size strides padding data_format dilation_rate
    depth_multiplier activation use_bias depthwise_initializer pointwise_initializer
    bias_initializer depthwise_regularizer pointwise_regularizer bias_regularizer
    activity_regularizer depthwise_constraint pointwise_constraint bias_constraint trainable name
layers.SeparableConv2D: filters kernel_size strides padding data_format dilation_rate
    depth_multiplier activation use_bias depthwise_initializer pointwise_initializer
    bias_initializer depthwise_regularizer pointwise_regularizer bias_regularizer
    activity_regularizer depthwise_constraint pointwise_constraint bias_constraint trainable name
layers.average_pooling1d: inputs pool_size strides padding data_format name
layers.average_pooling2d: inputs pool_size strides padding data_format name
layers.average_pooling3d: inputs pool_size strides padding data_format name
layers.batch_normalization: inputs axis momentum epsilon center scale beta_initializer
    gamma_initializer moving_mean_initializer moving_variance_initializer beta_regularizer
    gamma_regularizer beta_constraint gamma_constraint training trainable name reuse renorm
    renorm_clipping renorm_momentum fused virtual_batch_size adjustment
layers.conv1d: inputs filters kernel_size strides padding data_format dilation_rate activation
    use_bias kernel_initializer bias_initializer kernel_regularizer bias_regularizer
    activity_regularizer kernel_constraint bias_constraint trainable name reuse
layers.conv2d: inputs filters kernel_size strides padding data_format dilation_rate activation
    use_bias kernel_initializer bias_initializer kernel_regularizer bias_regularizer
    activity_regularizer kernel_constraint bias_constraint trainable name reuse
layers.conv2d_transpose: inputs filters kernel_size strides padding data_format activation use_bias
    kernel_initializer bias_initializer kernel_regularizer bias_regularizer activity_regularizer
    kernel_constraint bias_constraint trainable name reuse
layers.conv3d: inputs filters kernel_size strides padding data_format dilation_rate activation
    use_bias kernel_initializer bias_initializer kernel_regularizer bias_regularizer
    activity_regularizer kernel_constraint bias_constraint trainable name reuse
layers.conv3d_transpose: inputs filters kernel_size strides padding data_format activation use_bias
    kernel_initializer bias_initializer kernel_regularizer bias_regularizer activity_regularizer
    kernel_constraint bias_constraint trainable name reuse
layers.dense: inputs units activation use_bias kernel_initializer bias_initializer
    kernel_regularizer bias_regularizer activity_regularizer kernel_constraint bias_constraint
    trainable name reuse
layers.dropout: inputs rate noise_shape seed training name
layers.flatten: inputs name data_format
layers.max_pooling1d: inputs pool_size strides padding data_format name
layers.max_pooling2d: inputs pool_size strides padding data_format name
layers.max_pooling3d: inputs pool_size strides padding data_format name
layers.separable_conv1d: inputs filters kernel_size strides padding data_format dilation_rate
    depth_multiplier activation use_bias depthwise_initializer pointwise_initializer
    bias_initializer depthwise_regularizer pointwise_regularizer bias_regularizer
    activity_regularizer depthwise_constraint pointwise_constraint bias_constraint trainable name
    reuse
layers.separable_conv2d: inputs filters kernel_size strides padding data_format dilation_rate
    depth_multiplier activation use_bias depthwise_initializer pointwise_initializer
    bias_initializer depthwise_regularizer pointwise_regularizer bias_regularizer
    activity_regularizer depthwise_constraint pointwise_constraint bias_constraint trainable name
    reuse
lbeta: x name
less: x y name
less_equal: x y name
lgamma: x name
lin_space: start stop num name
linalg.adjoint: matrix name
linalg.expm: input name
linalg.logdet: matrix name
linalg.logm: input name
linalg.LinearOperator: dtype graph_parents is_non_singular is_self_adjoint is_positive_definite
    is_square name
linalg.LinearOperatorAdjoint: operator is_non_singular is_self_adjoint is_positive_definite
    is_square name
linalg.LinearOperatorBlockDiag: operators is_non_singular is_self_adjoint is_positive_definite
    is_square name
linalg.LinearOperatorCirculant: spectrum input_output_dtype is_non_singular is_self_adjoint
    is_positive_definite is_square name
linalg.LinearOperatorCirculant2D: spectrum input_output_dtype is_non_singular is_self_adjoint
    is_positive_definite is_square name
linalg.LinearOperatorCirculant3D: spectrum input_output_dtype is_non_singular is_self_adjoint
    is_positive_definite is_square name
linalg.LinearOperatorComposition: operators is_non_singular is_self_adjoint is_positive_definite
    is_square name
linalg.LinearOperatorDiag: diag is_non_singular is_self_adjoint is_positive_definite is_square name
linalg.LinearOperatorFullMatrix: matrix is_non_singular is_self_adjoint is_positive_definite
    is_square name
linalg.LinearOperatorHouseholder: reflection_axis is_non_singular is_self_adjoint
    is_positive_definite is_square name
linalg.LinearOperatorIdentity: num_rows batch_shape dtype is_non_singular is_self_adjoint
    is_positive_definite is_square assert_proper_shapes name
linalg.LinearOperatorInversion: operator is_non_singular is_self_adjoint is_positive_definite
    is_square name
linalg.LinearOperatorKronecker: operators is_non_singular is_self_adjoint is_positive_definite
    is_square name
linalg.LinearOperatorLowRankUpdate: base_operator u diag_update v is_diag_update_positive
    is_non_singular is_self_adjoint is_positive_definite is_square name
linalg.LinearOperatorScaledIdentity: num_rows multiplier is_non_singular is_self_adjoint
    is_positive_definite is_square assert_proper_shapes name
linalg.LinearOperatorToeplitz: col row is_non_singular is_self_adjoint is_positive_definite
    is_square name
linalg.LinearOperatorZeros: num_rows num_columns batch_shape dtype is_non_singular is_self_adjoint
    is_positive_definite is_square assert_proper_shapes name
linalg.LinearOperatorLowerTriangular: tril is_non_singular is_self_adjoint is_positive_definite
    is_square name
linalg.lu: input output_idx_type name
linalg.lu_matrix_inverse: lower_upper perm validate_args name
linalg.lu_reconstruct: lower_upper perm validate_args name
linalg.lu_solve: lower_upper perm rhs validate_args name
linalg.matrix_rank: a tol validate_args name
linalg.matvec: a b transpose_a adjoint_a a_is_sparse b_is_sparse name
linalg.normalize: tensor ord axis name
linalg.pinv: a rcond validate_args name
linalg.slogdet: input name
linalg.transpose: a name conjugate
linalg.tridiagonal_matmul: diagonals rhs diagonals_format name
linalg.tridiagonal_solve: diagonals rhs diagonals_format transpose_rhs conjugate_rhs name
    partial_pivoting
linspace: start stop num name
local_variables: scope
local_variables_initializer:
log: x name
log1p: x name
logging.TaskLevelStatusMessage: msg
logging.debug: msg
logging.error: msg
logging.fatal: msg
logging.flush:
logging.get_verbosity:
logging.info: msg
logging.log: level msg
logging.log_every_n: level msg n
logging.log_first_n: level msg n
logging.log_if: level msg condition
logging.set_verbosity: v
logging.vlog: level msg
logging.warn: msg
logging.warning: msg
logical_and: x y name
logical_not: x name
logical_or: x y name
logical_xor: x y name
lookup.KeyValueTensorInitializer: keys values key_dtype value_dtype name
lookup.StaticHashTable: initializer default_value name
lookup.StaticVocabularyTable: initializer num_oov_buckets lookup_key_dtype name
lookup.TextFileIndex:
lookup.TextFileInitializer: filename key_dtype key_index value_dtype value_index vocab_size
    delimiter name
lookup.experimental.DenseHashTable: key_dtype value_dtype default_value empty_key deleted_key
    initial_num_buckets name checkpoint
losses.absolute_difference: labels predictions weights scope loss_collection reduction
losses.add_loss: loss loss_collection
losses.compute_weighted_loss: losses weights scope loss_collection reduction
losses.cosine_distance: labels predictions axis weights scope loss_collection reduction dim
losses.get_losses: scope loss_collection
losses.get_regularization_loss: scope name
losses.get_regularization_losses: scope
losses.get_total_loss: add_regularization_losses name scope
losses.hinge_loss: labels logits weights scope loss_collection reduction
losses.huber_loss: labels predictions weights delta scope loss_collection reduction
losses.log_loss: labels predictions weights epsilon scope loss_collection reduction
losses.mean_pairwise_squared_error: labels predictions weights scope loss_collection
losses.mean_squared_error: labels predictions weights scope loss_collection reduction
losses.sigmoid_cross_entropy: multi_class_labels logits weights label_smoothing scope
    loss_collection reduction
losses.softmax_cross_entropy: onehot_labels logits weights label_smoothing scope loss_collection
    reduction
losses.sparse_softmax_cross_entropy: labels logits weights scope loss_collection reduction
make_template: name_ func_ create_scope_now_ unique_name_ custom_getter_
map_fn: fn elems dtype parallel_iterations back_prop swap_memory infer_shape name
matching_files: pattern name
math.bessel_i0: x name
math.bessel_i0e: x name
math.bessel_i1: x name
math.bessel_i1e: x name
math.cumulative_logsumexp: x axis exclusive reverse name
math.divide_no_nan: x y name
math.erfcinv: x name
math.erfinv: x name
math.in_top_k: predictions targets k name
math.log_softmax: logits axis name dim
math.multiply_no_nan: x y name
math.ndtri: x name
math.nextafter: x1 x2 name
math.polyval: coeffs x name
math.reciprocal_no_nan: x name
math.reduce_euclidean_norm: input_tensor axis keepdims name
math.reduce_std: input_tensor axis keepdims name
math.reduce_variance: input_tensor axis keepdims name
math.softmax: logits axis name dim
math.softplus: features name
math.top_k: input k sorted name
math.xdivy: x y name
math.xlog1py: x y name
math.xlogy: x y name
matmul: a b transpose_a transpose_b adjoint_a adjoint_b a_is_sparse b_is_sparse name
matrix_band_part: input num_lower num_upper name
matrix_determinant: input name
matrix_diag: diagonal name k num_rows num_cols padding_value
matrix_diag_part: input name k padding_value
matrix_inverse: input adjoint name
matrix_set_diag: input diagonal name k
matrix_solve: matrix rhs adjoint name
matrix_solve_ls: matrix rhs l2_regularizer fast name
matrix_square_root: input name
matrix_transpose: a name conjugate
matrix_triangular_solve: matrix rhs lower adjoint name
maximum: x y name
meshgrid:
metrics.accuracy: labels predictions weights metrics_collections updates_collections name
metrics.auc: labels predictions weights num_thresholds metrics_collections updates_collections curve
    name summation_method thresholds
metrics.average_precision_at_k: labels predictions k weights metrics_collections updates_collections
    name
metrics.false_negatives: labels predictions weights metrics_collections updates_collections name
metrics.false_negatives_at_thresholds: labels predictions thresholds weights metrics_collections
    updates_collections name
metrics.false_positives: labels predictions weights metrics_collections updates_collections name
metrics.false_positives_at_thresholds: labels predictions thresholds weights metrics_collections
    updates_collections name
metrics.mean: values weights metrics_collections updates_collections name
metrics.mean_absolute_error: labels predictions weights metrics_collections updates_collections name
metrics.mean_cosine_distance: labels predictions dim weights metrics_collections updates_collections
    name
metrics.mean_iou: labels predictions num_classes weights metrics_collections updates_collections
    name
metrics.mean_per_class_accuracy: labels predictions num_classes weights metrics_collections
    updates_collections name
metrics.mean_relative_error: labels predictions normalizer weights metrics_collections
    updates_collections name
metrics.mean_squared_error: labels predictions weights metrics_collections updates_collections name
metrics.mean_tensor: values weights metrics_collections updates_collections name
metrics.percentage_below: values threshold weights metrics_collections updates_collections name
metrics.precision: labels predictions weights metrics_collections updates_collections name
metrics.precision_at_k: labels predictions k class_id weights metrics_collections
    updates_collections name
metrics.precision_at_thresholds: labels predictions thresholds weights metrics_collections
    updates_collections name
metrics.precision_at_top_k: labels predictions_idx k class_id weights metrics_collections
    updates_collections name
metrics.recall: labels predictions weights metrics_collections updates_collections name
metrics.recall_at_k: labels predictions k class_id weights metrics_collections updates_collections
    name
metrics.recall_at_thresholds: labels predictions thresholds weights metrics_collections
    updates_collections name
metrics.recall_at_top_k: labels predictions_idx k class_id weights metrics_collections
    updates_collections name
metrics.root_mean_squared_error: labels predictions weights metrics_collections updates_collections
    name
metrics.sensitivity_at_specificity: labels predictions specificity weights num_thresholds
    metrics_collections updates_collections name
metrics.specificity_at_sensitivity: labels predictions sensitivity weights num_thresholds
    metrics_collections updates_collections name
metrics.true_negatives: labels predictions weights metrics_collections updates_collections name
metrics.true_negatives_at_thresholds: labels predictions thresholds weights metrics_collections
    updates_collections name
metrics.true_positives: labels predictions weights metrics_collections updates_collections name
metrics.true_positives_at_thresholds: labels predictions thresholds weights metrics_collections
    updates_collections name
min_max_variable_partitioner: max_partitions axis min_slice_size bytes_per_string_element
minimum: x y name
mod: x y name
model_variables: scope
moving_average_variables: scope
multinomial: logits num_samples seed name output_dtype
multiply: x y name
name_scope: name default_name values
negative: x name
nn.all_candidate_sampler: true_classes num_true num_sampled unique seed name
nn.atrous_conv2d: value filters rate padding name
nn.atrous_conv2d_transpose: value filters output_shape rate padding name
nn.avg_pool: value ksize strides padding data_format name input
nn.avg_pool1d: input ksize strides padding data_format name
nn.avg_pool3d: input ksize strides padding data_format name
nn.avg_pool_v2: input ksize strides padding data_format name
nn.batch_norm_with_global_normalization: t m v beta gamma variance_epsilon scale_after_normalization
    name input mean variance
nn.batch_normalization: x mean variance offset scale variance_epsilon name
nn.bias_add: value bias data_format name
nn.bidirectional_dynamic_rnn: cell_fw cell_bw inputs sequence_length initial_state_fw
    initial_state_bw dtype parallel_iterations swap_memory time_major scope
nn.collapse_repeated: labels seq_length name
nn.compute_accidental_hits: true_classes sampled_candidates num_true seed name
nn.compute_average_loss: per_example_loss sample_weight global_batch_size
nn.conv1d: value filters stride padding use_cudnn_on_gpu data_format name input dilations
nn.conv1d_transpose: input filters output_shape strides padding data_format dilations name
nn.conv2d: input filter strides padding use_cudnn_on_gpu data_format dilations name filters
nn.conv2d_backprop_filter: input filter_sizes out_backprop strides padding use_cudnn_on_gpu
    data_format dilations name
nn.conv2d_backprop_input: input_sizes filter out_backprop strides padding use_cudnn_on_gpu
    data_format dilations name filters
nn.conv2d_transpose: value filter output_shape strides padding data_format name input filters
    dilations
nn.conv3d: input filter strides padding data_format dilations name filters
nn.conv3d_backprop_filter: input filter_sizes out_backprop strides padding data_format dilations
    name
nn.conv3d_transpose: value filter output_shape strides padding data_format name input filters
    dilations
nn.conv_transpose: input filters output_shape strides padding data_format dilations name
nn.convolution: input filter padding strides dilation_rate name data_format filters dilations
nn.crelu: features name axis
nn.ctc_beam_search_decoder: inputs sequence_length beam_width top_paths merge_repeated
nn.ctc_beam_search_decoder_v2: inputs sequence_length beam_width top_paths
nn.ctc_greedy_decoder: inputs sequence_length merge_repeated
nn.ctc_unique_labels: labels name
nn.ctc_loss_v2: labels logits label_length logit_length logits_time_major unique blank_index name
nn.ctc_loss: labels inputs sequence_length preprocess_collapse_repeated ctc_merge_repeated
    ignore_longer_outputs_than_inputs time_major logits
nn.depthwise_conv2d: input filter strides padding rate name data_format dilations
nn.depthwise_conv2d_backprop_filter: input filter_sizes out_backprop strides padding data_format
    dilations name
nn.depthwise_conv2d_backprop_input: input_sizes filter out_backprop strides padding data_format
    dilations name
nn.depthwise_conv2d_native: input filter strides padding data_format dilations name
nn.dilation2d: input filter strides rates padding name filters dilations
nn.dropout: x keep_prob noise_shape seed name rate
nn.dynamic_rnn: cell inputs sequence_length initial_state dtype parallel_iterations swap_memory
    time_major scope
nn.elu: features name
nn.embedding_lookup: params ids partition_strategy name validate_indices max_norm
nn.embedding_lookup_sparse: params sp_ids sp_weights partition_strategy name combiner max_norm
nn.erosion2d: value kernel strides rates padding name
nn.fixed_unigram_candidate_sampler: true_classes num_true num_sampled unique range_max vocab_file
    distortion num_reserved_ids num_shards shard unigrams seed name
nn.fractional_avg_pool: value pooling_ratio pseudo_random overlapping deterministic seed seed2 name
nn.fractional_max_pool: value pooling_ratio pseudo_random overlapping deterministic seed seed2 name
nn.fused_batch_norm: x scale offset mean variance epsilon data_format is_training name
nn.in_top_k: predictions targets k name
nn.l2_loss: t name
nn.l2_normalize: x axis epsilon name dim
nn.leaky_relu: features alpha name
nn.learned_unigram_candidate_sampler: true_classes num_true num_sampled unique range_max seed name
nn.local_response_normalization: input depth_radius bias alpha beta name
nn.log_poisson_loss: targets log_input compute_full_loss name
nn.log_sigmoid: x name
nn.log_softmax: logits axis name dim
nn.log_uniform_candidate_sampler: true_classes num_true num_sampled unique range_max seed name
nn.lrn: input depth_radius bias alpha beta name
nn.max_pool: value ksize strides padding data_format name input
nn.max_pool1d: input ksize strides padding data_format name
nn.max_pool2d: input ksize strides padding data_format name
nn.max_pool3d: input ksize strides padding data_format name
nn.max_pool_v2: input ksize strides padding data_format name
nn.max_pool_with_argmax: input ksize strides padding data_format Targmax name output_dtype
    include_batch_in_index
nn.moments: x axes shift name keep_dims keepdims
nn.nce_loss: weights biases labels inputs num_sampled num_classes num_true sampled_values
    remove_accidental_hits partition_strategy name
nn.normalize_moments: counts mean_ss variance_ss shift name
nn.pool: input window_shape pooling_type padding dilation_rate strides name data_format dilations
nn.raw_rnn: cell loop_fn parallel_iterations swap_memory scope
nn.relu: features name
nn.relu6: features name
nn.relu_layer: x weights biases name
nn.safe_embedding_lookup_sparse: embedding_weights sparse_ids sparse_weights combiner default_id
    name partition_strategy max_norm
nn.sampled_softmax_loss: weights biases labels inputs num_sampled num_classes num_true
    sampled_values remove_accidental_hits partition_strategy name seed
nn.scale_regularization_loss: regularization_loss
nn.selu: features name
nn.separable_conv2d: input depthwise_filter pointwise_filter strides padding rate name data_format
    dilations
nn.sigmoid_cross_entropy_with_logits: _sentinel labels logits name
nn.softmax: logits axis name dim
nn.softmax_cross_entropy_with_logits: _sentinel labels logits dim name axis
nn.softmax_cross_entropy_with_logits_v2: labels logits axis name dim
nn.softplus: features name
nn.softsign: features name
nn.sparse_softmax_cross_entropy_with_logits: _sentinel labels logits name
nn.static_bidirectional_rnn: cell_fw cell_bw inputs initial_state_fw initial_state_bw dtype
    sequence_length scope
nn.static_rnn: cell inputs initial_state dtype sequence_length scope
nn.static_state_saving_rnn: cell inputs state_saver state_name sequence_length scope
nn.sufficient_statistics: x axes shift keep_dims name keepdims
nn.swish: features
nn.top_k: input k sorted name
nn.uniform_candidate_sampler: true_classes num_true num_sampled unique range_max seed name
nn.weighted_cross_entropy_with_logits: labels logits pos_weight name targets
nn.weighted_moments: x axes frequency_weights name keep_dims keepdims
nn.with_space_to_batch: input dilation_rate padding op filter_shape spatial_dims data_format
nn.xw_plus_b: x weights biases name
nn.zero_fraction: value name
no_op: name
no_regularizer: _
norm: tensor ord axis keepdims name keep_dims
not_equal: x y name
numpy_function: func inp Tout name
one_hot: indices depth on_value off_value axis dtype name
op_scope: values name default_name
ones: shape dtype name
ones_initializer: dtype
ones_like: tensor dtype name optimize
orthogonal_initializer: gain seed dtype
pad: tensor paddings mode name constant_values
parallel_stack: values name
placeholder: dtype shape name
placeholder_with_default: input shape name
polygamma: a x name
pow: x y name
print:
py_func: func inp Tout stateful name
py_function: func inp Tout name
function: func input_signature autograph experimental_autograph_options experimental_relax_shapes \
    experimental_compile
qr: input full_matrices name
random.categorical: logits num_samples dtype seed name
random.gamma: shape alpha beta dtype seed name
random.get_seed: op_seed
random.multinomial: logits num_samples seed name output_dtype
random.normal: shape mean stddev dtype seed name
random.poisson: lam shape dtype seed name
random.shuffle: value seed name
random.stateless_categorical: logits num_samples seed dtype name
random.stateless_multinomial: logits num_samples seed output_dtype name
random.stateless_normal: shape seed mean stddev dtype name
random.stateless_truncated_normal: shape seed mean stddev dtype name
random.stateless_uniform: shape seed minval maxval dtype name
random.uniform: shape minval maxval dtype seed name
random_crop: value size seed name
random_gamma: shape alpha beta dtype seed name
random_normal: shape mean stddev dtype seed name
random_normal_initializer: mean stddev seed dtype
random_poisson: lam shape dtype seed name
random_shuffle: value seed name
random_uniform: shape minval maxval dtype seed name
random_uniform_initializer: minval maxval seed dtype
range: start limit delta dtype name
rank: input name
read_file: filename name
real: input name
realdiv: x y name
reciprocal: x name
recompute_grad: f
reduce_all: input_tensor axis keepdims name reduction_indices keep_dims
reduce_any: input_tensor axis keepdims name reduction_indices keep_dims
reduce_join: inputs axis keep_dims separator name reduction_indices keepdims
reduce_logsumexp: input_tensor axis keepdims name reduction_indices keep_dims
reduce_max: input_tensor axis keepdims name reduction_indices keep_dims
reduce_mean: input_tensor axis keepdims name reduction_indices keep_dims
reduce_min: input_tensor axis keepdims name reduction_indices keep_dims
reduce_prod: input_tensor axis keepdims name reduction_indices keep_dims
reduce_sum: input_tensor axis keepdims name reduction_indices keep_dims
regex_replace: input pattern rewrite replace_global name
register_tensor_conversion_function: base_type conversion_func priority
repeat: input repeats axis name
report_uninitialized_variables: var_list name
required_space_to_batch_paddings: input_shape block_shape base_paddings name
reset_default_graph:
reshape: tensor shape name
resource_variables_enabled:
resource_loader.get_data_files_path:
resource_loader.get_path_to_datafile: path
resource_loader.get_root_dir_with_all_resources:
resource_loader.load_resource: path
resource_loader.readahead_file_path: path readahead
reverse: tensor axis name
reverse_sequence: input seq_lengths seq_axis batch_axis name seq_dim batch_dim
rint: x name
nn.rnn_cell.BasicLSTMCell: num_units forget_bias state_is_tuple activation reuse name dtype
nn.rnn_cell.BasicRNNCell: num_units activation reuse name dtype
nn.rnn_cell.DeviceWrapper: cell device
nn.rnn_cell.DropoutWrapper: cell input_keep_prob output_keep_prob state_keep_prob
    variational_recurrent input_size dtype seed dropout_state_filter_visitor
nn.rnn_cell.GRUCell: num_units activation reuse kernel_initializer bias_initializer name dtype
nn.rnn_cell.LSTMCell: num_units use_peepholes cell_clip initializer num_proj proj_clip
    num_unit_shards num_proj_shards forget_bias state_is_tuple activation reuse name dtype
nn.rnn_cell.MultiRNNCell: cells state_is_tuple
nn.rnn_cell.RNNCell: trainable name dtype
nn.rnn_cell.ResidualWrapper: cell residual_fn
roll: input shift axis name
round: x name
rsqrt: x name
saturate_cast: value dtype name
scalar_mul: scalar x name
scan: fn elems initializer parallel_iterations back_prop swap_memory infer_shape reverse name
scatter_add: ref indices updates use_locking name
scatter_div: ref indices updates use_locking name
scatter_max: ref indices updates use_locking name
scatter_min: ref indices updates use_locking name
scatter_mul: ref indices updates use_locking name
scatter_nd: indices updates shape name
scatter_nd_add: ref indices updates use_locking name
scatter_nd_sub: ref indices updates use_locking name
scatter_nd_update: ref indices updates use_locking name
scatter_sub: ref indices updates use_locking name
scatter_update: ref indices updates use_locking name
searchsorted: sorted_sequence values side out_type name
segment_max: data segment_ids name
segment_mean: data segment_ids name
segment_min: data segment_ids name
segment_prod: data segment_ids name
segment_sum: data segment_ids name
self_adjoint_eig: tensor name
self_adjoint_eigvals: tensor name
sequence_mask: lengths maxlen dtype name
set_random_seed: seed
setdiff1d: x y index_dtype name
saved_model.Builder: export_dir
saved_model.build_signature_def: inputs outputs method_name
saved_model.build_tensor_info: tensor
saved_model.classification_signature_def: examples classes scores
saved_model.contains_saved_model: export_dir
saved_model.get_tensor_from_tensor_info: tensor_info graph import_scope
saved_model.is_valid_signature: signature_def
saved_model.load: sess tags export_dir import_scope safe_mode
saved_model.load_function: path signature
saved_model.main_op.main_op:
saved_model.main_op_with_restore: restore_op_name
saved_model.predict_signature_def: inputs outputs
saved_model.regression_signature_def: examples predictions
saved_model.simple_save: session export_dir inputs outputs legacy_init_op
sets.difference: a b aminusb validate_indices
sets.intersection: a b validate_indices
sets.set_size: a validate_indices
sets.set_union: a b validate_indices
shape: input name out_type
shape_n: input out_type name
sigmoid: x name
sign: x name
signal.dct: input type n axis norm name
signal.fftshift: x axes name
signal.frame: signal frame_length frame_step pad_end pad_value axis name
signal.hamming_window: window_length periodic dtype name
signal.hann_window: window_length periodic dtype name
signal.idct: input type n axis norm name
signal.ifftshift: x axes name
signal.inverse_stft: stfts frame_length frame_step fft_length window_fn name
signal.inverse_stft_window_fn: frame_step forward_window_fn name
signal.irfft: input_tensor fft_length name
signal.irfft2d: input_tensor fft_length name
signal.irfft3d: input_tensor fft_length name
signal.linear_to_mel_weight_matrix: num_mel_bins num_spectrogram_bins sample_rate lower_edge_hertz
    upper_edge_hertz dtype name
signal.mfccs_from_log_mel_spectrograms: log_mel_spectrograms name
signal.overlap_and_add: signal frame_step name
signal.rfft: input_tensor fft_length name
signal.rfft2d: input_tensor fft_length name
signal.rfft3d: input_tensor fft_length name
signal.stft: signals frame_length frame_step fft_length window_fn pad_end name
sin: x name
sinh: x name
size: input name out_type
slice: input_ begin size name
sort: values axis direction name
space_to_batch: input paddings block_size name block_shape
space_to_batch_nd: input block_shape paddings name
space_to_depth: input block_size name data_format
sparse.SparseConditionalAccumulator: dtype shape shared_name name reduction_type
sparse.expand_dims: sp_input axis name
sparse.eye: num_rows num_columns dtype name
sparse.from_dense: tensor name
sparse_add: a b threshold thresh
sparse.cross: inputs name
sparse.cross_hashed: inputs num_buckets hash_key name
sparse_matmul: a b transpose_a transpose_b a_is_sparse b_is_sparse name
quantize_v2: input min_range max_range T mode name round_mode
quantization.quantize: input min_range max_range T mode round_mode name
quantization.dequantize: input min_range max_range mode name
quantization.quantize_and_dequantize: input input_min input_max signed_input num_bits
    range_given round_mode name narrow_range
sparse_concat: axis sp_inputs name expand_nonconcat_dim concat_dim expand_nonconcat_dims
sparse_fill_empty_rows: sp_input default_value name
sparse_mask: a mask_indices name
sparse_maximum: sp_a sp_b name
sparse_merge: sp_ids sp_values vocab_size name already_sorted
sparse_minimum: sp_a sp_b name
sparse_placeholder: dtype shape name
sparse_reduce_max: sp_input axis keepdims reduction_axes keep_dims
sparse_reduce_max_sparse: sp_input axis keepdims reduction_axes keep_dims
sparse_reduce_sum: sp_input axis keepdims reduction_axes keep_dims
sparse_reduce_sum_sparse: sp_input axis keepdims reduction_axes keep_dims
sparse_reorder: sp_input name
sparse_reset_shape: sp_input new_shape
sparse_reshape: sp_input shape name
sparse_retain: sp_input to_retain
sparse_segment_mean: data indices segment_ids name num_segments
sparse_segment_sqrt_n: data indices segment_ids name num_segments
sparse_segment_sum: data indices segment_ids name num_segments
sparse_slice: sp_input start size name
sparse_softmax: sp_input name
sparse_split: keyword_required sp_input num_split axis name split_dim
sparse_tensor_dense_matmul: sp_a b adjoint_a adjoint_b name
sparse_tensor_to_dense: sp_input default_value validate_indices name
sparse_to_dense: sparse_indices output_shape sparse_values default_value validate_indices name
sparse_to_indicator: sp_input vocab_size name
sparse_transpose: sp_input perm name
split: value num_or_size_splits axis num name
sqrt: x name
square: x name
squared_difference: x y name
squeeze: input axis name squeeze_dims
stack: values axis name
stop_gradient: input name
strided_slice: input_ begin end strides begin_mask end_mask ellipsis_mask new_axis_mask
    shrink_axis_mask var name
string_join: inputs separator name
string_split: source sep skip_empty delimiter result_type name
string_strip: input name
string_to_hash_bucket: string_tensor num_buckets name input
string_to_hash_bucket_fast: input num_buckets name
string_to_hash_bucket_strong: input num_buckets key name
string_to_number: string_tensor out_type name input
strings.format: template inputs placeholder summarize name
strings.length: input name unit
strings.lower: input encoding name
strings.regex_full_match: input pattern name
strings.split: input sep maxsplit result_type source name
strings.unicode_transcode: input input_encoding output_encoding errors replacement_char
    replace_control_characters name
strings.unsorted_segment_join: inputs segment_ids num_segments separator name
strings.upper: input encoding name
substr: input pos len name unit
subtract: x y name
svd: tensor full_matrices compute_uv name
switch_case: branch_index branch_fns default name
tan: x name
tanh: x name
tensor_scatter_add: tensor indices updates name
tensor_scatter_nd_max: tensor indices updates name
tensor_scatter_nd_min: tensor indices updates name
tensor_scatter_sub: tensor indices updates name
tensor_scatter_update: tensor indices updates name
tensordot: a b axes name
summary.FileWriter: logdir graph max_queue flush_secs graph_def filename_suffix session
summary.FileWriterCache:
summary.audio: name tensor sample_rate max_outputs collections family
summary.get_summary_description: node_def
summary.histogram: name values collections family
summary.image: name tensor max_outputs collections family
summary.merge: inputs collections name
summary.merge_all: key scope name
summary.scalar: name tensor collections family
summary.tensor_summary: name tensor summary_description collections summary_metadata family
    display_name
summary.text: name tensor collections
test.Benchmark:
test.StubOutForTesting:
test.assert_equal_graph_def: actual expected checkpoint_v2 hash_table_shared_name
test.benchmark_config:
test.compute_gradient: x x_shape y y_shape x_init_value delta init_targets extra_feed_dict
test.compute_gradient_error: x x_shape y y_shape x_init_value delta init_targets extra_feed_dict
test.get_temp_dir:
test.gpu_device_name:
test.is_built_with_cuda:
test.is_gpu_available: cuda_only min_cuda_compute_capability
test.main: argv
test.test_src_dir_path: relative_path
tile: input multiples name
timestamp: name
to_complex128: x name
to_complex64: x name
to_double: x name
to_bfloat16: x name
to_float: x name
to_int32: x name
to_int64: x name
trace: x name
test.create_local_cluster: num_workers num_ps protocol worker_config ps_config
train.ClusterSpec: cluster
train.Server: server_or_cluster_def job_name task_index protocol config start
train.ChiefSessionCreator: scaffold master config checkpoint_dir checkpoint_filename_with_path
train.CheckpointSaverHook: checkpoint_dir save_secs save_steps saver checkpoint_basename scaffold
    listeners save_graph_def
train.CheckpointSaverListener:
train.FeedFnHook: feed_fn
train.FinalOpsHook: final_ops final_ops_feed_dict
train.GlobalStepWaiterHook: wait_until_step
train.LoggingTensorHook: tensors every_n_iter every_n_secs at_end formatter
train.MonitoredSession: session_creator hooks stop_grace_period_secs
train.MonitoredTrainingSession: master is_chief checkpoint_dir scaffold hooks chief_only_hooks
    save_checkpoint_secs save_summaries_steps save_summaries_secs config stop_grace_period_secs
    log_step_count_steps max_wait_secs save_checkpoint_steps summary_dir save_graph_def
train.NanLossDuringTrainingError:
train.NanTensorHook: loss_tensor fail_on_nan_loss
train.Scaffold: init_op init_feed_dict init_fn ready_op ready_for_local_init_op local_init_op
    summary_op saver copy_from_scaffold local_init_feed_dict
train.SecondOrStepTimer: every_secs every_steps
train.SessionCreator:
train.SessionManager: local_init_op ready_op ready_for_local_init_op graph recovery_wait_secs
    local_init_run_options local_init_feed_dict
train.SessionRunContext: original_args session
train.SessionRunHook:
train.SingularMonitoredSession: hooks scaffold master config checkpoint_dir stop_grace_period_secs
    checkpoint_filename_with_path
train.StepCounterHook: every_n_steps every_n_secs output_dir summary_writer
train.StopAtStepHook: num_steps last_step
train.ProfilerHook: save_steps save_secs output_dir show_dataflow show_memory
train.SummarySaverHook: save_steps save_secs output_dir summary_writer scaffold summary_op
train.Supervisor: graph ready_op ready_for_local_init_op is_chief init_op init_feed_dict
    local_init_op logdir summary_op saver global_step save_summaries_secs save_model_secs
    recovery_wait_secs stop_grace_secs checkpoint_basename session_manager summary_writer init_fn
    local_init_run_options
train.WorkerSessionCreator: scaffold master config max_wait_secs
train.summary_iterator: path
train.AdadeltaOptimizer: learning_rate rho epsilon use_locking name
train.AdagradDAOptimizer: learning_rate global_step initial_gradient_squared_accumulator_value
    l1_regularization_strength l2_regularization_strength use_locking name
train.AdagradOptimizer: learning_rate initial_accumulator_value use_locking name
train.AdamOptimizer: learning_rate beta1 beta2 epsilon use_locking name
train.Checkpoint:
train.CheckpointManager: checkpoint directory max_to_keep keep_checkpoint_every_n_hours
    checkpoint_name
train.Coordinator: clean_stop_exception_types
train.ExponentialMovingAverage: decay num_updates zero_debias name
train.FtrlOptimizer: learning_rate learning_rate_power initial_accumulator_value
    l1_regularization_strength l2_regularization_strength use_locking name accum_name
    linear_name l2_shrinkage_regularization_strength
train.GradientDescentOptimizer: learning_rate use_locking name
train.LooperThread: coord timer_interval_secs target args kwargs
train.MomentumOptimizer: learning_rate momentum use_locking name use_nesterov
train.Optimizer: use_locking name
train.ProximalAdagradOptimizer: learning_rate initial_accumulator_value
    l1_regularization_strength l2_regularization_strength use_locking name
train.ProximalGradientDescentOptimizer: learning_rate l1_regularization_strength
    l2_regularization_strength use_locking name
train.QueueRunner: queue enqueue_ops close_op cancel_op queue_closed_exception_types
    queue_runner_def import_scope
train.RMSPropOptimizer: learning_rate decay momentum epsilon use_locking centered name
train.NewCheckpointReader: filepattern
train.Saver: var_list reshape sharded max_to_keep keep_checkpoint_every_n_hours name
    restore_sequentially saver_def builder defer_build allow_empty write_version pad_step_number
    save_relative_paths filename
train.VocabInfo:
train.checkpoint_exists: checkpoint_prefix
train.export_meta_graph: filename meta_info_def graph_def saver_def collection_list as_text graph
    export_scope clear_devices clear_extraneous_savers strip_default_attrs save_debug_info
train.generate_checkpoint_state_proto: save_dir model_checkpoint_path all_model_checkpoint_paths
    all_model_checkpoint_timestamps last_preserved_timestamp
train.get_checkpoint_mtimes: checkpoint_prefixes
train.get_checkpoint_state: checkpoint_dir latest_filename
train.import_meta_graph: meta_graph_or_file clear_devices import_scope
train.latest_checkpoint: checkpoint_dir latest_filename
train.list_variables: ckpt_dir_or_file
train.load_checkpoint: ckpt_dir_or_file
train.load_variable: ckpt_dir_or_file name
train.remove_checkpoint: checkpoint_prefix checkpoint_format_version meta_graph_suffix
train.update_checkpoint_state: save_dir model_checkpoint_path all_model_checkpoint_paths
    latest_filename all_model_checkpoint_timestamps last_preserved_timestamp
train.basic_train_loop: supervisor train_step_fn args kwargs master
train.experimental.DynamicLossScale: initial_loss_scale increment_period multiplier
train.experimental.FixedLossScale: loss_scale_value
train.experimental.LossScale:
train.experimental.MixedPrecisionLossScaleOptimizer: opt loss_scale
train.replica_device_setter: ps_tasks ps_device worker_device merge_devices cluster ps_ops
    ps_strategy
train.SyncReplicasOptimizer: opt replicas_to_aggregate total_num_replicas variable_averages
    variables_to_average use_locking name
train.add_queue_runner: qr collection
train.batch: tensors batch_size num_threads capacity enqueue_many shapes dynamic_pad
    allow_smaller_final_batch shared_name name
train.batch_join: tensors_list batch_size capacity enqueue_many shapes dynamic_pad
    allow_smaller_final_batch shared_name name
train.input_producer: input_tensor element_shape num_epochs shuffle seed capacity shared_name
    summary_name name cancel_op
train.limit_epochs: tensor num_epochs name
train.match_filenames_once: pattern name
train.maybe_batch: tensors keep_input batch_size num_threads capacity enqueue_many shapes
    dynamic_pad allow_smaller_final_batch shared_name name
train.maybe_batch_join: tensors_list keep_input batch_size capacity enqueue_many shapes
    dynamic_pad allow_smaller_final_batch shared_name name
train.maybe_shuffle_batch: tensors batch_size capacity min_after_dequeue keep_input num_threads
    seed enqueue_many shapes allow_smaller_final_batch shared_name name
train.maybe_shuffle_batch_join: tensors_list batch_size capacity min_after_dequeue keep_input seed
    enqueue_many shapes allow_smaller_final_batch shared_name name
train.range_input_producer: limit num_epochs shuffle seed capacity shared_name name
train.shuffle_batch: tensors batch_size capacity min_after_dequeue num_threads seed enqueue_many
    shapes allow_smaller_final_batch shared_name name
train.shuffle_batch_join: tensors_list batch_size capacity min_after_dequeue seed enqueue_many
    shapes allow_smaller_final_batch shared_name name
train.slice_input_producer: tensor_list num_epochs shuffle seed capacity shared_name name
train.string_input_producer: string_tensor num_epochs shuffle seed capacity shared_name name
    cancel_op
train.start_queue_runners: sess coord daemon start collection
train.assert_global_step: global_step_tensor
train.checkpoints_iterator: checkpoint_dir min_interval_secs timeout timeout_fn
train.cosine_decay: learning_rate global_step decay_steps alpha name
train.cosine_decay_restarts: learning_rate global_step first_decay_steps t_mul m_mul alpha name
train.create_global_step: graph
train.exponential_decay: learning_rate global_step decay_steps decay_rate staircase name
train.get_global_step: graph
train.get_or_create_global_step: graph
train.global_step: sess global_step_tensor
train.init_from_checkpoint: ckpt_dir_or_file assignment_map
train.inverse_time_decay: learning_rate global_step decay_steps decay_rate staircase name
train.linear_cosine_decay: learning_rate global_step decay_steps num_periods alpha beta name
train.natural_exp_decay: learning_rate global_step decay_steps decay_rate staircase name
train.noisy_linear_cosine_decay: learning_rate global_step decay_steps initial_variance
    variance_decay num_periods alpha beta name
train.piecewise_constant: x boundaries values name
train.piecewise_constant_decay: x boundaries values name
train.write_graph: graph_or_graph_def logdir name as_text
train.polynomial_decay: learning_rate global_step decay_steps end_learning_rate power cycle name
train.warm_start: ckpt_to_initialize_from vars_to_warm_start var_name_to_vocab_info
    var_name_to_prev_var_name
trainable_variables: scope
transpose: a perm name conjugate
truediv: x y name
truncated_normal: shape mean stddev dtype seed name
truncated_normal_initializer: mean stddev seed dtype
truncatediv: x y name
truncatemod: x y name
tuple: tensors name control_inputs
uniform_unit_scaling_initializer: factor seed dtype
unique: x out_idx name
unique_with_counts: x out_idx name
unravel_index: indices dims name
unsorted_segment_max: data segment_ids num_segments name
unsorted_segment_mean: data segment_ids num_segments name
unsorted_segment_min: data segment_ids num_segments name
unsorted_segment_prod: data segment_ids num_segments name
unsorted_segment_sqrt_n: data segment_ids num_segments name
unsorted_segment_sum: data segment_ids num_segments name
unstack: value num axis name
variable_axis_size_partitioner: max_shard_bytes axis bytes_per_string_element max_shards
variable_creator_scope: variable_creator
variable_op_scope: values name_or_scope default_name initializer regularizer caching_device
    partitioner custom_getter reuse dtype use_resource constraint
variable_scope: name_or_scope default_name values initializer regularizer caching_device partitioner
    custom_getter reuse dtype use_resource constraint auxiliary_name_scope
vectorized_map: fn elems
variables_initializer: var_list name
variance_scaling_initializer: scale mode distribution seed dtype
verify_tensor_all_finite: t msg name x message
where: condition x y name
where_v2: condition x y name
while_loop: cond body loop_vars shape_invariants parallel_iterations back_prop swap_memory name
    maximum_iterations return_same_structure
wrap_function: fn signature name
write_file: filename contents name
zeros: shape dtype name
zeros_initializer: dtype
zeros_like: tensor dtype name optimize
zeta: x q name
io.gfile.copy: src dst overwrite
io.gfile.exists: path
io.gfile.glob: pattern
io.gfile.isdir: path
io.gfile.listdir: path
io.gfile.makedirs: path
io.gfile.mkdir: path
io.gfile.remove: path
io.gfile.rename: src dst overwrite
io.gfile.rmtree: path
io.gfile.stat: path
io.gfile.walk: top topdown onerror
test.TestCase: methodName
test.is_built_with_gpu_support:
test.is_built_with_rocm:
test.is_built_with_xla:
Module: name
io.decode_and_crop_jpeg: contents crop_window channels ratio fancy_upscaling
    try_recover_truncated acceptable_fraction dct_method name
io.extract_jpeg_shape: contents output_type name
io.is_jpeg: contents name
contrib.staging.MapStagingArea: dtypes shapes names shared_name ordered capacity memory_limit
contrib.staging.StagingArea: dtypes shapes names shared_name capacity memory_limit
contrib.tensorboard.plugins.projector.visualize_embeddings: summary_writer config
ConditionalAccumulator: dtype shape shared_name name reduction_type
ConditionalAccumulatorBase: dtype shape accumulator_ref
SparseConditionalAccumulator: dtype shape shared_name name reduction_type
FixedLengthRecordReader: record_bytes header_bytes footer_bytes hop_bytes name encoding
IdentityReader: name
ReaderBase: reader_ref supports_serialize
TFRecordReader: name options
TextLineReader: skip_header_lines name
WholeFileReader: name
deserialize_many_sparse: serialized_sparse dtype rank name
io.decode_json_example: json_examples name
io.parse_sequence_example: serialized context_features sequence_features example_names name
io.match_filenames_once: pattern name
parse_example: serialized features name example_names
parse_single_example: serialized features name example_names
parse_single_sequence_example: serialized context_features sequence_features example_name name
parse_tensor: serialized out_type name
python_io.TFRecordOptions: compression_type flush_mode input_buffer_size output_buffer_size
    window_bits compression_level compression_method mem_level compression_strategy
python_io.TFRecordWriter: path options
python_io.tf_record_iterator: path options
serialize_many_sparse: sp_input name out_type
serialize_sparse: sp_input name out_type
serialize_tensor: tensor name
make_ndarray: tensor
import_graph_def: graph_def input_map return_elements name op_dict producer_op_list
make_tensor_proto: values dtype shape verify_shape allow_broadcast
contrib.distribute.AllReduceCrossDeviceOps: all_reduce_alg num_packs agg_small_grads_max_bytes
    agg_small_grads_max_group
contrib.distribute.CollectiveAllReduceStrategy: num_gpus_per_worker communication
contrib.distribute.CrossDeviceOps:
contrib.distribute.DistributeConfig:
contrib.distribute.MirroredStrategy: devices num_gpus num_gpus_per_worker cross_device_ops
    auto_shard_dataset cross_tower_ops
contrib.distribute.OneDeviceStrategy: device
contrib.distribute.ParameterServerStrategy: num_gpus_per_worker
contrib.distribute.ReplicaContext: strategy replica_id_in_sync_group
contrib.distribute.get_cross_replica_context:
contrib.distribute.get_loss_reduction:
contrib.distribute.get_replica_context:
contrib.distribute.get_strategy:
contrib.distribute.has_strategy:
contrib.distribute.in_cross_replica_context:
contrib.distribute.require_replica_context: replica_ctx
contrib.distribute.run_standard_tensorflow_server: session_config
distribute.CrossDeviceOps:
distribute.HierarchicalCopyAllReduce: num_packs
distribute.InputContext: num_input_pipelines input_pipeline_id num_replicas_in_sync
distribute.MirroredStrategy: devices cross_device_ops
distribute.NcclAllReduce: num_packs
distribute.OneDeviceStrategy: device
distribute.ReductionToOneDevice: reduce_to_device accumulation_fn
distribute.ReplicaContext: strategy replica_id_in_sync_group
distribute.Server: server_or_cluster_def job_name task_index protocol config start
distribute.Strategy: extended
distribute.StrategyExtended: container_strategy
distribute.experimental_set_strategy: strategy
distribute.get_loss_reduction:
distribute.get_replica_context:
distribute.get_strategy:
distribute.has_strategy:
distribute.in_cross_replica_context:
distribute.InputReplicationMode:
distribute.ReduceOp:
distribute.experimental.CollectiveCommunication:
distribute.cluster_resolver.ClusterResolver:
distribute.cluster_resolver.GCEClusterResolver:
distribute.cluster_resolver.KubernetesClusterResolver:
distribute.cluster_resolver.SimpleClusterResolver: cluster_spec master task_type task_id
    environment num_accelerators rpc_layer
distribute.cluster_resolver.SlurmClusterResolver:
distribute.cluster_resolver.TFConfigClusterResolver: task_type task_id rpc_layer environment
distribute.cluster_resolver.TPUClusterResolver:
distribute.cluster_resolver.UnionResolver:
distribute.experimental.CentralStorageStrategy: compute_devices parameter_device
distribute.experimental.MultiWorkerMirroredStrategy: communication cluster_resolver
distribute.experimental.ParameterServerStrategy: cluster_resolver
"""

# Names that TensorFlow lacks, or has with uninformative parameters.
OURS = """
autograph.experimental.Feature contrib.eager.ResourceVariable
AUTO_REUSE AggregationMethod Attr Call ConfigProto DType Elementwise GPUOptions GraphKeys
GraphOptions
HostOnly OpDef Operation OptimizerOptions Reduction RunMetadata RunOptions
SessionOptions Sized Source Tensor UnconnectedGradients VariableAggregation
VariableSynchronization compat.v2.VariableAggregation config.experimental.Watcher
as_tensorflow explain_variables group initialize_all_variables
flags.DuplicateFlagError flags.Error flags.FLAGS flags.Flag flags.FlagValues
flags.IllegalFlagValueError flags.UnparsedFlagAccessError flags.UnrecognizedFlagError
flags.ValidationError
initialize_local_variables initialize_variables initializers.Initializer register_kernel
FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature
python_io.TFRecordCompressionType
SparseTensorValue image.ResizeMethod train.ProgressHook train.SessionRunArgs
train.SessionRunValues
register_op errors.InaccessibleTensorError errors.invalid_argument
errors.OperatorNotAllowedInGraphError
losses.Reduction nn.rnn_cell.LSTMStateTuple contrib.seq2seq.AttentionWrapperState
contrib.seq2seq.BasicDecoderOutput contrib.seq2seq.BeamSearchDecoderOutput
contrib.seq2seq.BeamSearchDecoderState contrib.seq2seq.FinalBeamSearchDecoderOutput
"""

# Parameters that we take beyond TensorFlow's, after all of them.
MORE = {"shape": ["optimize"]}


def face_name(module: types.ModuleType, name: str) -> str:
    path = module.__name__.removeprefix("gpugraph.")
    for room in ("api.", "base.", "library.", "platform."):
        path = path.removeprefix(room)
    paths = {"rnn_cell": "nn.rnn_cell", "gfile_v2": "io.gfile"}
    paths |= {"v2": "compat.v2", "v2.nn_v2": "compat.v2.nn"}
    paths |= {"data.data_experimental": "data.experimental"}
    paths |= {"shared.python_io": "python_io", "shared.queue": "queue"}
    paths |= {"contrib.bijectors": "contrib.distributions.bijectors"}
    paths |= {"autograph.autograph_experimental": "autograph.experimental"}
    paths |= {
        "contrib.autograph_names": "contrib.autograph",
        "contrib.eager_names": "contrib.eager",
        "contrib.image_names": "contrib.image",
        "contrib.nn_names": "contrib.nn",
        "contrib.resampler_names": "contrib.resampler",
        "contrib.sparsemax_names": "contrib.sparsemax",
    }
    paths |= {"config.rewriting_options": "config.optimizer"}
    paths |= {"config.threading_settings": "config.threading", "keras.keras_utils": "keras.utils"}
    paths |= {f"keras.keras_{name}": f"keras.{name}" for name in KERAS_MODULES}
    path = paths.get(path, path)
    return name if module is tf else f"{path}.{name}"


@functools.cache
def names_of(module: types.ModuleType) -> tuple[str, ...]:
    """Return the names that a module defines, or re-exports as `name as name`, without an
    underscore.
    """
    if not hasattr(module, "__file__"):  # made of a table
        return tuple(name for name in dir(module) if not name.startswith("_"))
    names: dict[str, None] = {}
    statements = ast.parse(inspect.getsource(module)).body
    deferred = [s.body for s in statements if isinstance(s, ast.If)]  # `if TYPE_CHECKING`
    for statement in (*statements, *itertools.chain(*deferred)):
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names[name] = None
            case ast.Assign(targets=targets):
                names |= dict.fromkeys(t.id for t in targets if isinstance(t, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                names[name] = None
            case ast.ImportFrom(module=str(source), names=[ast.alias(name="*")]):
                names |= dict.fromkeys(names_of(importlib.import_module(source)))
            case ast.ImportFrom(names=aliases):
                names |= dict.fromkeys(a.name for a in aliases if a.asname == a.name)
    return tuple(name for name in names if not name.startswith("_"))


def public(modules: tuple[types.ModuleType, ...]) -> dict[str, object]:
    """Return every public name of these modules that is no module."""
    return {
        face_name(module, name): value
        for module in modules
        for name, value in [(name, getattr(module, name)) for name in names_of(module)]
        if not inspect.ismodule(value)
    }


def expected_signatures() -> dict[str, list[str]]:
    lines = re.sub(r"\n +", " ", SIGNATURES.strip()).splitlines()
    return {name: names.split() for name, _, names in (line.partition(":") for line in lines)}


KERAS_MODULES = ("constraints", "experimental", "initializers", "regularizers")
"""Files of `gpugraph.keras` that are modules of `tf.keras` under another name."""


def parameters(value: object) -> list[str]:
    """Return the names of the positional parameters, without self."""
    target = value.__init__ if inspect.isclass(value) else value
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
    found = inspect.signature(target).parameters.values()
    return [each.name for each in found if each.kind in kinds and each.name != "self"]


@pytest.mark.parametrize("module", FACES, ids=lambda module: module.__name__)
def test_nothing_else_is_public(module):
    others = {
        name: value
        for name, value in vars(module).items()
        if name not in names_of(module) and not name.startswith("_")
    }
    strangers = [
        name
        for name, value in others.items()
        if not (inspect.ismodule(value) and value.__name__.startswith("gpugraph."))
    ]
    assert strangers == []


def test_faces_define_nothing():
    defined = [
        face_name(module, name)
        for module in FACES
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__
    ]
    assert defined == []


def test_numpy_stays_inside():
    leaks = [
        name
        for name, value in public(FACES + ROOMS).items()
        if value is np or (getattr(value, "__module__", None) or "").partition(".")[0] == "numpy"
    ]
    assert leaks == []


def test_functions_and_classes_have_docstrings():
    silent = [
        name
        for name, value in public(FACES + ROOMS).items()
        if inspect.isclass(value) or inspect.isroutine(value)
        if not isinstance(value, types.GenericAlias)  # a class to inspect, on Python 3.10
        if not (value.__doc__ or "").strip()
    ]
    assert silent == []


@pytest.mark.parametrize(("name", "expected"), expected_signatures().items())
def test_signatures_are_tensorflows(name, expected):
    value = functools.reduce(getattr, name.split("."), tf)
    assert parameters(value) == expected + MORE.get(name, [])


def test_every_function_and_class_has_its_line():
    known = {*expected_signatures(), *OURS.split()}
    named = public((*FACES, *(room for room in ROOMS if room not in OURS_ALONE)))
    by_identity = {id(value) for name, value in named.items() if name in known}
    unknown = [
        name
        for name, value in named.items()
        if name not in known and callable(value) and id(value) not in by_identity
        if not isinstance(value, tf.DType)
    ]
    assert unknown == []


def test_aliases_are_the_same_objects():
    assert tf.nn.sigmoid is tf.sigmoid is tf.math.sigmoid
    assert tf.random.uniform is tf.random_uniform
    assert tf.initializers.zeros is tf.zeros_initializer
    assert tf.linalg.transpose is tf.matrix_transpose
    assert tf.math.divide_no_nan is tf.div_no_nan
    assert tf.initialize_all_variables is tf.global_variables_initializer
    assert tf.errors.OpError is tf.OpError
    assert tf.dtypes.cast is tf.cast
    assert tf.dtypes.as_string is tf.strings.as_string
    assert tf.dtypes.complex is tf.complex
    assert tf.dtypes.saturate_cast is tf.saturate_cast
    assert tf.io.decode_csv is tf.decode_csv
    assert tf.io.decode_png is tf.image.decode_png
    assert tf.io.read_file is tf.read_file
    assert tf.io.gfile.GFile is tf.gfile.GFile
    assert tf.initializers.global_variables is tf.global_variables_initializer
    assert tf.initializers.local_variables is tf.local_variables_initializer
    assert tf.initializers.variables is tf.variables_initializer


def test_the_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", tf.__version__)


def test_every_public_module_is_one_of_tensorflow():
    """It supports `import tensorflow.keras.losses` too, except for modules that are ours alone."""
    known = {id(module) for module in TENSORFLOW_MODULES.values()}
    assert [m.__name__ for m in (*FACES[1:], *ROOMS) if id(m) not in known] == [
        module.__name__ for module in OURS_ALONE
    ]


@pytest.mark.parametrize("path", sorted(PUBLIC_MODULES))
def test_public_paths_can_be_imported(path):
    """`import gpugraph.nn`, `from gpugraph import nn` and `from gpugraph.nn import relu` work."""
    module = importlib.import_module(path)
    assert module is PUBLIC_MODULES[path]
    parent, _, name = path.rpartition(".")
    assert getattr(importlib.import_module(parent), name, module) is module
    assert names_of(module)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("keras.engine.network", "Network"),
        ("train.optimizers.adam", "AdamOptimizer"),
        ("variables.variable", "Variable"),
        ("contrib_layers.fully_connected", "fully_connected"),
    ],
)
def test_pickles_name_classes_by_the_paths_of_before_folders_moved(path: str, name: str) -> None:
    found = pickle.loads(f"cgpugraph.{path}\n{name}\n.".encode())
    assert found.__module__.startswith(("gpugraph.library.", "gpugraph.building."))
    assert found.__module__.endswith(f".{path.partition('.')[2]}")
    assert found.__name__ == name
