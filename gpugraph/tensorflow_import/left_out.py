"""The names that this package omits on purpose or that TensorFlow 1.15 no longer has, with their
replacements.

A row is a list of paths or patterns, followed by a reason. Paths are relative to `tensorflow`. The
reason also applies to all names below these paths. An indented line continues the previous one.
"""

from __future__ import annotations

import inspect
import re
from fnmatch import translate
from typing import Any

from gpugraph.ops.framework.left_out_op_types import left_out_reason
from gpugraph.tensorflow_import import left_out_contrib, left_out_internals
from gpugraph.tensorflow_import.later_names import PATTERNS
from gpugraph.tensorflow_import.refused_names import reason_of

_OWN_OPS = "libraries are compiled against TensorFlow: declare ops by tf.register_op"
_DUAL = "there is no dual coordinate ascent: use tf.train.FtrlOptimizer, which has l1 and l2"
_NO_RAGGED = "there are no ragged tensors: use a SparseTensor, or pad, and tf.sequence_mask"
_RAGGED = "there are no ragged tensors: use tf.string_split, which gives a SparseTensor"
_UNICODE = (
    "there are no ragged tensors: use tf.strings.unicode_transcode to UTF-32-BE, and tf.decode_raw"
)
_REWRITE = (
    "ops are not cast automatically: cast to tf.bfloat16, or to tf.float16 with "
    "tf.train.experimental.MixedPrecisionLossScaleOptimizer"
)
_QUANTIZED = "no kernel computes in quantized numbers: use tf.quantization.dequantize, then tf."
_GENERATORS = "there are no stateful generators: use tf.random.stateless_uniform with a counter"
_PROFILER = "use tf.profiler.profile, run_metadata of Session.run, or tf.train.ProfilerHook"
_FUNCTIONS = "objects with functions are not saved"

_ROWS = f"""
compat.v2.summary.trace_export compat.v2.summary.trace_on compat.v2.summary.trace_off
    compat.v2.summary.experimental.write_raw_pb: use run_metadata of Session.run, and
    tf.summary.FileWriter
core.*._[A-Z]* core.*.DESCRIPTOR: descriptors are attributes of the classes of messages
config.experimental_connect_to_cluster config.experimental_connect_to_host: there is no eager
    execution: give a Session its target
config.experimental_run_functions_eagerly: there is no eager execution:
    a tf.function is traced
distribute.experimental.TPUStrategy: there are no TPUs: use tf.distribute.MirroredStrategy
data.experimental.RaggedTensorStructure: {_NO_RAGGED}
experimental.function_executor_type experimental.output_all_intermediates: graphs are compiled as a
    whole when a Session runs them
estimator: estimators are in the library tensorflow-estimator: install it by
    `pip install --no-deps tensorflow-estimator==1.15.2`
GradientTape python.eager.backprop: there is no eager execution: use tf.gradients
io.decode_proto io.encode_proto: parse and write messages by their classes in tf.py_func
io.RaggedFeature ragged ragged_fill_empty_rows ragged_fill_empty_rows_grad RaggedTensor
    RaggedTensorSpec: {_NO_RAGGED}
keras.experimental.terminate_keras_multiprocessing_pools: worker processes end with fit
keras.utils.model_to_dot: no Graphviz is needed: tf.keras.utils.plot_model draws a model as SVG
keras.layers.disable_v2_dtype_behavior keras.layers.enable_v2_dtype_behavior: a layer's dtype is
    its argument, or that of its first input
keras.mixed_precision train.experimental.disable_mixed_precision_graph_rewrite
    train.experimental.enable_mixed_precision_graph_rewrite: {_REWRITE}
core.debug core.profiler core.protobuf.tpu core.protobuf.named_tensor_pb2: the messages
    of parts that do not exist here
python._pywrap_bfloat16 tools: the tools are commands of gpugraph: see `gpugraph --help`
lite: models are run by a Session, not by TensorFlow Lite
LMDBReader: files of LMDB need its library: read them in tf.py_func, or store TFRecords
load_file_system_library: libraries are compiled against TensorFlow: mount the files to read
load_library load_op_library sysconfig: {_OWN_OPS}
mlir xla: graphs are compiled when a Session runs them
nn.quantized_avg_pool: {_QUANTIZED}nn.avg_pool
nn.quantized_conv2d: {_QUANTIZED}nn.conv2d
nn.quantized_max_pool: {_QUANTIZED}nn.max_pool
nn.quantized_relu_x: {_QUANTIZED}clip_by_value
profiler.advise profiler.AdviceProto profiler.OpLogProto profiler.write_op_log: {_PROFILER}
tpu: there are no TPUs: GPUs are used where there are kernels
quantization.quantized_concat quantized_concat: {_QUANTIZED}concat
random.create_rng_state random.experimental random.Generator random.get_global_generator
    random.set_global_generator: {_GENERATORS}
saved_model.experimental: {_FUNCTIONS}
saved_model.load_v2: {_FUNCTIONS}: use tf.saved_model.load, or gpugraph.saved_model.load_function
saved_model.save: {_FUNCTIONS}: use tf.saved_model.simple_save, or tf.saved_model.Builder
strings.bytes_split: {_RAGGED} (with the delimiter "")
strings.ngrams: there are no ragged tensors: join slices by tf.strings.join
strings.unicode_decode strings.unicode_decode_with_offsets strings.unicode_encode
    strings.unicode_split strings.unicode_split_with_offsets: {_UNICODE}
strings.unicode_script: Python has no table of scripts: use unicodedata.name in tf.py_func
train.do_quantize_training_on_graphdef: use tf.quantization.fake_quant_with_min_max_vars
train.sdca_fprint train.sdca_optimizer train.sdca_shrink_l1: {_DUAL}
user_ops.my_fact: an example of an op compiled against TensorFlow: use tf.register_op
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


def _read(text: str, prefix: str = "") -> dict[str, str]:
    rows = (row.partition(": ") for row in text.replace("\n    ", " ").strip().splitlines())
    return {prefix + path: reason for paths, _, reason in rows for path in paths.split()}


LEFT_OUT = (
    _read(_ROWS)
    | _read(left_out_contrib.ROWS, "contrib.")
    | _read(left_out_internals.ROWS, "python.")
)
"""By path or pattern, the reason why the name is omitted on purpose, and its replacement."""

RENAMED = _read(_RENAMED)
"""By name before TensorFlow 1.0, the name in TensorFlow 1 of each renamed function or class."""


_PLACES = {path: place for place, path in enumerate(LEFT_OUT)}
_WILD = [
    (place, re.compile(f"{translate(path)}|{translate(path + '.*')}"))
    for path, place in _PLACES.items()
    if set(path) & set("*?[")
]
_LATER = re.compile("|".join(map(translate, PATTERNS)))


def _prefixes(path: str) -> list[str]:
    """Return the path, and the paths of the modules and classes that contain it, shortest first."""
    return [*(path[: dot.start()] for dot in re.finditer(r"\.", path)), path]


def _reason(path: str) -> str:
    """Return the reason why the TensorFlow name `path` is omitted. If several rows of the table
    match the name, the first of these rows gives the reason. If no row matches, return "".
    """
    places = [_PLACES[prefix] for prefix in _prefixes(path) if prefix in _PLACES]
    places += [place for place, pattern in _WILD if pattern.match(path)]
    return list(LEFT_OUT.values())[min(places)] if places else ""


def instead_of(path: str) -> str:
    """Return a text that states why `tensorflow.<path>` is missing, and what replaces it. Return ""
    if the reason is unknown.
    """
    if path.startswith("raw_ops."):
        return left_out_reason(path.removeprefix("raw_ops."))
    for prefix in _prefixes(path):
        if prefix in RENAMED:
            return f"since TensorFlow 1.0 it is tf.{RENAMED[prefix]}{path[len(prefix) :]}"
    if reason := _reason(path):
        return reason
    return "TensorFlow 1.15 does not have it" if _LATER.match(path) else ""


def refusal_at_call(path: str) -> str:
    """Return the reason if TensorFlow 1.15 has `tensorflow.<path>` and this package refuses it.

    Return "" if the name is only missing, or if TensorFlow 1.15 does not have it.
    """
    if path.startswith("raw_ops."):
        return left_out_reason(path.removeprefix("raw_ops."))
    return "" if _LATER.match(path) else _reason(path)


def refusal_of(value: Any) -> str:
    """Return a text that states why a function or class always raises an error, and what replaces
    it. If it does not always raise an error, return "".

    Such a value is a placeholder, or a function that is annotated to return NoReturn. The docstring
    of the function contains the reason.
    """
    if reason := reason_of(value):
        return reason
    called = value.__init__ if inspect.isclass(value) else value
    if inspect.isfunction(called) and called.__annotations__.get("return") == "NoReturn":
        reason = (inspect.getdoc(value) or "").partition("\n")[0]
        return reason.removeprefix("Raise ").removeprefix("NotImplementedError: ")
    return ""
