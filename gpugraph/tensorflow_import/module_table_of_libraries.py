"""Additional rows of `module_table`: internal modules of TensorFlow 1 that libraries import.

If a path also has a row in `module_table`, the row here adds names to it. `internals.x` means
`gpugraph.tensorflow_import.internals.x`, `private.x` means
`gpugraph.tensorflow_import.private_functions.x`, and `repeated.x` means
`gpugraph.library.train.repeated_evaluation.x`. The rows of `ESTIMATOR` name modules of the library
`tensorflow-estimator`. They are used only if it is installed.
"""

from __future__ import annotations

ROWS_OF_LIBRARIES = """
compat.v2: Variable=gpugraph.building.variables.resource_variable.ResourceVariable
    where=gpugraph.tensorflow_import.internals.version_2_internals.where
compat.v2.optimizers: tf.keras.optimizers
compat.v2.initializers: tf.keras.initializers
compat.v2.losses: tf.keras.losses
compat.v2.metrics: tf.keras.metrics
data: get_output_shapes=tf.data.get_legacy_output_shapes
    get_output_types=tf.data.get_legacy_output_types
    get_output_classes=tf.data.get_legacy_output_classes
keras.layers.wrappers: tf.keras.layers
keras: wrappers=@keras.wrappers
keras.wrappers: scikit_learn=@keras.wrappers.scikit_learn
keras.wrappers.scikit_learn: gpugraph.tensorflow_import.estimator_parts.scikit_learn_wrappers
python.keras: tf.keras wrappers=@keras.wrappers
python.keras.wrappers: scikit_learn=@keras.wrappers.scikit_learn
python.keras.wrappers.scikit_learn:
    gpugraph.tensorflow_import.estimator_parts.scikit_learn_wrappers
keras.utils.generic_utils: tf.keras.utils gpugraph.tensorflow_import.private_keras_names
    internals.keras_internals
python.compat.compat: tf.compat
python.control_flow_ops: tf gen
python.math_ops: tf tf.math gen
python.state_ops: tf gen
python.array_ops: tf tf.manip gen
python.nn_ops: tf.nn gen
python.client.session: _FetchHandler=internals.training_internals.FetchHandler
python.distribute.(distribute_lib distribution_strategy_context): tf.distribute
    tf.contrib.distribute StrategyV1=tf.distribute.Strategy
    StrategyExtendedV1=tf.distribute.StrategyExtended
    StrategyExtendedV2=tf.distribute.StrategyExtended
python.training.(distribute distribution_strategy_context): tf.contrib.distribute tf.distribute
python.distribute: tf.distribute
python.distribute.(mirrored_strategy one_device_strategy cross_device_ops): tf.distribute
    tf.contrib.distribute MirroredStrategyV1=tf.distribute.MirroredStrategy
    OneDeviceStrategyV1=tf.distribute.OneDeviceStrategy
    CollectiveCommunication=tf.distribute.experimental.CollectiveCommunication
python.distribute.(parameter_server_strategy central_storage_strategy
    collective_all_reduce_strategy): tf.distribute.experimental
    CollectiveAllReduceStrategy=tf.distribute.experimental.MultiWorkerMirroredStrategy
python.distribute.(cluster_resolver distribute_config distribute_coordinator):
    tf.distribute.cluster_resolver tf.contrib.distribute
python.distribute.cluster_resolver.(cluster_resolver tfconfig_cluster_resolver):
    tf.distribute.cluster_resolver
python.distribute.reduce_util: ReduceOp=tf.distribute.ReduceOp
python.distribute.values: gpugraph.building.replication.replicated_values
    gpugraph.library.distribute.distributed_variables
python.distribute.device_util:
    canonicalize=gpugraph.library.distribute.device_lists.canonical_device
python.distribute.input_lib: gpugraph.library.distribute.distributed_input
python.distribute.estimator_training: internals.estimator_training
python.distribute.summary_op_util: internals.summary_internals
python.eager.context: _context=gpugraph.building.compatibility.graph_mode._CONTEXT
    internal_operation_seed=internals.training_internals.uid
python.eager.tape: internals.tape_internals
python.eager.execute: record_gradient=internals.array_internals.record_gradient
python.eager.monitoring: internals.monitoring
python.framework.composite_tensor: CompositeTensor=internals.internal_classes.CompositeTensor
python.framework.constant_op: tf
    _tensor_shape_tensor_conversion_function=internals.array_internals.shape_to_tensor
python.framework.device_spec: DeviceSpecV1=tf.DeviceSpec DeviceSpec=tf.DeviceSpec
    DeviceSpecV2=tf.compat.v2.DeviceSpec
python.framework.errors_impl: tf.errors
python.framework.graph_util_impl: tf.graph_util tf
python.framework.op_def_registry: get_registered_ops=internals.training_internals.registered_ops
    get=internals.training_internals.registered_op sync=internals.training_internals.do_nothing
    register_op_list=internals.training_internals.do_nothing
python.framework.ops: uid=internals.training_internals.uid
    set_shapes_for_outputs=internals.training_internals.do_nothing
    internal_convert_to_tensor=internals.training_internals.internal_convert_to_tensor
    convert_to_tensor_v2=tf.convert_to_tensor
    _get_graph_from_inputs=gpugraph.library.contrib.framework.get_graph_from_inputs
    numpy_text=internals.array_internals.numpy_text
    EagerTensor=internals.internal_classes.EagerTensor
    OpStats=gpugraph.tensorflow_import.profiling.float_operations.OpStats
    RegisterStatistics=gpugraph.tensorflow_import.profiling.float_operations.RegisterStatistics
    get_stats_for_node_def=gpugraph.tensorflow_import.profiling.float_operations.get_stats_for_node_def
    get_name_scope=internals.training_internals.get_name_scope
    inside_function=internals.training_internals.inside_function
    register_dense_tensor_like_type=internals.training_internals.register_dense_tensor_like_type
    RegisterShape=gpugraph.building.compatibility.deprecation_decorators.unchanged
    get_to_proto_function=internals.training_internals.get_to_proto_function
    get_from_proto_function=internals.training_internals.get_from_proto_function
python.framework.tensor_util: MakeNdarray=tf.make_ndarray
    constant_value_as_shape=gpugraph.ops.framework.constant_value.constant_value_as_shape
python.framework.test_util: IsMklEnabled=internals.wrapped_runtime.IsMklEnabled
    InstallStackTraceHandler=internals.training_internals.do_nothing
    is_xla_enabled=internals.wrapped_runtime.IsMklEnabled
    assert_meta_graph_protos_equal=tf.test.assert_equal_graph_def
keras.estimator:
    model_to_estimator=gpugraph.tensorflow_import.estimator_parts.estimator_models.model_to_estimator
python.keras.models: tf.keras.models
    clone_and_build_model=gpugraph.tensorflow_import.estimator_parts.estimator_models.clone_and_build_model
python.keras.backend: tf.keras.backend
    _initialize_variables=gpugraph.tensorflow_import.estimator_parts.estimator_models._initialize_variables
    track_variable=gpugraph.library.keras.backend.keras_session.track_variable
python.keras.utils.generic_utils: internals.keras_internals
python.keras.utils.losses_utils:
    compute_weighted_loss=internals.keras_internals.compute_weighted_loss
    scale_loss_for_distribution=internals.keras_internals.scale_loss_for_distribution
python.keras.utils.tf_utils:
    register_symbolic_tensor_type=internals.training_internals.do_nothing
    ListWrapper=internals.keras_internals.ListWrapper
python.keras.engine.training_utils: internals.keras_internals
python.keras.optimizer_v2.rmsprop: RMSProp=tf.keras.optimizers.RMSprop
python.keras.optimizer_v2.optimizer_v2:
    learning_rate_schedule=@python.keras.optimizer_v2.learning_rate_schedule
python.layers.convolutional: Convolution1D=tf.layers.Conv1D Convolution2D=tf.layers.Conv2D
    Convolution3D=tf.layers.Conv3D Convolution2DTranspose=tf.layers.Conv2DTranspose
    Convolution3DTranspose=tf.layers.Conv3DTranspose
    SeparableConvolution1D=tf.layers.SeparableConv1D
    SeparableConvolution2D=tf.layers.SeparableConv2D
    Deconvolution2D=tf.layers.Conv2DTranspose Deconv2D=tf.layers.Conv2DTranspose
    Deconvolution3D=tf.layers.Conv3DTranspose
python.layers.utils: gpugraph.tensorflow_import.private_keras_names
python.lib.io.file_io: gpugraph.platform.gfile_v2 FileIO=tf.gfile.GFile
    internals.file_internals
python.ops.array_ops: shape_internal=internals.array_internals.shape_internal
    size_internal=internals.array_internals.size_internal
    rank_internal=internals.array_internals.rank_internal
    boolean_mask_v2=internals.array_internals.boolean_mask_v2
    where_v2=internals.version_2_internals.where
python.ops.control_flow_ops:
    XLAControlFlowContext=internals.internal_classes.XLAControlFlowContext
    CondContext=gpugraph.building.control_flow.cond_context.CondContext
    WhileContext=gpugraph.building.control_flow.while_context.WhileContext
    ControlFlowContext=gpugraph.building.control_flow.context_base.ControlFlowContext
python.ops.control_flow_util: internals.control_flow_internals
python.ops.control_flow_util_v2: internals.control_flow_internals
python.ops.control_flow_v2_toggles: tf
python.ops.list_ops: empty_tensor_list=private.list_functions.empty_tensor_list
    tensor_list_concat=private.list_functions.tensor_list_concat
    tensor_list_from_tensor=private.list_functions.tensor_list_from_tensor
    tensor_list_gather=private.list_functions.tensor_list_gather
    tensor_list_get_item=private.list_functions.tensor_list_get_item
    tensor_list_pop_back=private.list_functions.tensor_list_pop_back
    tensor_list_reserve=private.list_functions.tensor_list_reserve
    tensor_list_scatter=private.list_functions.tensor_list_scatter
    tensor_list_set_item=private.list_functions.tensor_list_set_item
    tensor_list_split=private.list_functions.tensor_list_split
    tensor_list_stack=private.list_functions.tensor_list_stack
python.ops.inplace_ops: alias_inplace_add=internals.array_internals.alias_inplace_add
    alias_inplace_sub=internals.array_internals.alias_inplace_sub
    alias_inplace_update=internals.array_internals.alias_inplace_update
    inplace_add=internals.array_internals.inplace_add
    inplace_sub=internals.array_internals.inplace_sub
    inplace_update=internals.array_internals.inplace_update
python.ops.init_ops: _assert_float_dtype=internals.array_internals.assert_float_dtype
python.ops.math_ops: _bucketize=internals.array_internals.bucketize
python.ops.metrics_impl: metric_variable=internals.metric_internals.metric_variable
    _remove_squeezable_dimensions=internals.metric_internals.remove_squeezable_dimensions
    _confusion_matrix_at_thresholds=internals.metric_internals.confusion_matrix_at_thresholds
    _safe_scalar_div=internals.metric_internals.safe_scalar_div
    _safe_div=internals.metric_internals.safe_div
    _num_relevant=internals.metric_internals.num_relevant
    _aggregate_variable=internals.metric_internals.aggregate_variable
    _aggregate_across_replicas=internals.metric_internals.aggregate_across_replicas
python.ops.op_selector:
    get_backward_walk_ops=internals.training_internals.backward_walk_ops
python.ops.parallel_for: tf
python.ops.parallel_for.control_flow_ops: tf
python.ops.parallel_for.gradients: internals.jacobians
python.ops.boosted_trees_ops: gpugraph.tensorflow_import.estimator_parts.tree_resources gen
python.ops.gen_boosted_trees_ops: gen
core.kernels:
core.kernels.boosted_trees:
core.kernels.boosted_trees.boosted_trees_pb2: gpugraph.formats.boosted_trees_pb2
python.ops.cond_v2: cond_v2=tf.cond
python.ops.distributions.util: gen_new_seed=internals.array_internals.gen_new_seed
python.ops.gradients_impl: gradients_v2=internals.version_2_internals.gradients
python.ops.resource_variable_ops: _to_proto_fn=internals.training_internals.variable_to_proto
    _from_proto_fn=internals.training_internals.variable_from_proto
    _UnreadVariable=gpugraph.building.variables.resource_variable.ResourceVariable
    BaseResourceVariable=gpugraph.building.variables.resource_variable.ResourceVariable
    is_resource_variable=internals.training_internals.is_resource_variable
python.ops.resources: internals.training_internals
python.ops.rnn: rnn_cell_impl=@python.ops.rnn_cell_impl
    _concat=internals.array_internals.concat_sizes
    _transpose_batch_time=internals.array_internals.transpose_batch_time
python.ops.rnn_cell_impl: _concat=internals.array_internals.concat_sizes
    _linear=internals.layer_internals.linear _Linear=internals.layer_internals.Linear
contrib.rnn.python.ops.core_rnn_cell: _linear=internals.layer_internals.linear
    _Linear=internals.layer_internals.Linear
contrib.rnn.python.ops.rnn_cell: _linear=internals.layer_internals.linear
    _Linear=internals.layer_internals.Linear
contrib.seq2seq.python.ops.decoder:
    _transpose_batch_time=internals.array_internals.transpose_batch_time
python.ops.summary_op_util: internals.summary_internals
python.ops.variable_scope: variable=tf.Variable
    default_variable_creator=internals.training_internals.default_variable_creator
python.ops.while_v2: tf
python.platform.test: mock=unittest.mock
python.platform.(build_info sysconfig self_check):
    IsGoogleCudaEnabled=internals.wrapped_runtime.IsGoogleCudaEnabled
python.pywrap_tensorflow: internals.wrapped_runtime
    NewCheckpointReader=tf.train.NewCheckpointReader
    list_devices=gpugraph.devices.list_local_devices
python.pywrap_tensorflow_internal: internals.wrapped_runtime
python.saved_model.model_utils: gpugraph.library.saved_models.export_outputs
    gpugraph.library.saved_models.exports_by_mode
python.saved_model.model_utils.(export_output export_utils mode_keys):
    gpugraph.library.saved_models.export_outputs gpugraph.library.saved_models.exports_by_mode
python.saved_model.(constants signature_constants): gpugraph.library.saved_models.model_names
python.saved_model.signature_def_utils_impl: gpugraph.library.saved_models.signatures
python.saved_model.utils_impl: tf.saved_model.utils internals.file_internals
python.tf2: enabled=internals.wrapped_runtime.IsMklEnabled
python.training.basic_session_run_hooks:
    get_or_create_steps_per_run_variable=repeated.get_or_create_steps_per_run_variable
python.training.device_setter: STANDARD_PS_OPS=internals.training_internals.STANDARD_PS_OPS
    _RoundRobinStrategy=internals.training_internals.RoundRobinStrategy
python.training.evaluation:
    _get_or_create_eval_step=repeated.get_or_create_eval_step
    _get_latest_eval_step_value=repeated.get_latest_eval_step_value
    _StopAfterNEvalsHook=repeated.StopAfterNEvalsHook
    _MultiStepStopAfterNEvalsHook=repeated.MultiStepStopAfterNEvalsHook
    _evaluate_once=repeated.evaluate_once
python.training.monitored_session:
    _HookedSession=gpugraph.library.train.monitored_sessions.hooked_session.HookedSession
    _WrappedSession=gpugraph.library.train.monitored_sessions.hooked_session.HookedSession
python.training.tracking: tf.contrib.checkpoint
python.training.tracking.(data_structures tracking util): tf.contrib.checkpoint
    AutoTrackable=gpugraph.building.trackable.AutoTrackable
    NoDependency=gpugraph.building.trackable.NoDependency
python.training.tracking.base:
    no_automatic_dependency_tracking=gpugraph.building.compatibility.deprecation_decorators.unchanged
    no_automatic_dependency_tracking_scope=internals.training_internals.nothing_changes
python.training.training:
    get_or_create_steps_per_run_variable=repeated.get_or_create_steps_per_run_variable
python.training.training_util: GLOBAL_STEP_READ_KEY='global_step_read_op_cache
    _get_or_create_global_step_read=gpugraph.library.train.global_step.global_step_read
    _get_global_step_read=gpugraph.library.train.global_step.global_step_read
python.util.compat_internal: path_to_str=tf.compat.path_to_str
python.util.deprecation: hide_attribute_from_api=internals.training_internals.unconverted
    deprecated_endpoints=gpugraph.building.compatibility.deprecation_decorators.unchanged
python.util.deprecation_wrapper: internals.lazy_loader
python.util.dispatch: internals.dispatch
python.util.lazy_loader: internals.lazy_loader
python.util.module_wrapper: TFModuleWrapper=internals.lazy_loader.TFModuleWrapper
python.util.object_identity: internals.object_identity
python.util.tf_export: kwarg_only=internals.training_internals.unconverted
python.util.tf_inspect: _inspect=inspect
train.queue_runner: QueueRunner=tf.train.QueueRunner
    add_queue_runner=tf.train.add_queue_runner start_queue_runners=tf.train.start_queue_runners
python.summary.summary_op_util: internals.summary_internals
python.tpu.tpu_function: get_tpu_context=internals.tpu_internals.get_tpu_context
    TpuContext=internals.tpu_internals.TpuContext
contrib.tpu.python.tpu.tpu_function: get_tpu_context=internals.tpu_internals.get_tpu_context
    TpuContext=internals.tpu_internals.TpuContext
python.tpu.tensor_tracer: TensorTracer=internals.tpu_internals.TensorTracer
python.tools.freeze_graph: gpugraph.tensorflow_import.graph_tools.frozen_graph_files
    internals.file_internals
python.tools.strip_unused_lib: gpugraph.tensorflow_import.graph_tools.stripped_graphs
python.tools.optimize_for_inference_lib: gpugraph.tensorflow_import.graph_tools.inference_graphs
python.tools.(inspect_checkpoint saved_model_utils):
    gpugraph.tensorflow_import.graph_tools.checkpoint_printing
tools.graph_transforms: gpugraph.tensorflow_import.graph_tools.graph_transforms
test.mock: unittest.mock
contrib.graph_editor: get_backward_walk_ops=internals.training_internals.backward_walk_ops
contrib.framework.nest: gpugraph.base.nest gpugraph.base.nest_by_depth
    is_sequence=tf.nest.is_nested
contrib.framework.python.framework: tf.contrib.framework
contrib.framework.python.framework.experimental:
    experimental=gpugraph.building.compatibility.deprecation_decorators.unchanged
contrib.layers.python.layers.utils: internals.layer_internals
contrib.layers.utils: internals.layer_internals
contrib.slim.utils: internals.layer_internals
contrib.slim.python.slim.utils: internals.layer_internals
contrib.slim.(initializers layers regularizers): tf.contrib.layers tf.contrib.framework
contrib.slim.(queues summaries parallel_reader): internals.slim_internals
contrib.slim.python.slim.(queues summaries): internals.slim_internals
contrib.slim.python.slim.data.parallel_reader: internals.slim_internals
contrib.slim.python.slim.data.dataset: Dataset=internals.slim_internals.Dataset
contrib.slim.losses: internals.argument_orders.LOSSES
    cosine_distance=internals.argument_orders.cosine_distance
contrib.losses: internals.argument_orders.LOSSES
    cosine_distance=internals.argument_orders.cosine_distance
contrib.losses.python.losses: internals.argument_orders.LOSSES
    cosine_distance=internals.argument_orders.cosine_distance
contrib.losses.python.losses.loss_ops: internals.argument_orders.LOSSES
    cosine_distance=internals.argument_orders.cosine_distance
contrib.slim.metrics: internals.argument_orders.METRICS internals.argument_orders
contrib.metrics: internals.argument_orders.METRICS internals.argument_orders
    confusion_matrix=tf.math.confusion_matrix
contrib.metrics.python.ops.metric_ops: internals.argument_orders.METRICS internals.argument_orders
contrib.slim: losses=@contrib.slim.losses metrics=@contrib.slim.metrics
contrib.slim.variables: tf.contrib.framework
contrib.slim.(dataset_data_provider data_provider prefetch_queue): internals.slim_data_providers
contrib.slim.python.slim.data.(dataset_data_provider data_provider prefetch_queue):
    internals.slim_data_providers
contrib.slim.dataset: Dataset=internals.slim_internals.Dataset
contrib.slim.(evaluation python.slim.evaluation): tf.contrib.slim
    evaluate_once=internals.slim_evaluation.evaluate_once
    evaluation_loop=internals.slim_evaluation.evaluation_loop
contrib.saved_model:
    get_signature_def_by_key=gpugraph.tensorflow_import.estimator_parts.predictors.get_signature_def_by_key
contrib.saved_model.python.saved_model.signature_def_utils:
    get_signature_def_by_key=gpugraph.tensorflow_import.estimator_parts.predictors.get_signature_def_by_key
contrib.predictor:
    from_estimator=gpugraph.tensorflow_import.estimator_parts.predictors.from_estimator
    from_saved_model=gpugraph.tensorflow_import.estimator_parts.predictors.from_saved_model
contrib.predictor.predictor:
    Predictor=gpugraph.tensorflow_import.estimator_parts.predictors.Predictor
contrib.predictor.predictor_factories:
    from_estimator=gpugraph.tensorflow_import.estimator_parts.predictors.from_estimator
    from_saved_model=gpugraph.tensorflow_import.estimator_parts.predictors.from_saved_model
contrib.training: evaluate_once=repeated.evaluate_once
    evaluate_repeatedly=repeated.evaluate_repeatedly
    get_or_create_eval_step=repeated.get_or_create_eval_step
    StopAfterNEvalsHook=repeated.StopAfterNEvalsHook
    SummaryAtEndHook=repeated.SummaryAtEndHook
contrib.training.python.training.evaluation: repeated
"""

_ESTIMATOR = "tensorflow_estimator.python.estimator"
_TPU = f"{_ESTIMATOR}.tpu"

ESTIMATOR = {
    "estimator": "tensorflow_estimator._api.v1.estimator",
    "python.estimator": "tensorflow_estimator.python.estimator",
    "contrib.estimator.python.estimator.early_stopping": f"{_ESTIMATOR}.early_stopping",
    "contrib.estimator.python.estimator.hooks": f"{_ESTIMATOR}.hooks.hooks",
    "contrib.estimator": "tensorflow_estimator.contrib.estimator",
    "contrib.tpu.python.tpu.tpu_config": f"{_TPU}.tpu_config",
    "contrib.tpu.python.tpu.tpu_estimator": f"{_TPU}.tpu_estimator",
    "contrib.tpu.python.tpu.tpu_context": f"{_TPU}.tpu_context",
    "contrib.tpu": "tensorflow_estimator._api.v1.estimator.tpu",
    "contrib.gan": "tensorflow_gan",
    "contrib.kfac": "kfac",
    "contrib.constrained_optimization": "tensorflow_constrained_optimization",
}
"""By path relative to `tensorflow`, the module of the library that has its names."""

FURTHER_MODULES = {
    "tensorflow_estimator.contrib.estimator": (
        f"{_ESTIMATOR}.early_stopping",
        f"{_ESTIMATOR}.hooks.hooks",
    )
}
"""By module of a library, other modules of it that have names which programs find in the first."""
