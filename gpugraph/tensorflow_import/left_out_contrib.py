"""Modules of `tf.contrib` in TensorFlow 1.15 and earlier that this package omits, and the reasons.

Rows have the format of `left_out`; paths are relative to `tensorflow.contrib`. Each module of
1.15's contrib is either in this package or has a row.
"""

from __future__ import annotations

_ELSEWHERE = "another library's functions can be called in tf.py_func"
_NOT_HERE = f"it is a separate library: {_ELSEWHERE}"
_ESTIMATORS = (
    "estimators are in the library tensorflow-estimator: install it by "
    "`pip install --no-deps tensorflow-estimator==1.15.2`"
)
_NO_TREES = f"there are no decision forests: {_ELSEWHERE}"
_OTHER_CLUSTERS = "clusters consist of tf.train.Server objects over gRPC: give them the addresses"
_COMPILED = "graphs are compiled when a Session runs them"
_TOOLS = "it is a part of TensorFlow's own build, and has no functions for programs"
_STORES = "only files of the operating system are read: mount the files to read"
_MONOTONIC = "there is no monotonic attention: use BahdanauAttention or LuongAttention"
_REVERSIBLE = "there are no reversible blocks: use tf.recompute_grad, which saves memory too"
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
coder: there is no range coder: use tf.py_func
compiler: {_COMPILED}, all of them: there is no scope to request it
constrained_optimization: write the Lagrangian, and train it by two optimizers
copy_graph meta_graph_transform: graphs are copied as messages, by tf.import_graph_def
cudnn_rnn: there is no cuDNN: use tf.contrib.rnn.LSTMBlockFusedCell, or tf.nn.dynamic_rnn
data.LMDBDataset: files of LMDB need its library: read them by Dataset.from_generator
deprecated: use tf.summary
distribute.TPUStrategy distribute.initialize_tpu_system: there are no TPUs: use
    tf.distribute.MirroredStrategy
distribute: write the step by tf.distribute.Strategy.experimental_run_v2
eager: there is no eager execution: build a graph and run it in a Session
estimator learn: {_ESTIMATORS}
factorization: there is no clustering, and no factorization of matrices: {_ELSEWHERE}
ffmpeg: there is no audio or video codec: decode files in tf.py_func
framework.fuse_op: graphs are fused when a Session compiles them
fused_conv: {_COMPILED}: tf.nn.conv2d, tf.nn.bias_add and tf.nn.relu become one step
gdr mpi mpi_collectives rpc verbs: {_OTHER_CLUSTERS}
gan: write both losses by tf.losses, and train them by two optimizers
graph_editor: graphs are changed as messages: use as_graph_def and tf.import_graph_def
grid_rnn ndlstm: use tf.contrib.rnn, and transpose inputs that run along another dimension
hooks: use tf.train.ProfilerHook and other hooks of tf.train
image.adjust_hsv_in_yiq image.random_hsv_in_yiq: use tf.image.adjust_hue and adjust_saturation
image.bipartite_match image.connected_components image.single_image_random_dot_stereograms
    image.interpolate_spline image.sparse_image_warp: {_ELSEWHERE}
input_pipeline: {_QUEUES}
integrate: there is no solver of differential equations: use tf.while_loop or tf.scan
kernel_methods: write the features by tf.random.normal and tf.cos
kfac: there is no second-order optimizer: use tf.train.AdamOptimizer
labeled_tensor: dimensions of tensors have no names: use tf.transpose and tf.gather
layers.RevBlock layers.rev_block: {_REVERSIBLE}
linalg: use tf.linalg
linear_optimizer: there is no dual coordinate ascent: use tf.train.FtrlOptimizer
lite: {_NOT_LITE}
losses: use tf.losses, whose arguments are labels, then predictions
memory_stats: use the method memory_stats of a tf.Session
metrics: use tf.metrics, where streaming_mean is tf.metrics.mean
mixed_precision: cast to tf.float16, with tf.train.experimental.MixedPrecisionLossScaleOptimizer
model_pruning: multiply weights by masks that are variables: use tf.get_variable and tf.assign
nearest_neighbor: {_ELSEWHERE}, or compare all by tf.matmul and tf.nn.top_k
nn.nth_element: use tf.nn.top_k, or tf.sort
nn.rank_sampled_softmax_loss nn.sampled_sparse_softmax_loss: use tf.nn.sampled_softmax_loss
opt.AGNCustomGetter opt.AGNOptimizer opt.AdamGSOptimizer opt.DropStaleGradientOptimizer
    opt.ElasticAverageCustomGetter opt.ElasticAverageOptimizer opt.GGTOptimizer
    opt.LazyAdamGSOptimizer opt.ModelAverageCustomGetter opt.ModelAverageOptimizer
    opt.MultitaskOptimizerWrapper opt.RegAdagradOptimizer opt.ShampooOptimizer: use another
    optimizer of tf.contrib.opt or of tf.train
optimizer_v2: use the optimizers of tf.train
periodic_resample: use tf.depth_to_space
predictor.from_contrib_estimator: estimators of tf.contrib.learn are not here: use
    tf.contrib.predictor.from_estimator
proto: parse messages by their classes in tf.py_func
quantization: use tf.quantization
quantize: use tf.quantization.fake_quant_with_min_max_vars
rate: count in a tf.Variable, and divide by time in Python
receptive_field: sizes and strides of layers are counted in Python, from the GraphDef
recurrent: use tf.while_loop, tf.scan or tf.nn.dynamic_rnn
reduce_slice_ops: use tf.math.segment_sum and other sums of segments
saved_model: use tf.saved_model, or the save of a tf.keras.Model
seq2seq.BahdanauMonotonicAttention seq2seq.LuongMonotonicAttention seq2seq.monotonic_attention:
    {_MONOTONIC}
session_bundle: it predates TensorFlow 1.0: use tf.saved_model
solvers: there are no iterative solvers: use tf.linalg.solve, or tf.while_loop
specs: write the layers with tf.contrib.layers, instead of naming them in a text
stat_summarizer: use run_metadata of Session.run
summary: there are no summaries of TensorFlow 2: use tf.summary.FileWriter
tensorrt: {_COMPILED}
testing: use tf.test, and tf.train.summary_iterator
text: select pairs of words in Python, or with tf.py_func
tfprof: there is no profiler: use run_metadata of Session.run, or tf.train.ProfilerHook
timeseries: there are no models of time series: {_ELSEWHERE}
tpu: there are no TPUs: GPUs are used where there are kernels
training.NextQueuedSequenceBatch training.SequenceQueueingStateSaver
    training.batch_sequences_with_states: {_QUEUES}
training.python_input: use tf.data.Dataset.from_generator
training.resample_at_rate training.weighted_resample training.rejection_sample
    training.stratified_sample: use tf.data.experimental.rejection_resample
"""
