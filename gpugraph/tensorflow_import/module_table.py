"""TensorFlow's modules that are not public modules of this package, and the sources of their names.

A row is a path relative to `tensorflow` and the sources that are searched for a name, in this
order:

    name=target     one name: a public path (`tf.nn.relu`), a path of this package
                    (`gpugraph.base.nest.flatten`), another row (`@python.util.nest`), or a text
    tf, tf.nn       all names of a public module
    gen             all declared ops, by their names in snake case: `mat_mul`
    tf.nn/          a tree: the public module and all modules below it, by the same names

A path that ends with a list of names in parentheses is a row for each of these names. An indented
line continues the previous line. Public modules need no row. A module must have every name of
TensorFlow's module, and may have more names.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gpugraph.tensorflow_import.contrib_names.module_table_of_contrib import ROWS_OF_CONTRIB
from gpugraph.tensorflow_import.module_rows.rows_of_exports import ROWS_OF_EXPORTS
from gpugraph.tensorflow_import.module_rows.rows_of_private_names import ROWS_OF_PRIVATE_NAMES
from gpugraph.tensorflow_import.module_table_of_libraries import ROWS_OF_LIBRARIES
from gpugraph.tensorflow_import.old_keras.module_table_of_keras import ROWS_OF_KERAS

VERSION = "1.15.5"
"""The value of `tf.__version__` for programs; some programs compare it."""

_ROWS = f"""
: __version__='{VERSION} VERSION='{VERSION} pywrap_tensorflow=@python.pywrap_tensorflow
version: VERSION='{VERSION}
raw_ops: tf.raw_ops
compat.v1: tf/
_api.v1: tf/
"""

_PYTHON = """
python: tf
python.client:
python.client.device_lib: list_local_devices=gpugraph.devices.list_local_devices
python.client.timeline: gpugraph.inspection.timeline
python.client.session: tf BaseSession=gpugraph.session.BaseSession
    register_session_run_conversion_functions=gpugraph.session.register_session_run_conversion_functions
python.autograph: tf.contrib.autograph
python.autograph.(core.converter impl.api): tf.contrib.autograph
    tf_convert=gpugraph.building.autograph.function_conversion.tf_convert
python.autograph.core.ag_ctx: gpugraph.graph.client.autograph_status
python.autograph.lang.directives: tf.contrib.autograph
python.eager.def_function: function=tf.function
    Function=gpugraph.building.function_calls.polymorphic_function.Function
python.eager.function: defun=gpugraph.building.function_calls.polymorphic_function.defun
    Function=gpugraph.building.function_calls.polymorphic_function.Function
    ConcreteFunction=gpugraph.building.function_calls.concrete_function.ConcreteFunction
python.data: tf.data
python.data.experimental: tf.data.experimental
python.data.experimental.ops: tf.data.experimental
python.data.experimental.ops.(batching cardinality counter enumerate_ops error_ops
    get_single_element grouping interleave_ops iterator_ops optimization optimization_options
    parsing_ops prefetching_ops random_ops readers resampling scan_ops shuffle_ops sleep
    stats_aggregator stats_ops stats_options take_while_ops threading_options unique
    writers): tf.data.experimental
python.data.ops: tf.data
python.data.ops.dataset_ops: tf.data gpugraph.library.data.dataset_versions
    gpugraph.library.data.dataset_base tf.data.experimental
python.data.ops.iterator_ops: tf.data gpugraph.library.data.iterators tf.data.experimental
python.data.ops.multi_device_iterator_ops: gpugraph.library.data.saved_iterators
python.data.ops.optional_ops: tf.data.experimental gpugraph.library.data.data_optional
python.data.ops.readers: tf.data gpugraph.library.data.file_datasets
python.data.util: tf.data
python.data.util.nest: gpugraph.library.data.data_nest
python.data.util.structure: gpugraph.library.data.element_structure tf.data.experimental
python.eager.context: gpugraph.building.compatibility.graph_mode tf
python.feature_column: tf.feature_column
python.feature_column.(feature_column feature_column_v2 feature_column_lib sequence_feature_column):
    tf.feature_column gpugraph.tensorflow_import.private_feature_columns
    gpugraph.library.feature_column.sequence_columns
    DenseFeatures=gpugraph.library.keras.layers.feature_layers.DenseFeatures
    SequenceFeatures=tf.keras.experimental.SequenceFeatures
    LinearModel=gpugraph.library.keras.training.linear_feature_model.LinearFeatureModel
    _LinearModelLayer=gpugraph.library.keras.layers.feature_layers.LinearFeatures
    _BaseFeaturesLayer=gpugraph.library.keras.layers.feature_layers.ColumnsLayer
    gpugraph.library.keras.feature_column_configs
python.feature_column.dense_features:
    DenseFeatures=gpugraph.library.keras.layers.feature_layers.DenseFeatures
python.feature_column.dense_features_v2:
    DenseFeatures=gpugraph.library.keras.layers.feature_layers.DenseFeaturesV2
python.feature_column.serialization: gpugraph.library.keras.feature_column_configs
python.feature_column.utils: gpugraph.tensorflow_import.private_feature_columns
python.framework.common_shapes: gpugraph.ops.framework.shape_functions
    broadcast_shape=gpugraph.base.shapes.broadcast_shapes
python.framework.auto_control_deps:
    gpugraph.building.control_flow.automatic_control_dependencies
python.framework.func_graph: gpugraph.graph.functions.func_graph
python.framework.function: gpugraph.building.function_calls.defined_function tf
python.framework.(constant_op importer indexed_slices load_library op_def_library): tf
python.framework.tensor_spec: tf BoundedTensorSpec=tf.contrib.framework.BoundedTensorSpec
python.framework.type_spec: gpugraph.graph.client.type_spec
python.framework.device: DeviceSpec=tf.DeviceSpec
python.framework.dtypes: tf.dtypes tf
python.framework.(errors errors_impl): tf.errors
python.framework.graph_util: tf.graph_util tf
python.framework.meta_graph: gpugraph.building.graph_files.meta_graph_export
    gpugraph.building.graph_files.meta_graph_import tf.train
python.framework.ops: tf gpugraph.tensorflow_import.private_names
python.framework.random_seed: tf tf.random
python.framework.smart_cond: smart_cond=gpugraph.building.control_flow.smart_cond.smart_cond
    smart_constant_value=gpugraph.building.control_flow.smart_cond.static_bool
python.framework.sparse_tensor: tf tf.sparse
python.framework.tensor_shape: gpugraph.base.shapes gpugraph.base.dimensions tf
python.framework.tensor_util: tf tf.io constant_value=tf.get_static_value
python.framework.test_util: tf.test
python.framework.versions: tf tf.version
python.keras._impl: tf.keras
python.keras._impl.keras: python.keras/
python.keras: tf.keras/
python.keras.backend_config: tf.keras.backend
python.keras.callbacks_v1: tf.keras.callbacks
python.keras.engine: tf.keras.layers tf.keras
python.keras.engine.(base_layer base_layer_utils input_layer input_spec): tf.keras.layers
    Node=gpugraph.library.keras.engine.layer_nodes.LayerNode
    TensorFlowOpLayer=gpugraph.library.keras.engine.operation_layers.TensorFlowOpLayer
python.keras.engine.(network topology): tf.keras.layers tf.keras
    Container=gpugraph.library.keras.engine.network.Network
    Network=gpugraph.library.keras.engine.network.Network
python.keras.engine.(sequential training): tf.keras
python.keras.layers.(advanced_activations convolutional convolutional_recurrent core cudnn_recurrent
    dense_attention embeddings local merge noise normalization normalization_v2 pooling recurrent
    recurrent_v2 rnn_cell_wrapper_v2 serialization wrappers): tf.keras.layers
python.keras.optimizer_v2: tf.keras.optimizers
python.keras.optimizer_v2.(adadelta adagrad adam adamax ftrl gradient_descent nadam optimizer_v2
    rmsprop): tf.keras.optimizers
    OptimizerV2=gpugraph.library.keras.optimizers.optimizer_v2.OptimizerV2
python.keras.optimizer_v2.learning_rate_schedule: tf.keras.optimizers.schedules
python.keras.saving: tf.keras.models
python.keras.saving.(model_config save): tf.keras.models
    load_model_from_hdf5=tf.keras.models.load_model save_model_to_hdf5=tf.keras.models.save_model
python.keras.saving.hdf5_format: tf.keras.models
    gpugraph.tensorflow_import.old_keras.old_keras_names.of_saving
    load_model_from_hdf5=tf.keras.models.load_model save_model_to_hdf5=tf.keras.models.save_model
python.keras.utils.(conv_utils generic_utils layer_utils): tf.keras.utils
    gpugraph.tensorflow_import.private_keras_names gpugraph.library.keras.engine.model_summary
python.keras.utils.(data_utils io_utils multi_gpu_utils np_utils vis_utils): tf.keras.utils
python.keras.utils.losses_utils: gpugraph.library.keras.losses.loss_class
python.keras.utils.tf_utils: gpugraph.tensorflow_import.private_keras_names
    constant_value=tf.get_static_value
    smart_cond=gpugraph.building.control_flow.smart_cond.smart_cond
    get_reachable_from_inputs=gpugraph.library.keras.engine.reachable_tensors.get_reachable_from_inputs
python.layers.(base convolutional core layers normalization pooling): tf.layers
python.layers.utils: gpugraph.library.keras.layers.configured_layer
    normalize_tuple=gpugraph.library.keras.layers.configured_layer.numbers
    constant_value=tf.get_static_value
    smart_cond=gpugraph.building.control_flow.smart_cond.smart_cond
python.lib.io.file_io: tf.gfile
python.lib.io.(python_io tf_record): tf.python_io
python.ops.array_ops: tf tf.manip gen
python.ops.bitwise_ops: tf.bitwise gen
python.ops.candidate_sampling_ops: tf.nn tf.random
python.ops.(check_ops numerics): tf tf.debugging
python.ops.script_ops: eager_py_func=tf.py_function tf gen
python.ops.(clip_ops logging_ops standard_ops state_ops tensor_array_ops): tf gen
python.ops.collective_ops: gpugraph.ops.collectives.collective_ops gen
python.ops.(gen_array_ops gen_audio_ops gen_bitwise_ops gen_candidate_sampling_ops
    gen_control_flow_ops gen_data_flow_ops gen_image_ops gen_io_ops gen_linalg_ops gen_logging_ops
    gen_lookup_ops gen_manip_ops gen_math_ops gen_nn_ops gen_parsing_ops gen_random_ops
    gen_resource_variable_ops gen_rnn_ops gen_script_ops gen_set_ops gen_sparse_ops
    gen_spectral_ops gen_state_ops gen_string_ops gen_user_ops inplace_ops list_ops): gen
python.ops.functional_ops: gpugraph.building.function_calls.functional_ops tf
python.ops.(cond_v2 control_flow_util custom_gradient gradients_util histogram_ops
    map_fn partitioned_variables session_ops sort_ops summary_ops_v2 template): tf
python.ops.confusion_matrix: tf.math tf
    remove_squeezable_dimensions=gpugraph.ops.nn.losses.loss_weights.remove_squeezable_dimensions
python.ops.control_flow_ops: tf gen
    with_dependencies=gpugraph.ops.control.group_and_no_op.with_dependencies
python.ops.(ctc_ops embedding_ops): tf.nn
python.ops.lookup_ops: tf.contrib.lookup tf gen
python.ops.data_flow_ops: tf gpugraph.ops.queues.staging_classes gpugraph.ops.queues.barrier gen
python.ops.distributions.(bernoulli beta categorical dirichlet dirichlet_multinomial distribution
    distributions exponential gamma kullback_leibler laplace multinomial normal student_t uniform
    util): tf.distributions
python.ops.gradient_checker: tf.test
python.ops.(gradients gradients_impl): tf gpugraph.building.gradients
python.ops.(image_ops image_ops_impl): tf.image gen
python.ops.init_ops: tf tf.initializers Constant=tf.initializers.constant
    Identity=tf.initializers.identity
    Initializer=gpugraph.ops.random.variable_initializers.Initializer Ones=tf.initializers.ones
    Orthogonal=tf.initializers.orthogonal RandomNormal=tf.initializers.random_normal
    RandomUniform=tf.initializers.random_uniform TruncatedNormal=tf.initializers.truncated_normal
    UniformUnitScaling=tf.initializers.uniform_unit_scaling
    VarianceScaling=tf.initializers.variance_scaling Zeros=tf.initializers.zeros
python.ops.init_ops_v2: tf.initializers
python.ops.(io_ops parsing_ops): tf tf.io gen
python.ops.linalg.(linalg linalg_impl linear_operator linear_operator_adjoint
    linear_operator_block_diag linear_operator_circulant linear_operator_composition
    linear_operator_diag linear_operator_full_matrix linear_operator_householder
    linear_operator_identity linear_operator_inversion linear_operator_kronecker
    linear_operator_low_rank_update linear_operator_lower_triangular linear_operator_toeplitz
    linear_operator_zeros): tf.linalg
python.ops.linalg.linear_operator_algebra: gpugraph.library.linear_operators.operator_algebra
python.ops.linalg_ops: tf tf.linalg gen
python.ops.losses.(losses losses_impl util): tf.losses
python.ops.manip_ops: tf.manip
python.ops.math_ops: tf tf.math gen
python.ops.(metrics metrics_impl): tf.metrics
python.ops.nn: tf.nn tf gen
python.ops.(nn_impl nn_ops): tf.nn gen
python.ops.random_ops: tf tf.random gen
python.ops.resource_variable_ops: gen
    ResourceVariable=gpugraph.building.variables.resource_variable.ResourceVariable
python.ops.rnn: tf.nn tf.nn.rnn_cell
python.ops.rnn_cell: tf.nn.rnn_cell
python.ops.rnn_cell_impl: tf.nn.rnn_cell LayerRNNCell=gpugraph.library.rnn.rnn_cell_base.LayerCell
    assert_like_rnncell=gpugraph.library.rnn.rnn_cell_base.check_cell
    _zero_state_tensors=gpugraph.library.keras.layers.recurrent.state_sizes.zero_state
    _BIAS_VARIABLE_NAME='bias _WEIGHTS_VARIABLE_NAME='kernel
python.ops.sets: tf.sets
python.ops.signal.(dct_ops fft_ops mel_ops mfcc_ops reconstruction_ops shape_ops signal
    spectral_ops window_ops): tf.signal
python.ops.sparse_ops: tf tf.sparse gen
python.ops.special_math_ops: tf tf.math
python.ops.spectral_ops: tf.spectral tf.signal
python.ops.stateless_random_ops: tf.random
python.ops.string_ops: tf tf.strings gen
python.ops.unconnected_gradients: UnconnectedGradients=tf.UnconnectedGradients
python.ops.variable_scope: tf
    _pure_variable_scope=gpugraph.building.variable_scope.scope_entry_and_reuse.pure_variable_scope
python.ops.variables: tf RefVariable=tf.Variable VariableV1=tf.Variable
    PartitionedVariable=gpugraph.building.variables.partitioned_variable.PartitionedVariable
python.ops.weights_broadcast_ops:
    assert_broadcastable=gpugraph.ops.nn.losses.loss_weights.assert_broadcastable
    broadcast_weights=gpugraph.ops.nn.losses.loss_weights.broadcast_weights
python.platform.app: tf.app
python.platform.flags: tf.flags
python.platform.gfile: tf.gfile
python.platform.(googletest test): tf.test
python.platform.resource_loader: gpugraph.platform.resource_loader
python.platform.tf_logging: tf.logging
python.training.(adadelta adagrad adagrad_da adam basic_loops basic_session_run_hooks
    checkpoint_utils coordinator device_setter evaluation ftrl gradient_descent input
    learning_rate_decay learning_rate_decay_v2 momentum monitored_session optimizer
    proximal_adagrad proximal_gradient_descent queue_runner queue_runner_impl rmsprop server_lib
    session_manager session_run_hook supervisor sync_replicas_optimizer training training_util
    warm_starting_util): tf.train
python.training.checkpoint_management: tf.train gpugraph.library.train.savers.checkpoint_files
python.training.moving_averages: gpugraph.library.train.moving_averages
python.training.saver: tf.train gpugraph.library.train.savers.saver_builder
python.training.saving.saveable_object: gpugraph.library.train.savers.saveable_objects
python.training.slot_creator: gpugraph.library.train.optimizers.slot_creator
python.summary: tf.summary
python.summary.(summary summary_iterator): tf.summary tf.train
python.summary.writer.(event_file_writer writer writer_cache): tf.summary
    SummaryWriterCache=tf.summary.FileWriterCache
python.training.summary_io: tf.summary tf.train SummaryWriterCache=tf.summary.FileWriterCache
    SummaryWriter=tf.summary.FileWriter
python.training.tracking.base: gpugraph.building.trackable
python.training.training_ops: gen
python.util.(all_util deprecation keyword_args tf_decorator):
    gpugraph.building.compatibility.deprecation_decorators
python.util.compat: tf.compat
python.util.function_utils: gpugraph.building.compatibility.python_inspection
python.util.nest: tf.nest gpugraph.base.nest_by_depth is_sequence=tf.nest.is_nested
    _is_namedtuple=gpugraph.base.nest_by_depth.is_named_tuple
python.util.tf_contextlib: contextlib
python.util.tf_export: tf_export=gpugraph.building.compatibility.deprecation_decorators.unchanged
    estimator_export=gpugraph.building.compatibility.deprecation_decorators.unchanged
    keras_export=gpugraph.building.compatibility.deprecation_decorators.unchanged
python.util.tf_inspect: gpugraph.building.compatibility.python_inspection inspect
python.saved_model: tf.saved_model
python.saved_model.builder: tf.saved_model.builder
python.saved_model.constants: tf.saved_model.constants
python.saved_model.loader: tf.saved_model.loader
python.saved_model.loader_impl: gpugraph.library.saved_models.model_loader
    gpugraph.library.saved_models.saved_model_file tf.saved_model.loader
python.saved_model.signature_constants: tf.saved_model.signature_constants
python.saved_model.signature_def_utils: tf.saved_model.signature_def_utils
python.saved_model.tag_constants: tf.saved_model.tag_constants
python.saved_model.utils: tf.saved_model.utils
python.util.tf_should_use:
    should_use_result=gpugraph.building.compatibility.deprecation_decorators.unchanged
"""

_CORE = """
examples.tutorials.mnist.input_data: gpugraph.library.datasets.mnist_files
core.protobuf.config_pb2: CallableOptions=gpugraph.config.CallableOptions
    ConfigProto=tf.ConfigProto GPUOptions=tf.GPUOptions
    GraphOptions=tf.GraphOptions OptimizerOptions=tf.OptimizerOptions RunMetadata=tf.RunMetadata
    RPCOptions=gpugraph.config.RPCOptions RunOptions=tf.RunOptions
    TensorConnection=gpugraph.config.TensorConnection
    ThreadPoolOptionProto=gpugraph.config.ThreadPoolOptionProto
core.protobuf.debug_pb2: DebugOptions=gpugraph.config.DebugOptions
    DebugTensorWatch=gpugraph.config.DebugTensorWatch
core.protobuf.rewriter_config_pb2: RewriterConfig=gpugraph.config.RewriterConfig
    AutoParallelOptions=gpugraph.config.AutoParallelOptions
    ScopedAllocatorOptions=gpugraph.config.ScopedAllocatorOptions
core.example.(example_pb2 feature_pb2): gpugraph.formats.messages_pb2
core.framework.(allocation_description_pb2 attr_value_pb2 cost_graph_pb2 device_attributes_pb2
    function_pb2 graph_pb2 node_def_pb2 op_def_pb2 resource_handle_pb2 step_stats_pb2 summary_pb2
    tensor_description_pb2 tensor_pb2 tensor_shape_pb2 tensor_slice_pb2 types_pb2 variable_pb2
    versions_pb2): gpugraph.formats.messages_pb2
core.lib.core.error_codes_pb2: gpugraph.formats.messages_pb2
core.protobuf.(cluster_pb2 control_flow_pb2 meta_graph_pb2 queue_runner_pb2 saved_model_pb2
    saved_object_graph_pb2 saver_pb2 struct_pb2 tensor_bundle_pb2 tensorflow_server_pb2
    trackable_object_graph_pb2): gpugraph.formats.messages_pb2
core.util.event_pb2: gpugraph.formats.messages_pb2
contrib.training.python.training.hparam_pb2: gpugraph.formats.messages_pb2
contrib.tensorboard.plugins.projector.projector_config_pb2: gpugraph.formats.messages_pb2
python.training.checkpoint_state_pb2: gpugraph.formats.messages_pb2
"""

_CONTRIB = """
contrib.crf.python.ops.crf: tf.contrib.crf
contrib.data.python.ops: tf.contrib.data
contrib.data.python.ops.(batching enumerate_ops error_ops get_single_element grouping interleave_ops
    iterator_ops prefetching_ops random_ops readers resampling scan_ops shuffle_ops sliding
    stats_ops threadpool unique): tf.contrib.data
contrib.distributions.python.ops: tf.contrib.distributions
contrib.distributions.python.ops.(binomial cauchy chi2 deterministic distribution_util geometric
    half_normal independent inverse_gamma kumaraswamy logistic mixture mixture_same_family mvn_diag
    mvn_diag_plus_low_rank mvn_full_covariance mvn_tril negative_binomial onehot_categorical poisson
    quantized_distribution relaxed_bernoulli relaxed_onehot_categorical sample_stats seed_stream
    vector_laplace_diag wishart): tf.contrib.distributions
contrib.distributions.python.ops.bijectors: tf.contrib.distributions.bijectors
python.ops.distributions.bijector: Bijector=tf.contrib.distributions.bijectors.Bijector
python.ops.distributions.transformed_distribution: tf.contrib.distributions
contrib.feature_column.python.feature_column.sequence_feature_column: tf.contrib.feature_column
    gpugraph.library.feature_column.sequence_columns
contrib.framework.python.(framework ops): tf.contrib.framework
contrib.framework.python.framework.(checkpoint_utils graph_util tensor_util): tf.contrib.framework
    tf
contrib.framework.python.ops.(arg_scope checkpoint_ops ops variables): tf.contrib.framework
contrib.layers.python.layers: tf.contrib.layers
contrib.layers.python.layers.(embedding_ops encoders feature_column initializers layers
    normalization optimizers regularizers summaries utils): tf.contrib.layers
contrib.layers.python.ops.sparse_ops: tf.contrib.layers tf
contrib.learn.datasets.mnist: gpugraph.library.datasets.mnist_files
contrib.learn.preprocessing: gpugraph.library.datasets.vocabulary_processor
contrib.learn.python.learn.preprocessing: gpugraph.library.datasets.vocabulary_processor
contrib.learn.python.learn.preprocessing.(text categorical_vocabulary):
    gpugraph.library.datasets.vocabulary_processor
contrib.learn.python.learn.datasets.mnist: gpugraph.library.datasets.mnist_files
contrib.legacy_seq2seq.python.ops.seq2seq: tf.contrib.legacy_seq2seq
contrib.lookup.lookup_ops: tf.contrib.lookup
contrib.rnn.python.ops.(core_rnn core_rnn_cell core_rnn_cell_impl fused_rnn_cell gru_ops lstm_ops
    rnn rnn_cell): tf.contrib.rnn
contrib.seq2seq.python.ops: tf.contrib.seq2seq
contrib.seq2seq.python.ops.(attention_wrapper basic_decoder beam_search_decoder decoder helper
    loss): tf.contrib.seq2seq
contrib.losses.metric_learning: gpugraph.library.contrib.metric_learning
contrib.losses.python.metric_learning: gpugraph.library.contrib.metric_learning
contrib.losses.python.metric_learning.metric_loss_ops: gpugraph.library.contrib.metric_learning
    gpugraph.library.contrib.metric_learning.pair_losses
contrib.image.python.ops.(image_ops dense_image_warp interpolate_spline sparse_image_warp):
    tf.contrib.image
contrib.opt.python.training.(adamax external_optimizer lars_optimizer lazy_adam_optimizer
    moving_average_optimizer nadam_optimizer addsign powersign variable_clipping_optimizer
    weight_decay_optimizers): tf.contrib.opt
contrib.resampler.python.ops.resampler_ops: tf.contrib.resampler
contrib.nn.python.ops.alpha_dropout: tf.contrib.nn
contrib.keras: tf.keras/
contrib.keras.(api api.keras): tf.keras/
contrib.signal: tf.signal
contrib.slim.python.slim: tf.contrib.slim
contrib.slim.python.slim.data: tf.contrib.slim
contrib.slim.python.slim.data.data_decoder: tf.contrib.slim.data_decoder
contrib.slim.python.slim.data.tfexample_decoder: tf.contrib.slim.tfexample_decoder
contrib.slim.python.slim.learning: tf.contrib.slim.learning
contrib.slim.python.slim.model_analyzer: tf.contrib.slim.model_analyzer
contrib.slim.python.slim.nets: tf.contrib.slim.nets/
contrib.stateless: stateless_multinomial=tf.random.stateless_multinomial
    stateless_random_normal=tf.random.stateless_normal
    stateless_random_uniform=tf.random.stateless_uniform
    stateless_truncated_normal=tf.random.stateless_truncated_normal
contrib.training.python.training.(hparam training): tf.contrib.training
"""


class Row(NamedTuple):
    """The sources of a module's names. They are the targets of single names, and modules whose
    names are all used.
    """

    names: dict[str, str]
    sources: tuple[str, ...]


def _read(text: str) -> tuple[dict[str, Row], dict[str, str]]:
    """Return a dict from paths to rows, and a dict from the paths of trees to their public paths.
    Inner trees precede outer trees.
    """
    rows: dict[str, Row] = {}
    trees: dict[str, str] = {}
    for line in filter(None, re.sub(r"\n +", " ", text).splitlines()):
        paths, _, tokens = line.partition(":")
        pairs = [token.partition("=") for token in tokens.split()]
        names = {name: target for name, equals, target in pairs if equals}
        sources = tuple(name for name, equals, _ in pairs if not equals)
        folder, _, listed = paths.rstrip(")").partition("(")
        for path in [folder + name for name in listed.split()] or [paths]:
            if len(sources) == 1 and sources[0].endswith("/"):
                trees[path] = sources[0].rstrip("/")
            else:
                earlier = rows.get(path, Row({}, ()))
                rows[path] = Row(earlier.names | names, (*sources, *earlier.sources))
    return rows, {path: trees[path] for path in sorted(trees, key=len, reverse=True)}


ROWS, TREES = _read(
    "".join(
        (_ROWS, _PYTHON, _CORE, _CONTRIB, ROWS_OF_LIBRARIES, ROWS_OF_CONTRIB, ROWS_OF_EXPORTS)
        + (ROWS_OF_PRIVATE_NAMES, ROWS_OF_KERAS)
    )
)
"""The rows, and the trees, by path.

A tree is a path that stands for a public module and all modules below it.
"""
