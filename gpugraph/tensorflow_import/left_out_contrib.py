"""Modules of `tf.contrib` in TensorFlow 1.15 and earlier that this package omits, and the reasons.

Rows have the format of `left_out`. Paths are relative to `tensorflow.contrib`. Each module of
contrib in TensorFlow 1.15 is in this package or has a row.
"""

from __future__ import annotations

_ELSEWHERE = "another library's functions can be called in tf.py_func"
_ESTIMATORS = (
    "estimators are in the library tensorflow-estimator: install it by "
    "`pip install --no-deps tensorflow-estimator==1.15.2`"
)
_NO_TREES = (
    "the ops that grow its trees are not there: use BoostedTreesClassifier of the "
    "library tensorflow-estimator, or the forests of scikit-learn in tf.py_func"
)
_OTHER_CLUSTERS = "clusters consist of tf.train.Server objects over gRPC: give them the addresses"
_COLUMNS = "use the columns of tf.feature_column, and tf.feature_column.input_layer or linear_model"
_PROBABILITY = (
    "it is in the library tensorflow-probability: install it by "
    "`pip install --no-deps tensorflow-probability==0.7.0`"
)
_COMPILED = "graphs are compiled when a Session runs them"
_TOOLS = "it is a part of TensorFlow's own build, and has no functions for programs"
_STORES = "only files of the operating system are read: mount the files to read"
_NOT_LITE = "models are run by a Session, not by TensorFlow Lite"
_QUEUES = "use tf.data, or tf.train.batch, tf.train.shuffle_batch and other queues"

ROWS = f"""
all_reduce nccl: gradients of several GPUs are added by a tf.distribute.MirroredStrategy or tf.add_n
android cmake hvx makefile pi_examples remote_fused_graph: {_TOOLS}
batching: inputs of several runs are not batched: feed a batch, or use tf.train.batch
bayesflow: draw samples by tf.distributions, and loop by tf.while_loop
bigtable cloud gcs_config hadoop igfs ignite kafka kinesis libsvm parquet pubsub: {_STORES}
boosted_trees decision_trees tensor_forest: {_NO_TREES}
cluster_resolver: use tf.distribute.cluster_resolver
checkpoint.NumpyState checkpoint.PythonStateWrapper: keep the value in a tf.Variable, or in a
    separate file
checkpoint.capture_dependencies checkpoint.split_dependency: name the objects as attributes of a
    tf.train.Checkpoint
checkpoint.dot_graph_from_checkpoint: print tf.contrib.checkpoint.object_metadata
coder: there is no range coder: use tf.py_func
compiler: {_COMPILED}, all of them: there is no scope to request it
constrained_optimization: it is in the library of this name: install it by
    `pip install --no-deps tensorflow-constrained-optimization==0.2`
copy_graph meta_graph_transform: graphs are copied as messages, by tf.import_graph_def
data.LMDBDataset: files of LMDB need its library: read them by Dataset.from_generator
deprecated: use tf.summary
distribute.TPUStrategy distribute.initialize_tpu_system: there are no TPUs: use
    tf.distribute.MirroredStrategy
distribute.UpdateContext: update variables by tf.distribute.StrategyExtended.update
distributions.Autoregressive distributions.BatchReshape
    distributions.PoissonLogNormalQuadratureCompound distributions.VectorDiffeomixture
    distributions.auto_correlation
    distributions.quadrature_scheme*: {_PROBABILITY}
distributions.estimator_head_distribution_regression: return the log_prob as the loss of a model_fn
eager: there is no eager execution: build a graph and run it in a Session
estimator learn: {_ESTIMATORS}
factorization.GMM factorization.GmmAlgorithm factorization.gmm: there is no Gaussian mixture:
    {_ELSEWHERE}
factorization.KMeansClustering: {_ESTIMATORS}
ffmpeg: there is no audio or video codec: decode files in tf.py_func
framework.RecordInput: use tf.data.TFRecordDataset with shuffle and batch
framework.fuse_op: graphs are fused when a Session compiles them
fused_conv: {_COMPILED}: tf.nn.conv2d, tf.nn.bias_add and tf.nn.relu become one step
gdr mpi mpi_collectives rpc verbs: {_OTHER_CLUSTERS}
gan: it is in the library tensorflow-gan: install it by
    `pip install --no-deps tensorflow-gan==1.0.0.dev0`
graph_editor.bypass graph_editor.connect graph_editor.detach* graph_editor.edit
    graph_editor.reroute_inputs graph_editor.reroute_ios graph_editor.reroute_outputs
    graph_editor.swap_inputs graph_editor.swap_ios graph_editor.swap_outputs
    graph_editor.Transformer graph_editor.*_handler graph_editor.*placeholder*
    graph_editor.check_cios graph_editor.compute_boundary_ts graph_editor.get_*
    graph_editor.make_view_from_scope graph_editor.op graph_editor.ph: use
    tf.contrib.graph_editor.reroute_ts and copy_with_input_replacements
grid_rnn ndlstm: use tf.contrib.rnn, and transpose inputs that run along another dimension
image.adjust_hsv_in_yiq image.random_hsv_in_yiq: use tf.image.adjust_hue and adjust_saturation
image.connected_components image.single_image_random_dot_stereograms:
    {_ELSEWHERE}
input_pipeline: {_QUEUES}
kernel_methods: write the features by tf.random.normal and tf.cos
kfac: it is in the library kfac: install it by `pip install --no-deps kfac==0.2.4`
labeled_tensor: dimensions of tensors have no names: use tf.transpose and tf.gather
layers.bucketized_column layers.check_feature_columns layers.create_feature_spec_for_parsing
    layers.crossed_column layers.embedding_column layers.infer_real_valued_columns
    layers.input_from_feature_columns layers.joint_weighted_sum_from_feature_columns
    layers.make_place_holder_tensors_for_base_features layers.one_hot_column
    layers.parse_feature_columns_from_examples layers.parse_feature_columns_from_sequence_examples
    layers.real_valued_column layers.scattered_embedding_column
    layers.sequence_input_from_feature_columns layers.shared_embedding_columns
    layers.sparse_column_with_hash_bucket layers.sparse_column_with_integerized_feature
    layers.sparse_column_with_keys layers.sparse_column_with_vocabulary_file
    layers.transform_features layers.weighted_sparse_column
    layers.weighted_sum_from_feature_columns: {_COLUMNS}
layers.SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY: use tf.feature_column.crossed_column
layers.multi_class_target layers.regression_target: use tf.losses, whose arguments are labels,
    then predictions
legacy_seq2seq.embedding_tied_rnn_seq2seq legacy_seq2seq.one2many_rnn_seq2seq: use
    tf.contrib.legacy_seq2seq.embedding_rnn_seq2seq, or tf.contrib.seq2seq
linear_optimizer: there is no dual coordinate ascent: use tf.train.FtrlOptimizer
lite: {_NOT_LITE}
losses: use tf.losses, whose arguments are labels, then predictions
memory_stats: use the method memory_stats of a tf.Session
mixed_precision: cast to tf.float16, with tf.train.experimental.MixedPrecisionLossScaleOptimizer
model_pruning: multiply weights by masks that are variables: use tf.get_variable and tf.assign
nearest_neighbor: {_ELSEWHERE}, or compare all by tf.matmul and tf.nn.top_k
nn.nth_element: use tf.nn.top_k, or tf.sort
nn.rank_sampled_softmax_loss nn.sampled_sparse_softmax_loss: use tf.nn.sampled_softmax_loss
opt.ModelAverageCustomGetter opt.ModelAverageOptimizer: use
    tf.contrib.opt.ElasticAverageOptimizer, or tf.train.SyncReplicasOptimizer
optimizer_v2: use the optimizers of tf.train
periodic_resample: use tf.depth_to_space
predictor.from_contrib_estimator: use tf.contrib.predictor.from_estimator
proto: parse messages by their classes in tf.py_func
quantization: use tf.quantization
quantize: use tf.quantization.fake_quant_with_min_max_vars
rnn.CompiledWrapper: {_COMPILED}: use the cell itself
rnn.LSTMBlockWrapper: derive from tf.contrib.rnn.FusedRNNCell
rate: count in a tf.Variable, and divide by time in Python
receptive_field: sizes and strides of layers are counted in Python, from the GraphDef
recurrent: use tf.while_loop, tf.scan or tf.nn.dynamic_rnn
reduce_slice_ops: use tf.math.segment_sum and other sums of segments
saved_model: use tf.saved_model, or the save of a tf.keras.Model
session_bundle: it predates TensorFlow 1.0: use tf.saved_model
solvers: there are no iterative solvers: use tf.linalg.solve, or tf.while_loop
specs: write the layers with tf.contrib.layers, instead of naming them in a text
stat_summarizer: use run_metadata of Session.run
summary.create_db_writer summary.summary.create_db_writer: databases are not written: use
    create_file_writer
tensorrt: {_COMPILED}
testing: use tf.test, and tf.train.summary_iterator
text: select pairs of words in Python, or with tf.py_func
tfprof.ProfileContext tfprof.tfprof_logger tfprof.model_analyzer.*: use tf.profiler.profile,
    run_metadata of Session.run, or tf.train.ProfilerHook
timeseries: there are no models of time series: {_ELSEWHERE}
tpu.TPUEstimator tpu.TPUEstimatorSpec tpu.RunConfig tpu.TPUConfig tpu.InputPipelineConfig: the
    library tensorflow-estimator has it, for use_tpu=False: install it by `pip install --no-deps
    tensorflow-estimator==1.15.2`
tpu: there are no TPUs: GPUs are used where there are kernels
training.NextQueuedSequenceBatch training.SequenceQueueingStateSaver
    training.batch_sequences_with_states: {_QUEUES}
training.RandomStrategy: use tf.contrib.training.GreedyLoadBalancingStrategy, or derive from object:
    device setters call the strategy with an operation
training.python_input: use tf.data.Dataset.from_generator
training.resample_at_rate training.weighted_resample training.rejection_sample
    training.stratified_sample: use tf.data.experimental.rejection_resample
"""
