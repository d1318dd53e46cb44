"""What `public_names.py` finds in TensorFlow 2.21's compat.v1 and gpugraph leaves out, and why."""

from __future__ import annotations

from fnmatch import fnmatchcase

from gpugraph.ops.framework.removed_op_types import INSTEAD
from gpugraph.tensorflow_import.left_out import instead_of

__all__ = ["left_out_arguments", "name_reason", "own_arguments"]

_LATER = "TensorFlow 1.15 does not have it"
_EAGER = "there is no eager execution"
_NO_TPU = "there are no TPUs"

_REASONS = f"""
{_LATER}: signal.*mdct signal.kaiser* signal.vorbis* *fftnd *FFTND random.Algorithm random.fold_in
    random.split random.stateless_binomial random.stateless_gamma random.stateless_poisson
    random.stateless_parameterized* math.approx* math.sobol_sample nn.approx* nn.silu
    image.decode_webp image.decode_jxl image.generate_bounding* linalg.eigh_tridiagonal
    sparse.bincount approx_top_k check_pinned conv conv2d_backprop_*_v2 CXX_VERSION NoneTensorSpec
    nondifferentiable_batch_function random_index_shuffle type_spec_from_value
    raw_ops.*TensorMap* raw_ops.BesselJ* raw_ops.BesselK* raw_ops.BesselY* raw_ops.Dawsn
    raw_ops.Expint raw_ops.Fresnel* raw_ops.Spence raw_ops.*Jxl raw_ops.*WebP
{_EAGER}: raw_ops.Anonymous* raw_ops.EagerPyFunc
{_NO_TPU}: raw_ops.Infeed* raw_ops.Outfeed* raw_ops.Prelinearize* raw_ops.*SparseCore*
    raw_ops.*Coo raw_ops.*Minibatch* raw_ops.CrossReplicaSum raw_ops.AllToAll
    raw_ops.CollectivePermute raw_ops.WorkerHeartbeat
there are no functions as attrs, use tf.cond and tf.while_loop: raw_ops.Case raw_ops.If raw_ops.For
    raw_ops.While raw_ops.StatelessIf raw_ops.StatelessCase raw_ops.StatelessWhile
    raw_ops.*PartitionedCall raw_ops.SymbolicGradient raw_ops.RemoteCall raw_ops.FakeParam
    raw_ops.DeviceIndex raw_ops.MapDefun raw_ops.BatchFunction
there are no lists as variants, use tf.TensorArray: raw_ops.TensorList* raw_ops.EmptyTensorList
there are no ragged tensors, use a SparseTensor: ragged.* Ragged* ragged_* raw_ops.Ragged*
    io.RaggedFeature
there are no feature columns, use tf.one_hot and tf.nn.embedding_lookup: feature_column.*
there is no codec of sound, tf.signal has its transforms: audio.* raw_ops.*Wav
    raw_ops.AudioSpectrogram raw_ops.Mfcc
there is no codec, use PNG or BMP files: raw_ops.*Jpeg* raw_ops.DecodeGif
there are no boosted trees: raw_ops.*BoostedTrees*
there is no clustering: raw_ops.KMC2* raw_ops.KmeansPlusPlus* raw_ops.NearestNeighbors
there is no cuDNN: raw_ops.Cudnn*
there is no dual coordinate ascent: raw_ops.Sdca*
there is no debugger that watches edges: raw_ops.Debug* raw_ops.Copy raw_ops.CopyHost
there are no generators with a state: raw_ops.Stateful*Normal* raw_ops.StatefulRandom*
    raw_ops.StatefulTruncated* raw_ops.StatefulUniform* raw_ops.Rng*
there are no CSR matrices, use a SparseTensor: raw_ops.SparseMatrix* raw_ops.*CSRSparseMatrix*
no kernel computes in quantized numbers, use Dequantize: raw_ops.Quantized*
runs that touch a resource variable take turns: raw_ops.*Mutex*
gradients of several GPUs are added by tf.add_n: raw_ops.Nccl*
of these only LinearOperatorLowerTriangular is here: linalg.LinearOperator*
an example for those who compile ops against TensorFlow: user_ops.my_fact raw_ops.Fact
"""
"""Reasons, each with the patterns of names that it holds for."""


def _read_reasons() -> dict[str, str]:
    lines = (line.partition(": ") for line in _REASONS.replace("\n    ", " ").strip().splitlines())
    return {pattern: why for why, _, patterns in lines for pattern in patterns.split()}


LEFT_OUT = {
    "wrap_function": _EAGER,
    "raw_ops.*TPU*": _NO_TPU,
    "raw_ops.*Xla*": "there is no XLA: plans are compiled",
    "xla.*": "there is no XLA: plans are compiled",
    "mlir.*": "there is no MLIR: plans are compiled",
    "raw_ops.*Mlir*": "there is no MLIR: plans are compiled",
    "raw_ops.*TRT*": "there is no TensorRT",
    "math.special.*": _LATER,
    "types.*": _LATER,
    "mixed_precision.*": _LATER,
    "config.*ogical*evice*": _LATER,
    "config.*_visible_devices": _LATER,
    "config.*functions_run_eagerly": _LATER,
    "config.run_functions_eagerly": _LATER,
    "config.PhysicalDevice": _LATER,
    "config.list_physical_devices": _LATER,
    "config.experimental.ClusterDeviceFilters": _LATER,
    "config.experimental.*able_mlir_bridge": _LATER,
    "config.experimental.get_device_details": _LATER,
    "config.experimental.*_memory_*": _LATER,
    "debugging.*_traceback_filtering*": _LATER,
    "debugging.*able_check_numerics": _LATER,
    "data.experimental.service.*": _LATER,
    "debugging.experimental.*": _LATER,
    "experimental.*": _LATER,
    "layers.experimental.*": "of Keras's style of layers; the layers of this version keep theirs",
    "nn.experimental.*": _LATER,
    "linalg.experimental.*": _LATER,
    "quantization.experimental.*": _LATER,
    "dtypes.experimental.*": _LATER,
    "keras.applications.*": "networks with weights that are fetched from the net",
    "keras.datasets.*": "data that is fetched from the net",
    "keras.layers.experimental.*": _LATER,
    "keras.optimizers.legacy.*": _LATER,
    "keras.export.*": _LATER,
    "keras.saving.*": _LATER,
    "keras.utils.legacy.*": _LATER,
    "raw_ops.Dummy*": "of TensorFlow's own tests",
    "raw_ops.*Risc*": _LATER,
    "raw_ops.Uniform*Quantize*": _LATER,
    "raw_ops.UniformQuantized*": _LATER,
    "raw_ops.StatelessRandom*V[23]": _LATER,
    "raw_ops.*DatasetV[4-9]": _LATER,
} | _read_reasons()
"""Patterns of names, each with the reason why they are not here, beside those that users see."""

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
keras.backend.rnn: return_all_outputs
keras.backend.sparse_categorical_crossentropy: ignore_class
keras.Input: type_spec optional
keras.layers.Input: type_spec optional
keras.layers.InputLayer: type_spec optional
keras.layers.InputSpec: allow_last_axis_squeeze name optional
keras.layers.Layer: dynamic
layers.InputSpec: allow_last_axis_squeeze name optional
linalg.LinearOperator: parameters
linalg.tridiagonal_solve: perturb_singular
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
raw_ops.MatMul: grad_a grad_b
raw_ops.MaxPool*: explicit_paddings
raw_ops.Dequantize: axis narrow_range dtype
raw_ops.QuantizeAndDequantizeV[23]: axis
raw_ops.QuantizeV2: axis narrow_range ensure_minimum_range
raw_ops.*Scatter*: bad_indices_policy
raw_ops.SparseSegment*: sparse_gradient
raw_ops.TopKV2: index_type
raw_ops.TridiagonalSolve: perturb_singular
raw_ops.VarHandleOp: debug_name allowed_devices
sparse.cross: separator
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
shape: optimize
"""
"""Arguments of 1.15 that TensorFlow no longer has, or hides, and those of gpugraph."""


def _read(text: str) -> dict[str, set[str]]:
    pairs = (line.partition(": ") for line in text.strip().splitlines())
    return {pattern: set(arguments.split()) for pattern, _, arguments in pairs}


def _matching(name: str, rows: dict[str, set[str]]) -> set[str]:
    return set().union(*(value for key, value in rows.items() if fnmatchcase(name, key)))


def name_reason(name: str) -> str:
    """Why a name is not here; nothing where there is no reason."""
    listed = (why for pattern, why in LEFT_OUT.items() if fnmatchcase(name, pattern))
    op_type = name.removeprefix("raw_ops.")
    return instead_of(name) or INSTEAD.get(op_type, "") or next(listed, "")


def left_out_arguments(name: str) -> set[str]:
    """The arguments of a function that TensorFlow has since 1.15."""
    return _matching(name, _read(_LATER_ARGUMENTS))


def own_arguments(name: str) -> set[str]:
    """The arguments of a function that only gpugraph has."""
    return _matching(name, _read(_OWN_ARGUMENTS))
