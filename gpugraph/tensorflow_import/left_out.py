"""Names that are not here on purpose, or no more in TensorFlow 1.15: what to use instead.

A row holds for a path below `tensorflow` and all paths below it.
"""

from __future__ import annotations

import inspect
from typing import Any

_OWN_OPS = "libraries are compiled against TensorFlow: declare ops by tf.register_op"
_DUAL = "there is no dual coordinate ascent: use tf.train.FtrlOptimizer, which has l1 and l2"
_CODEC = "there is no codec: use PNG or BMP files, or another library's codec in tf.py_func"
_RAGGED = "there are no ragged tensors: use tf.string_split, which gives a SparseTensor"
_UNICODE = (
    "there are no ragged tensors: use tf.strings.unicode_transcode to UTF-32-BE, and tf.decode_raw"
)
_REWRITE = (
    "no op is cast by itself: cast to tf.bfloat16, or to tf.float16 with "
    "tf.train.experimental.MixedPrecisionLossScaleOptimizer"
)
_QUANTIZED = "no kernel computes in quantized numbers: use tf.quantization.dequantize, then tf."
_GENERATORS = "there are no generators with a state: use tf.random.stateless_uniform with a counter"
_MONOTONIC = "there is no monotonic attention: use BahdanauAttention or LuongAttention"
_PROFILER = "there is no profiler: use run_metadata of Session.run, or tf.train.ProfilerHook"
_FUNCTIONS = "there is no eager execution, and there are no tf.functions to save"
_REVERSIBLE = "there are no reversible blocks: use tf.recompute_grad, which saves memory too"
_DATASETS = "there are no datasets: feed batches, or use tf.train.batch and other queues"
_TABLES = "there are no tables in graphs: look values up in Python, or by tf.py_func"
_CLUSTER = "programs run in one process: there are no clusters"

_ROWS = f"""
CriticalSection: runs that touch a resource variable take turns: use tf.control_dependencies
GradientTape: there is no eager execution: use tf.gradients
autograph: programs build their graphs: use tf.cond and tf.while_loop
compat.v2: the behaviour is TensorFlow 1's: use tf.compat.v1
config.experimental_connect_to_cluster: there is no eager execution: give a Session its target
config.experimental_connect_to_host: there is no eager execution: give a Session its target
config.experimental_run_functions_eagerly: there is no eager execution: there are no tf.functions
contrib.autograph: programs build their graphs: use tf.cond and tf.while_loop
contrib.data: {_DATASETS}
contrib.eager: there is no eager execution: build a graph and run it in a Session
contrib.framework.fuse_op: graphs are fused when a Session compiles them
contrib.layers.RevBlock: {_REVERSIBLE}
contrib.layers.rev_block: {_REVERSIBLE}
contrib.seq2seq.BahdanauMonotonicAttention: {_MONOTONIC}
contrib.seq2seq.LuongMonotonicAttention: {_MONOTONIC}
contrib.seq2seq.monotonic_attention: {_MONOTONIC}
contrib.cudnn_rnn: there is no cuDNN: use tf.contrib.rnn.LSTMBlockFusedCell, or tf.nn.dynamic_rnn
contrib.gan: write both losses by tf.losses, and train them by two optimizers
contrib.graph_editor: graphs are changed as messages: use as_graph_def and tf.import_graph_def
contrib.image: there are no transforms of images by matrices: use tf.image, or tf.py_func
contrib.learn: there are no estimators: use tf.layers and a tf.train.MonitoredTrainingSession
contrib.lookup: {_TABLES}
contrib.losses: use tf.losses, whose arguments are labels, then predictions
contrib.metrics: use tf.metrics, where streaming_mean is tf.metrics.mean
contrib.nccl: variables of several GPUs are added by tf.add_n
contrib.nn: use tf.nn
contrib.opt: use the optimizers of tf.train, or subclass one
contrib.quantize: use tf.quantization.fake_quant_with_min_max_vars
contrib.resampler: there is no sampling between pixels at places: use tf.gather_nd and weights
contrib.slim.learning.train: run the train op in a tf.train.MonitoredTrainingSession
contrib.slim.learning.train_step: run the train op in a tf.train.MonitoredTrainingSession
contrib.lite: models are run by a Session, not by TensorFlow Lite
contrib.tensorrt: graphs are compiled when a Session runs them
contrib.text: pairs of words are chosen in Python, or by tf.py_func
contrib.tpu: there are no TPUs: GPUs are used where there are kernels
errors.raise_exception_on_not_ok_status: there is no C library: what fails raises its tf.errors
function: there is no eager execution: build a graph and run it in a Session
image.adjust_jpeg_quality: {_CODEC}
image.decode_and_crop_jpeg: {_CODEC}
image.decode_gif: {_CODEC}
image.decode_jpeg: {_CODEC}
image.encode_jpeg: {_CODEC}
image.extract_jpeg_shape: {_CODEC}
image.random_jpeg_quality: {_CODEC}
io.decode_and_crop_jpeg: {_CODEC}
io.decode_gif: {_CODEC}
io.decode_jpeg: {_CODEC}
io.encode_jpeg: {_CODEC}
io.extract_jpeg_shape: {_CODEC}
lite: models are run by a Session, not by TensorFlow Lite
LMDBReader: files of LMDB need its library: read them in tf.py_func, or store TFRecords
load_file_system_library: libraries are compiled against TensorFlow: mount what is to be read
load_library: {_OWN_OPS}
load_op_library: {_OWN_OPS}
nn.quantized_avg_pool: {_QUANTIZED}nn.avg_pool
nn.quantized_conv2d: {_QUANTIZED}nn.conv2d
nn.quantized_max_pool: {_QUANTIZED}nn.max_pool
nn.quantized_relu_x: {_QUANTIZED}clip_by_value
profiler: {_PROFILER}
py_function: there is no eager execution: use tf.py_func or tf.numpy_function
python.eager.backprop: there is no eager execution: use tf.gradients
python.tpu: there are no TPUs: GPUs are used where there are kernels
quantization.quantized_concat: {_QUANTIZED}concat
quantized_concat: {_QUANTIZED}concat
random.Generator: {_GENERATORS}
random.create_rng_state: {_GENERATORS}
random.experimental: {_GENERATORS}
random.get_global_generator: {_GENERATORS}
random.set_global_generator: {_GENERATORS}
strings.bytes_split: {_RAGGED} (with the delimiter "")
strings.ngrams: there are no ragged tensors: join slices by tf.strings.join
strings.unicode_decode: {_UNICODE}
strings.unicode_decode_with_offsets: {_UNICODE}
strings.unicode_encode: {_UNICODE}
strings.unicode_split: {_UNICODE}
strings.unicode_split_with_offsets: {_UNICODE}
strings.unicode_script: Python has no table of scripts: use unicodedata.name in tf.py_func
sysconfig: {_OWN_OPS}
test.create_local_cluster: {_CLUSTER}
tpu: there are no TPUs: GPUs are used where there are kernels
saved_model.experimental: {_FUNCTIONS}
saved_model.load_v2: {_FUNCTIONS}: use tf.saved_model.load, or gpugraph.saved_model.load_function
saved_model.save: {_FUNCTIONS}: use tf.saved_model.simple_save, or tf.saved_model.Builder
summary.all_v2_summary_ops: there are no summaries of TensorFlow 2: use tf.summary.merge_all
summary.initialize: there are no summaries of TensorFlow 2: use tf.summary.FileWriter
train.do_quantize_training_on_graphdef: use tf.quantization.fake_quant_with_min_max_vars
train.experimental.disable_mixed_precision_graph_rewrite: {_REWRITE}
train.experimental.enable_mixed_precision_graph_rewrite: {_REWRITE}
train.sdca_fprint: {_DUAL}
train.sdca_optimizer: {_DUAL}
train.sdca_shrink_l1: {_DUAL}
"""

_RENAMED = """
audio_summary: summary.audio
batch_cholesky: cholesky
batch_cholesky_solve: cholesky_solve
batch_fft: fft
batch_ifft: ifft
batch_matmul: matmul
batch_matrix_band_part: matrix_band_part
batch_matrix_determinant: matrix_determinant
batch_matrix_diag: matrix_diag
batch_matrix_diag_part: matrix_diag_part
batch_matrix_inverse: matrix_inverse
batch_matrix_set_diag: matrix_set_diag
batch_matrix_solve: matrix_solve
batch_matrix_transpose: matrix_transpose
batch_matrix_triangular_solve: matrix_triangular_solve
batch_self_adjoint_eig: self_adjoint_eig
batch_svd: svd
complex_abs: abs
concat_v2: concat
contrib.deprecated.histogram_summary: summary.histogram
contrib.deprecated.image_summary: summary.image
contrib.deprecated.merge_all_summaries: summary.merge_all
contrib.deprecated.merge_summary: summary.merge
contrib.deprecated.scalar_summary: summary.scalar
histogram_summary: summary.histogram
image_summary: summary.image
inv: reciprocal
list_diff: setdiff1d
listdiff: setdiff1d
merge_all_summaries: summary.merge_all
merge_summary: summary.merge
models.rnn.rnn: nn.static_rnn
models.rnn.rnn_cell: nn.rnn_cell
mul: multiply
neg: negative
nn.bidirectional_rnn: nn.static_bidirectional_rnn
nn.rnn: nn.static_rnn
nn.state_saving_rnn: nn.static_state_saving_rnn
pack: stack
scalar_summary: summary.scalar
select: where
sub: subtract
train.SummaryWriter: summary.FileWriter
unpack: unstack
"""


def _read(text: str) -> dict[str, str]:
    pairs = (line.partition(": ") for line in filter(None, text.splitlines()))
    return {path: reason for path, _, reason in pairs}


LEFT_OUT = _read(_ROWS)
"""For paths that are not here on purpose, the reason and what to use."""

RENAMED = _read(_RENAMED)
"""Names from before TensorFlow 1.0 that 1.15 has not: what they are called since then."""


def instead_of(path: str) -> str:
    """What to use for `tensorflow.<path>`, which is not here; nothing where that is not known."""
    for prefix, reason in LEFT_OUT.items():
        if path == prefix or path.startswith(f"{prefix}."):
            return reason
    for prefix, name in RENAMED.items():
        if path == prefix or path.startswith(f"{prefix}."):
            return f"since TensorFlow 1.0 it is tf.{name}{path[len(prefix) :]}"
    return ""


def refusal_of(value: Any) -> str:
    """Why a function that is here only raises, and what to use; nothing for other values."""
    if inspect.isfunction(value) and value.__annotations__.get("return") == "NoReturn":
        return (inspect.getdoc(value) or "").partition("\n")[0]
    return ""
