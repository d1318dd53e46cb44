"""Internal modules of TensorFlow 1.15 that this package refuses, and the reasons.

Rows have the format of `left_out`. Paths are relative to `tensorflow.python`. Libraries can import
these modules, but a call of one of their names raises an error.
"""

from __future__ import annotations

_EAGER = "there is no eager execution: build a graph and run it in a Session"
_DEBUGGER = "there is no debugger: use tf.Print, tf.debugging.check_numerics, or Session.explain"
_COMPILED = "graphs are compiled when a Session runs them, all of them"
_TPU = "there are no TPUs: GPUs are used where there are kernels"

ROWS = f"""
autograph: internals of AutoGraph: use tf.autograph
compiler compat.tensorrt grappler: {_COMPILED}
data: internals of datasets: use tf.data
debug: {_DEBUGGER}
distribute: internals of strategies: use tf.distribute
eager: {_EAGER}
feature_column: internals of feature columns: use their public names
framework.convert_to_constants: graphs are frozen, not functions: use
    tf.graph_util.convert_variables_to_constants
framework.func_graph: internals of functions: use tf.function and its get_concrete_function
framework.function_def_to_graph: functions of a GraphDef are read by tf.import_graph_def
framework.ops._gradient_registry: gradients of ops are registered by tf.RegisterGradient
keras.models.in_place_subclassed_model_state_restoration: models are not reset in place
keras.saving.hdf5_format.load_optimizer_weights_from_hdf5_group: use tf.keras.models.load_model
keras.saving.saving_utils: internals of model files: use tf.keras.models.save_model
ops.batch_ops: inputs of several runs are not batched: feed a batch, or use tf.train.batch
ops.clustering_ops ops.gen_clustering_ops: there is no clustering: another
    library's functions can be called in tf.py_func
ops.gen_nccl_ops ops.nccl_ops: gradients of several GPUs are added by a
    tf.distribute.MirroredStrategy or tf.add_n
ops.gen_sdca_ops: there is no dual coordinate ascent: use tf.train.FtrlOptimizer
framework.op_def_library.OpDefLibrary: ops compiled against TensorFlow cannot be loaded: declare
    ops by tf.register_op
ops.control_flow_ops._case_helper: use tf.case
ops.metrics_impl._streaming_sparse_average_precision_at_top_k: use
    tf.metrics.average_precision_at_k
ops.linalg: internals of linear operators: use tf.linalg
ops.list_ops.tensor_list_push_back_batch: loops keep their values in a tf.TensorArray
ops.nn_ops.Convolution: use tf.nn.convolution
ops.ragged: there are no ragged tensors: use a SparseTensor, or pad, and tf.sequence_mask
ops.random_ops.parameterized_truncated_normal: use tf.random.truncated_normal, scaled and clipped
ops.summary_ops_v2.create_db_writer: databases are not written: use create_file_writer
ops.summary_ops_v2.run_metadata* ops.summary_ops_v2.keras_model ops.summary_ops_v2.trace_*
    ops.summary_ops_v2.write_raw_pb: use run_metadata of Session.run, and tf.summary.FileWriter
ops.variable_scope.EagerVariableStore: {_EAGER}
ops.variables._all_saveable_objects: use tf.global_variables
profiler.internal profiler.profile_context profiler.tfprof_logger profiler.*.advise: use
    tf.profiler.profile, run_metadata of Session.run, or tf.train.ProfilerHook
pywrap_tensorflow.TFE_Py_FastPathExecute pywrap_tensorflow.TF_GetAllOpList
    pywrap_tensorflow.TF_GetBuffer: there is no C library of TensorFlow
saved_model.loader_impl._get_main_op_tensor saved_model.loader_impl._parse_saved_model
    saved_model.loader_impl.get_asset_tensors: use tf.saved_model.loader.load
saved_model.nested_structure_coder: no SavedModel with functions is written: use
    tf.saved_model.Builder
tools: the tools are commands of gpugraph, see `gpugraph --help`, or tf.graph_util
tpu: {_TPU}
training.basic_session_run_hooks._MultiStepStopAtStepHook: one run is one step: use
    tf.train.StopAtStepHook
training.tracking.graph_view training.tracking.util.frozen_saver: use tf.train.Checkpoint
"""
