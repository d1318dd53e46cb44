"""The modules that TensorFlow's own modules import, and that programs take from there, such as
`slim.init_ops` or `from tensorflow.python.ops.rnn import array_ops`.

A row is a package and the names of its modules. `name=module` is a module that is imported by
another name. A name that TensorFlow's modules use for several modules has no row.
"""

from __future__ import annotations

_ROWS = """
contrib: contrib_framework=framework contrib_rnn=rnn lookup
contrib.distributions.python.ops: bijectors distribution_utils=distribution_util
contrib.factorization.python.ops: clustering_ops
contrib.framework.python.framework: contrib_tensor_util=tensor_util
contrib.framework.python.ops: contrib_variables=variables
contrib.graph_editor: reroute select subgraph
contrib.layers.python.ops: contrib_sparse_ops=sparse_ops
contrib.learn.python.learn: export_strategy metric_spec
contrib.learn.python.learn.estimators: estimator linear prediction_key
contrib.learn.python.learn.utils: saved_model_export_utils
contrib.losses.python.losses: loss_ops
contrib.metrics.python.ops: metric_ops
contrib.predictor: predictor
contrib.rnn.python.ops: core_rnn_cell lstm_ops
contrib.seq2seq.python.ops: decoder
core.framework: attr_value_pb2 function_pb2 graph_pb2 node_def_pb2 op_def_pb2 resource_handle_pb2
    summary_pb2 tensor_pb2 tensor_shape_pb2 types_pb2 variable_pb2 versions_pb2
core.lib.core: error_codes_pb2
core.protobuf: cluster_pb2 config_pb2 control_flow_pb2 meta_graph_pb2 queue_runner_pb2
    rewriter_config_pb2 saved_model_pb2 saved_object_graph_pb2 saver_pb2 struct_pb2
    tensorflow_server_pb2 trackable_object_graph_pb2
core.util: event_pb2
python: c_api=pywrap_tensorflow pywrap_tensorflow pywrap_tensorflow_internal tf2
python.autograph.core: ag_ctx converter
python.autograph.impl: autograph=api
python.autograph.lang: directives
python.autograph.utils: ag_logging
python.client: session session_lib=session tf_session=session timeline
python.compat: api_compat=compat fwd_compat=compat
python.data.experimental.ops: batching error_ops interleave_ops prefetching_ops scan_ops
    shuffle_ops
python.data.ops: core_readers=readers dataset_ops iterator_ops optional_ops
python.data.util: structure
python.distribute: collective_all_reduce_strategy cross_device_ops_lib=cross_device_ops
    dc=distribute_coordinator device_util distribute_coordinator_training=estimator_training
    distribute_ctx=distribution_strategy_context distribute_lib distribute_values=values
    distribution_strategy_context ds=distribution_strategy_context
    ds_context=distribution_strategy_context ds_reduce_util=reduce_util ds_values=values
    mirrored_strategy parameter_server_strategy reduce_util value_lib=values values
python.distribute.cluster_resolver: tpu_cluster_resolver
python.eager: context def_function defun=function eager_function=function execute
    function_lib=function monitoring tape wrap_function
python.feature_column: dense_features fc_old=feature_column fc_utils=utils
    sfc_lib=sequence_feature_column
python.framework: auto_control_deps common_shapes composite_tensor config constant_op device
    dtypes dtypes_module=dtypes errors errors_impl framework_ops=ops func_graph
    func_graph_module=func_graph graph_io graph_util importer indexed_slices meta_graph
    op_def_registry ops pydev=device random_seed smart_cond smart_module=smart_cond sparse_tensor
    sparse_tensor_lib=sparse_tensor sparse_tensor_py=sparse_tensor tensor_conversion_registry
    tensor_shape tensor_spec tensor_util test_util tf_device=device tf_ops=ops type_spec versions
python.keras: K=backend activations backend backend_config callbacks cbks=callbacks constraints
    initializers keras_layers=layers layer_module=layers metrics_module=metrics models
    models_lib=models regularizers saving
python.keras.engine: base_layer base_layer_utils input_spec sequential training_lib=training
    training_utils
python.keras.layers: recurrent_v2
python.keras.optimizer_v2: adagrad_v2=adagrad adam_v2=adam gradient_descent_v2=gradient_descent
    learning_rate_schedule rmsprop_v2=rmsprop
python.keras.utils: conv_utils data_utils generic_utils layer_utils losses_utils tf_utils
python.layers: layers_base=base
python.lib.io: file_io python_io
python.module: module
python.ops: array_grad array_ops array_ops_=array_ops candidate_sampling_ops check_ops clip_ops
    collective_ops cond_v2 confusion_matrix control_flow_ops control_flow_util
    control_flow_util_v2 custom_gradient data_flow_ops embedding_ops functional_ops gen_array_ops
    gen_candidate_sampling_ops gen_control_flow_ops gen_data_flow_ops gen_image_ops gen_io_ops
    gen_linalg_ops gen_logging_ops gen_lookup_ops gen_math_ops gen_nn_ops gen_parsing_ops
    gen_random_ops gen_resource_variable_ops gen_rnn_ops gen_set_ops gen_sparse_ops gen_state_ops
    gen_string_ops gradients gradients_impl gradients_util histogram_ops image_ops init_ops
    init_ops_v2 inplace_ops io_ops linalg_ops list_ops logging_ops lookup_ops manip_ops map_fn
    map_fn_lib=map_fn math_grad math_ops metrics_impl nn nn_impl nn_ops numerics op_selector
    parsing_ops partitioned_variables random_ops resource_variable_ops resources rnn_cell
    rnn_cell_impl script_ops sets sort_ops sparse_ops special_math_ops standard_ops state_ops
    string_ops summary_ops_v2 template template_ops=template tensor_array_ops
    tf_array_ops=array_ops tf_variables=variables variable_scope variables variables_lib=variables
    variables_module=variables vars_=variables vs=variable_scope weights_broadcast_ops while_v2
python.ops.distributions: bijector categorical_lib=categorical distribution
    distribution_lib=distribution gamma kullback_leibler normal normal_lib=normal
    transformed_distribution
python.ops.linalg: linear_operator linear_operator_algebra linear_operator_block_diag
    linear_operator_circulant linear_operator_composition linear_operator_diag
    linear_operator_householder linear_operator_identity linear_operator_inversion
    linear_operator_kronecker linear_operator_lower_triangular
python.ops.losses: losses_impl losses_util=util tf_losses_utils=util
python.ops.signal: fft_ops shape_ops
python.platform: app build_info flags gfile logging=tf_logging resource_loader tf_logging
python.saved_model: builder loader_impl saved_model_builder=builder saved_model_utils=utils_impl
    signature_constants signature_def_utils tag_constants
python.summary: core_summary=summary summary summary_iterator
python.summary.writer: writer writer_cache
python.tpu: tensor_tracer tpu_function
python.training: adagrad adam basic_session_run_hooks checkpoint_management coordinator
    device_setter momentum_opt=momentum monitored_session moving_averages optimizer
    optimizer_=optimizer optimizer_lib=optimizer optimizer_v1=optimizer queue_runner saver
    saver_lib=saver server_lib session_run_hook slot_creator summary_io sync_replicas_optimizer
    tf_saver=saver train=training train_optimizer=optimizer training_ops training_util
python.training.experimental: loss_scale_module=loss_scale
python.training.saving: saveable_object
python.training.tracking: data_structures trackable=base trackable_util=util trackable_utils=util
    tracking
python.util: compat compat_internal deprecation dispatch function_utils lazy_loader nest
    object_identity tf_contextlib tf_decorator tf_inspect tf_should_use util_compat=compat
"""


def _read(rows: str) -> dict[str, str]:
    paths = {}
    for row in rows.strip().replace("\n    ", " ").split("\n"):
        package, _, modules = row.partition(": ")
        for entry in modules.split():
            name, _, module = entry.partition("=")
            paths[name] = f"{package}.{module or name}"
    return paths


IMPORTED_MODULES = _read(_ROWS)
"""By the name in the module that imports it: the path of a module, relative to `tensorflow`."""

_INTERNAL = ("python.", "contrib.")


def imported_module(path: str, name: str) -> str | None:
    """Return the path of the module that an internal module of TensorFlow has imported by a name.

    Args:
      path: the path of the internal module. Public modules have imported no other modules.
      name: an attribute that neither the module nor a module below it has.
    """
    return IMPORTED_MODULES.get(name) if path.startswith(_INTERNAL) else None
