"""Additional rows of `module_table` for the modules of contrib, and for names that only contrib
has.

In a target, `contrib.x` means `gpugraph.library.contrib.x`, and `rnn.x` means
`gpugraph.library.contrib_rnn.x`. `names.x` means a module of this folder. `learned.x` means
`gpugraph.tensorflow_import.contrib_learn.x`.
"""

from __future__ import annotations

_STATE = "contrib.event_summaries.summary_state"
_SUMMARIES = "contrib.event_summaries.contrib_summaries"
_VERSION_2 = "contrib.event_summaries.summaries_of_version_2"

_WRITERS = f"""create_file_writer={_STATE}.create_file_writer
    create_summary_file_writer={_STATE}.create_summary_file_writer
    SummaryWriter={_STATE}.SummaryWriter all_summary_ops={_STATE}.all_v2_summary_ops
    summary_writer_initializer_op={_STATE}.summary_writer_initializer_op
    should_record_summaries={_STATE}.should_record_summaries
    record_summaries_every_n_global_steps={_STATE}.record_summaries_every_n_global_steps
    always_record_summaries={_STATE}.always_record_summaries
    never_record_summaries={_STATE}.never_record_summaries
    record_if={_STATE}.record_if create_noop_writer={_STATE}.create_noop_writer
    scalar={_SUMMARIES}.scalar histogram={_SUMMARIES}.histogram image={_SUMMARIES}.image
    audio={_SUMMARIES}.audio generic={_SUMMARIES}.generic graph={_SUMMARIES}.graph
    import_event={_SUMMARIES}.import_event flush={_SUMMARIES}.flush
    eval_dir={_SUMMARIES}.eval_dir initialize={_SUMMARIES}.initialize"""

_PROFILES = (
    "gpugraph.tensorflow_import.profiling.graph_profiles "
    "gpugraph.tensorflow_import.profiling.profile_options"
)
_LEARN = """
contrib.factorization: learned.k_means learned.factorization_estimator
    names.matrix_factorization
contrib.factorization.python.ops.factorization_ops: names.matrix_factorization
contrib.factorization.python.ops.wals: learned.factorization_estimator
contrib.factorization.python.ops.gen_factorization_ops: gen
contrib.factorization.python.ops.clustering_ops: learned.k_means
contrib.learn: RunConfig=gpugraph.tensorflow_import.estimator_parts.learn_run_config.RunConfig
    datasets=@contrib.learn.datasets monitors=@contrib.learn.monitors learned.learn_columns
    learned.learn_estimators learned.canned_estimators learned.experiments learned.metric_specs
    learned.model_function_ops learn_runner=@contrib.learn.python.learn.learn_runner
    preprocessing=@contrib.learn.preprocessing
contrib.learn.datasets: learned.csv_datasets base=@contrib.learn.datasets.base
    mnist=@contrib.learn.datasets.mnist
contrib.learn.datasets.base: learned.csv_datasets
contrib.learn.python.learn.datasets: learned.csv_datasets base=@contrib.learn.datasets.base
    mnist=@contrib.learn.datasets.mnist
contrib.learn.python.learn.datasets.base: learned.csv_datasets
contrib.learn.(monitors python.learn.monitors): learned.learn_monitors
contrib.learn.python.learn.(learn_runner experiment): learned.experiments
contrib.learn.learn_runner: learned.experiments
contrib.learn.python.learn.metric_spec: learned.metric_specs
contrib.learn.python.learn.export_strategy: learned.learn_estimators
contrib.learn.utils.saved_model_export_utils: learned.learn_estimators
contrib.learn.python.learn.utils.saved_model_export_utils: learned.learn_estimators
contrib.learn.python.learn.estimators: learned.learn_estimators learned.canned_estimators
    model_fn=@contrib.learn.python.learn.estimators.model_fn
    run_config=@contrib.learn.python.learn.estimators.run_config
    estimator=@contrib.learn.python.learn.estimators.estimator
contrib.learn.python.learn.estimators.(estimator dnn linear dnn_linear_combined):
    learned.learn_estimators learned.canned_estimators learned.learn_columns
contrib.learn.python.learn.estimators.(model_fn constants prediction_key):
    learned.model_function_ops learned.metric_specs
contrib.learn.python.learn.estimators.run_config:
    RunConfig=gpugraph.tensorflow_import.estimator_parts.learn_run_config.RunConfig
contrib.layers: learned.learn_columns
contrib.layers.python.layers.(feature_column feature_column_ops): learned.learn_columns
"""

ROWS_OF_CONTRIB = f"""{_LEARN}
contrib.summary: {_WRITERS}
contrib.summary.summary: {_WRITERS}
python.ops.summary_ops_v2: {_WRITERS}
    _INVALID_SCOPE_CHARACTERS=internals.summary_internals.INVALID_SCOPE_CHARACTERS
    create_file_writer_v2={_VERSION_2}.create_file_writer_v2
    all_v2_summary_ops={_STATE}.all_v2_summary_ops write={_VERSION_2}.write
    summary_scope={_VERSION_2}.summary_scope get_step={_STATE}.get_step set_step={_STATE}.set_step
compat.v2.summary: scalar={_VERSION_2}.scalar histogram={_VERSION_2}.histogram
    image={_VERSION_2}.image audio={_VERSION_2}.audio text={_VERSION_2}.text
    write={_VERSION_2}.write create_file_writer={_VERSION_2}.create_file_writer_v2
    create_noop_writer={_STATE}.create_noop_writer SummaryWriter={_STATE}.SummaryWriter
    flush={_SUMMARIES}.flush record_if={_STATE}.record_if
    import_event={_SUMMARIES}.import_event
    should_record_summaries={_STATE}.should_record_summaries_v2
compat.v2.summary.experimental: get_step={_STATE}.get_step set_step={_STATE}.set_step
    summary_scope={_VERSION_2}.summary_scope
contrib.checkpoint: CheckpointManager=tf.train.CheckpointManager
    CheckpointableObjectGraph=gpugraph.formats.messages_pb2.TrackableObjectGraph
data: DatasetSpec=tf.data.experimental.DatasetStructure
data.experimental: Structure=tf.TypeSpec TensorStructure=names.data_structures.TensorStructure
    SparseTensorStructure=names.data_structures.SparseTensorStructure
    TensorArrayStructure=names.data_structures.TensorArrayStructure
contrib.cudnn_rnn: rnn.network_layers rnn.weight_cells rnn.weight_saveables
contrib.cudnn_rnn.python.layers: rnn.network_layers
contrib.cudnn_rnn.python.(layers.cudnn_rnn ops.cudnn_rnn_ops): rnn.network_layers rnn.weight_cells
    rnn.weight_saveables
contrib.framework.python.ops.audio_ops: gpugraph.ops.signal.audio_features tf.audio
contrib.integrate: names.differential_equations
contrib.integrate.python.ops.odes: names.differential_equations
contrib.linalg: tf.linalg
contrib.linalg.python.ops.(linear_operator_block_diag linear_operator_diag
    linear_operator_full_matrix linear_operator_identity linear_operator_kronecker
    linear_operator_lower_triangular linear_operator_low_rank_update): tf.linalg
contrib.graph_editor: contrib.graph_editor.op_selection contrib.graph_editor.graph_changes
    sgv=contrib.graph_editor.graph_changes.make_view
    ops=contrib.graph_editor.op_selection.select_ops ts=contrib.graph_editor.op_selection.select_ts
contrib.graph_editor.select: contrib.graph_editor.op_selection
contrib.graph_editor.(subgraph transform reroute util): contrib.graph_editor.graph_changes
    contrib.graph_editor.op_selection
contrib.metrics: names.contrib_metrics names.contrib_curves
    set_difference=tf.sets.set_difference
    set_intersection=tf.sets.set_intersection set_size=tf.sets.set_size
    set_union=tf.sets.set_union
contrib.slim.metrics: names.contrib_metrics names.contrib_curves
contrib.metrics.python.ops.(metric_ops histogram_ops): names.contrib_metrics
    names.contrib_curves
profiler: {_PROFILES} GraphNodeProto=gpugraph.formats.messages_pb2.GraphNodeProto
    MultiGraphNodeProto=gpugraph.formats.messages_pb2.MultiGraphNodeProto
python.profiler.(model_analyzer option_builder profiler): {_PROFILES}
contrib.tfprof: model_analyzer=@contrib.tfprof.model_analyzer
contrib.tfprof.model_analyzer: {_PROFILES}
contrib.rnn: IndyGRUCell=gpugraph.library.rnn.independent_gates.IndyGRUCell
    IndyLSTMCell=gpugraph.library.rnn.independent_gates.IndyLSTMCell
    best_effort_input_batch_size=gpugraph.library.rnn.independent_gates.best_effort_input_batch_size
    LayerRNNCell=gpugraph.library.rnn.rnn_cell_base.LayerCell
contrib.training: parse_values=gpugraph.platform.hparams.parse_values
    train=gpugraph.library.train.monitored_sessions.monitored_training.train
python.ops.lookup_ops: index_table_from_tensor=internals.lookup_tables.index_table_from_tensor
    index_to_string_table_from_tensor=internals.lookup_tables.index_to_string_table_from_tensor
summary: initialize={_SUMMARIES}.initialize all_v2_summary_ops={_STATE}.all_v2_summary_ops
"""
