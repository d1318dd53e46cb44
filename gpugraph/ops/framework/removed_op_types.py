"""Op types that are not here: those that TensorFlow 1.15 no longer makes, and what to use instead.

TensorFlow keeps the names of removed op types for old graphs. Whoever adds such an operation to
a graph of its own version gets an UnimplementedError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from gpugraph.base.errors import UnimplementedError
from gpugraph.base.version import GRAPH_DEF_VERSION

_REMOVED = """
AdjustContrast 2 AdjustContrastv2 instead
AudioSummary 15 AudioSummaryV2.
BatchCholeskyGrad 13 CholeskyGrad instead.
BatchNormWithGlobalNormalization 9 tf.nn.batch_normalization()
BatchNormWithGlobalNormalizationGrad 9 tf.nn.batch_normalization()
BatchSelfAdjointEig 11 SelfAdjointEigV2 instead.
Conv3DBackpropFilter 10 Conv3DBackpropFilterV2
Conv3DBackpropInput 10 Conv3DBackpropInputV2
RandomPoisson 25 RandomPoissonV2
SelfAdjointEig 11 SelfAdjointEigV2 instead.
TopK 7 TopKV2 instead
"""

_OTHER_WORDS = {
    "PlaceholderV2": (23, "Placeholder now behaves the same as PlaceholderV2."),
    "QuantizeAndDequantize": (22, "Replaced by QuantizeAndDequantizeV2"),
    "RandomCrop": (8, "Random crop is now pure Python"),
    "RandomPoisson": (25, "Replaced by RandomPoissonV2"),
}

_INSTEAD = """
Abort: raise the error in Python, or use tf.debugging.assert_equal
ApplyAdaMax: its step is max(beta2 * v, abs(grad)): write it by tf.assign
ApplyAdagradV2: use ApplyAdagrad, and add epsilon to the accumulator that it starts with
ApplyAddSign: write its step by tf.sign and tf.assign_sub
ApplyPowerSign: write its step by tf.sign, tf.exp and tf.assign_sub
DestroyResourceOp: a Session keeps its variables until it is closed
DestroyTemporaryVariable: use tf.Variable, whose Session frees it when it is closed
ImmutableConst: use numpy.memmap, and tf.placeholder
NonDeterministicInts: use tf.random.uniform without seeds
ParameterizedTruncatedNormal: use tf.random.truncated_normal, or draw in tf.py_func
RefSelect: use tf.case, or tf.cond
ScaleAndTranslate: use tf.image.resize_images
ScaleAndTranslateGrad: use tf.image.resize_images
QuantizedAdd: use tf.quantization.dequantize, then tf.add
QuantizedAvgPool: use tf.quantization.dequantize, then tf.nn.avg_pool
QuantizedBatchNormWithGlobalNormalization: use tf.nn.batch_normalization of floats
QuantizedBiasAdd: use tf.quantization.dequantize, then tf.nn.bias_add
QuantizedConcat: use tf.quantization.dequantize, then tf.concat
QuantizedConv2D: use tf.quantization.dequantize, then tf.nn.conv2d
QuantizedDepthwiseConv2D: use tf.quantization.dequantize, then tf.nn.depthwise_conv2d
QuantizedInstanceNorm: use tf.quantization.dequantize, then tf.contrib.layers.instance_norm
QuantizedMatMul: use tf.quantization.dequantize, then tf.matmul
QuantizedMaxPool: use tf.quantization.dequantize, then tf.nn.max_pool
QuantizedMul: use tf.quantization.dequantize, then tf.multiply
QuantizedRelu: use tf.quantization.dequantize, then tf.nn.relu
QuantizedRelu6: use tf.quantization.dequantize, then tf.nn.relu6
QuantizedReluX: use tf.quantization.dequantize, then tf.clip_by_value
QuantizedReshape: use tf.quantization.dequantize, then tf.reshape
QuantizedResizeBilinear: use tf.quantization.dequantize, then tf.image.resize_bilinear
QuantizeDownAndShrinkRange: use tf.quantization.dequantize, then tf.quantization.quantize
Requantize: use tf.quantization.dequantize, then tf.quantization.quantize
RequantizationRange: use tf.quantization.dequantize, then tf.reduce_min and tf.reduce_max
RequantizationRangePerChannel: use tf.quantization.dequantize, then tf.reduce_min and tf.reduce_max
RequantizePerChannel: use tf.quantization.dequantize, then tf.quantization.quantize
ResourceApplyAdaMax: its step is max(beta2 * v, abs(grad)): write it by tf.assign
ResourceApplyAdagradV2: use ResourceApplyAdagrad, and add epsilon to the accumulator
ResourceApplyAdamWithAmsgrad: use ResourceApplyAdam, or write its step by tf.maximum and tf.assign
ResourceApplyAddSign: write its step by tf.sign and tf.assign_sub
ResourceApplyKerasMomentum: use ResourceApplyMomentum, whose accumulator has no learning rate
ResourceApplyPowerSign: write its step by tf.sign, tf.exp and tf.assign_sub
ResourceSparseApplyAdagradV2: use ResourceSparseApplyAdagrad, and add epsilon to the accumulator
ResourceSparseApplyKerasMomentum: use ResourceSparseApplyMomentum
SampleDistortedBoundingBox: use SampleDistortedBoundingBoxV2, with min_object_covered as a tensor
SparseApplyAdagradV2: use SparseApplyAdagrad, and add epsilon to the accumulator
StringNGrams: there are no ragged tensors: join slices by tf.strings.join
TemporaryVariable: use tf.Variable, whose Session frees it when it is closed
TensorArrayConcatV2: use TensorArrayConcatV3; the arrays it reads, of TensorArrayV2, were removed
ThreadUnsafeUnigramCandidateSampler: use LearnedUnigramCandidateSampler
UnicodeDecode: there are no ragged tensors: use UnicodeTranscode to UTF-32-BE, and DecodeRaw
UnicodeDecodeWithOffsets: there are no ragged tensors: use UnicodeTranscode to UTF-32-BE
UnicodeEncode: there are no ragged tensors: use UnicodeTranscode from UTF-32-BE
UnicodeScript: Python has no table of scripts: use unicodedata.name in tf.py_func
"""


_ARRAY_TYPES = "Close Concat Gather Grad Read Scatter Size Split Write"


def _removed_types() -> dict[str, tuple[int, str]]:
    table = {
        "TensorArray": (16, "Use TensorArrayV3"),
        "TensorArrayV2": (26, "Use TensorArrayV3"),
        "TensorArrayPack": (16, "Use TensorArrayGatherV3 with RangeOp"),
        "TensorArrayUnpack": (20, "Use TensorArrayScatterV3 with RangeOp"),
    }
    for part in _ARRAY_TYPES.split():
        named = "Grad" if part in ("Concat", "Scatter") else part
        table[f"TensorArray{part}"] = (19 if part == "Scatter" else 16, f"Use TensorArray{named}V3")
        if part != "Concat":  # never removed
            table[f"TensorArray{part}V2"] = 26, f"Use TensorArray{part}V3"
    for line in _REMOVED.strip().splitlines():
        op_type, version, words = line.split(" ", 2)
        table[op_type] = int(version), f"Use {words}"
    return table | _OTHER_WORDS


REMOVED = _removed_types()
"""Op type -> the version of graphs that removed it, and what TensorFlow says to use."""

INSTEAD = dict(line.split(": ", 1) for line in _INSTEAD.strip().splitlines())
"""Op type of TensorFlow 1.15 that is left out -> what to use instead."""


def removed_function(op_type: str) -> Callable[..., NoReturn]:
    """What stands for the function of a removed op type: each call is an UnimplementedError."""
    version, words = REMOVED[op_type]

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise UnimplementedError(
            None,
            None,
            f"Op {op_type} is not available in GraphDef version {GRAPH_DEF_VERSION}. It has been "
            f"removed in version {version}. {words}",
        )

    refuse.__name__ = refuse.__qualname__ = op_type
    refuse.__doc__ = f"Removed from graphs of version {version} on. {words}"
    return refuse
