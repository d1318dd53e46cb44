"""Names that `public_names.py` finds in TensorFlow 2.21's compat.v1 and gpugraph lacks, and why.

The reasons for names are those that users read; those for arguments are here.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from gpugraph.tensorflow_import.left_out import instead_of

_LATER_ARGUMENTS = """
*gather_nd: bad_indices_policy
*scatter_nd: bad_indices_policy
*tensor_scatter_*: bad_indices_policy
*diag*: align
*matmul: output_type grad_a grad_b
*top_k: index_type
*embedding_lookup_sparse: allow_fast_lookup
*lin*space: axis
*segment_*: sparse_gradient
fill: layout
image.non_max_suppression_padded: sorted_input canonicalized_coordinates tile_size
image.adjust_jpeg_quality: dct_method
image.ssim: return_index_map
keras.applications.*: classifier_activation
keras.backend.rnn: return_all_outputs
keras.backend.sparse_categorical_crossentropy: ignore_class
keras.*: use_legacy_format
keras.Input: type_spec optional
keras.callbacks.CallbackList: add_history add_progbar model
keras.callbacks.EarlyStopping: start_from_epoch
keras.callbacks.ModelCheckpoint: options initial_value_threshold
keras.layers.AbstractRNNCell: dynamic
keras.layers.Attention: score_mode
keras.layers.Conv*D: groups
keras.layers.ConvLSTM2D: return_state
keras.layers.DepthwiseConv2D: dilation_rate
keras.layers.Embedding: sparse
keras.layers.Gaussian*: seed
keras.layers.Global*Pool*: keepdims
keras.layers.Input: type_spec optional
keras.layers.InputLayer: type_spec optional
keras.layers.InputSpec: allow_last_axis_squeeze name optional
keras.layers.Layer: dynamic
keras.layers.Softmax: robust_masking
keras.losses.*ategorical*rossentropy: axis ignore_class
keras.losses.*inary*rossentropy: axis
keras.metrics.*ategorical*rossentropy: axis ignore_class
keras.metrics.*inary*rossentropy: axis
keras.metrics.*Sensitivity*: class_id
keras.metrics.AUC: multi_label num_labels label_weights from_logits
keras.metrics.MeanIoU: ignore_class sparse_y_true sparse_y_pred axis
keras.metrics.MeanTensor: shape
keras.optimizers.Ftrl: beta
keras.optimizers.Optimizer: gradient_aggregator gradient_transformers
keras.regularizers.l[12]: l1 l2
keras.utils.*serialize_keras_object: config safe_mode obj
keras.utils.plot_model: show_dtype layer_range show_layer_activations show_trainable
layers.InputSpec: allow_last_axis_squeeze name optional
linalg.LinearOperator: parameters
linalg.tridiagonal_solve: perturb_singular
lookup.*Table: experimental_is_anonymous
lookup.TextFileInitializer: value_index_offset
map_fn: fn_output_signature
nn.ctc_greedy_decoder: blank_index
nn.fused_batch_norm: exponential_avg_factor
nn.swish: beta
numpy_function: stateful
dequantize: axis narrow_range dtype
quantize_v2: axis narrow_range ensure_minimum_range
quantize: axis narrow_range ensure_minimum_range
quantization.dequantize: axis narrow_range dtype
quantization.quantize: axis narrow_range ensure_minimum_range
quantization.quantize_and_dequantize: axis
ones: layout
random.stateless_*: alg
raw_ops.*Ftrl*: multiply_linear_by_lr
raw_ops.AssignVariableOp: validate_shape
raw_ops.BatchMatMul*: grad_x grad_y
raw_ops.CTCGreedyDecoder: blank_index
raw_ops.CropAndResizeGradBoxes: method
raw_ops.FusedBatchNorm*: exponential_avg_factor
raw_ops.GatherNd: bad_indices_policy
raw_ops.InitializeTableFromTextFile*: offset
raw_ops.MatMul: grad_a grad_b
raw_ops.MaxPool*: explicit_paddings
raw_ops.MergeV2Checkpoints: allow_missing_files
raw_ops.Dequantize: axis narrow_range dtype
raw_ops.QuantizeAndDequantizeV[23]: axis
raw_ops.QuantizeV2: axis narrow_range ensure_minimum_range
raw_ops.*Scatter*: bad_indices_policy
raw_ops.SparseSegment*: sparse_gradient
raw_ops.TopKV2: index_type
raw_ops.TridiagonalSolve: perturb_singular
raw_ops.VarHandleOp: debug_name allowed_devices
saved_model.*build_signature_def: defaults
data.*Dataset: name exclude_cols rerandomize_each_iteration
data.experimental.choose_from_datasets: stop_on_empty_dataset
data.experimental.ignore_errors: log_warning
data.experimental.make_csv_dataset: encoding
data.experimental.make_saveable_from_iterator: external_state_policy
data.experimental.parse_example_dataset: deterministic
data.experimental.sample_from_datasets: stop_on_empty_dataset
feature_column.*embedding_column*: use_safe_embedding_lookup
function: jit_compile reduce_retracing experimental_*
keras.experimental.CosineDecay: warmup_target warmup_steps
keras.layers.DenseFeatures: partitioner
keras.preprocessing.image.*: keep_aspect_ratio ignore_class_split
keras.preprocessing.image.*brightness*: scale
keras.preprocessing.text.*: analyzer
raw_ops.*Dataset*: metadata replicate_on_split force_synchronous use_unbounded_threadpool is_files
raw_ops.Collective[BG]*: timeout_seconds
raw_ops.DatasetCardinality: cardinality_options
raw_ops.DatasetToSingleElement: metadata
raw_ops.EagerPyFunc: is_async
raw_ops.*IgnoreErrorsDataset: log_warning
sparse.cross: separator
train.CheckpointManager: step_counter checkpoint_interval init_fn last_checkpoint_step
train.*Optimizer: use_own_namescope_for_non_slot_vars beta
vectorized_map: fallback_to_while_loop warn
zeros: layout
"""
"""Arguments that TensorFlow has since 1.15."""

_OWN_ARGUMENTS = """
*cross_entropy_with_logits: _sentinel
convert_to_tensor: as_ref
raw_ops.BiasAddV1: data_format
errors.UnknownError: error_code
keras.activations.exponential: name
keras.activations.sigmoid: name
keras.activations.tanh: name
keras.applications.vgg*.preprocess_input: mode
keras.layers.GRU*: implementation
keras.layers.LSTM*: implementation
keras.layers.LayerNormalization: trainable name
keras.layers.A[dv][de]*: trainable name dtype
keras.layers.M[aiu][xnl]*: trainable name dtype
keras.layers.Subtract: trainable name dtype
keras.losses.*ategorical*rossentropy: axis
keras.metrics.*ategorical*rossentropy: axis
keras.models.save_model: include_optimizer signatures
keras.regularizers.l[12]: l
keras.utils.deserialize_keras_object: identifier module_objects printable_module_name
keras.utils.serialize_keras_object: instance
shape: optimize
autograph.experimental.set_loop_options: back_prop
data.Dataset: variant_tensor spec inputs
data.experimental.DatasetStructure: version_2
function: experimental_*
keras.preprocessing.text.Tokenizer: document_count
raw_ops.CropAndResizeGradBoxes: method
raw_ops.Experimental*Dataset: stop_on_empty_dataset use_default_device
raw_ops.FixedLengthRecordReader: encoding
saved_model.*load: safe_mode
"""
"""Arguments of 1.15 that TensorFlow no longer has, or hides, and those of gpugraph."""


_RENAMED_SINCE = {
    "config.experimental.set_virtual_device_configuration": ("virtual_devices", "logical_devices"),
    "data.experimental.OptionalStructure": ("value_structure", "element_spec"),
    "keras.preprocessing.text.one_hot": ("text", "input_text"),
    "keras.preprocessing.text.text_to_word_sequence": ("text", "input_text"),
}
"""Arguments of 1.15, with their names in later versions."""

_REORDERED_SINCE = ("raw_ops.Iterator", "raw_ops.IteratorV2")
_REORDERED_SINCE += ("raw_ops.OneShotIterator", "raw_ops.OptionsDataset")
"""Raw ops whose attributes are in another order here; they are passed by name."""

_ARGUMENTS_LEFT_OUT = """
contrib.eager.make_template: create_graph_function_
contrib.graph_editor.TransformerInfo: info
contrib.eager.Variable: distribute_strategy dtype variable_def
"""
"""Arguments of 1.15 that gpugraph lacks, or has in another order: they concern eager execution.

A TransformerInfo is only returned by copies of graphs.
"""


def is_reordered(name: str) -> bool:
    """Return whether the arguments of a raw op are in another order than TensorFlow's."""
    return name in _REORDERED_SINCE


def renamed_arguments(name: str, arguments: list[str]) -> list[str]:
    """Return the arguments of a function of 1.15 with their names in later versions."""
    old, new = _RENAMED_SINCE.get(name, ("", ""))
    return [new if argument == old else argument for argument in arguments]


def arguments_left_out(name: str) -> set[str]:
    """Return the arguments of a function of 1.15 that gpugraph lacks for a reason."""
    return _matching(name, _read(_ARGUMENTS_LEFT_OUT))


def _read(text: str) -> dict[str, set[str]]:
    pairs = (line.partition(": ") for line in text.strip().splitlines())
    return {pattern: set(arguments.split()) for pattern, _, arguments in pairs}


def _matching(name: str, rows: dict[str, set[str]]) -> set[str]:
    return set().union(*(value for key, value in rows.items() if fnmatchcase(name, key)))


def without(arguments: list[str], patterns: set[str]) -> list[str]:
    """Return the arguments that match none of the patterns."""
    return [x for x in arguments if not any(fnmatchcase(x, pattern) for pattern in patterns)]


def name_reason(name: str) -> str:
    """Why a name is not here; nothing where there is no reason."""
    return instead_of(name)


def left_out_arguments(name: str) -> set[str]:
    """Return the arguments of a function that TensorFlow has since 1.15."""
    return _matching(name, _read(_LATER_ARGUMENTS))


def own_arguments(name: str) -> set[str]:
    """Return the arguments of a function that only gpugraph has."""
    return _matching(name, _read(_OWN_ARGUMENTS))
